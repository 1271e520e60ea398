/** The relay of a run. A fault can stop the relay for a while. */
import { setTimeout as delay } from "node:timers/promises";
import type { Form } from "./forms/form.ts";

export interface RunningRelay {
  /** Stops the relay, and starts it again after `ms` milliseconds. */
  stopFor(ms: number): Promise<void>;
  stop(): Promise<void>;
}

export function startRelayOf(form: Form, relayed: boolean): RunningRelay {
  let relay = relayed ? form.startRelay() : undefined;
  let isOver = false;
  const stop = async (): Promise<void> => {
    const stopped = relay;
    relay = undefined;
    await stopped?.stop();
  };
  return {
    async stopFor(ms) {
      await stop();
      await delay(ms);
      if (relayed && !isOver) relay = form.startRelay();
    },
    async stop() {
      isOver = true;
      await stop();
    },
  };
}
