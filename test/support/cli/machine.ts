/** What the command has of the machine that it runs on, for tests. */
import { setTimeout as pause } from "node:timers/promises";
import type { Host } from "../../../infra/cli/host.ts";

export interface Machine {
  /** Whether stdout and stderr are a terminal, and what is answered there. */
  readonly terminal?: boolean;
  readonly answer?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Waits as long as the command says, for a cluster that goes on by itself: as a poll does. */
  readonly isPatient?: boolean;
  /** Happens whenever the command waits; the time that it waits for passes at once. */
  readonly meanwhile?: (waits: number, interrupt: () => void) => unknown;
  /** What the clock says at first. */
  readonly begun?: Date;
}

export function machineOf(machine: Machine) {
  const { terminal = false, answer, env = {}, meanwhile, isPatient = false, begun = new Date() } = machine;
  const [out, err]: [string[], string[]] = [[], []];
  const interrupt = new AbortController();
  let [time, waits] = [begun.getTime(), 0];
  const host: Host = {
    stdout: { write: (text) => out.push(text), isTTY: terminal },
    stderr: { write: (text) => err.push(text), isTTY: terminal },
    env,
    now: () => new Date(time),
    async wait(milliseconds) {
      if (isPatient) await pause(milliseconds);
      time += milliseconds;
      await meanwhile?.(waits++, () => interrupt.abort());
    },
    interrupted: interrupt.signal,
    ask: () => Promise.resolve(terminal ? answer : undefined),
  };
  return { host, out, err };
}
