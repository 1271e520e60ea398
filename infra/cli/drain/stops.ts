/** The VMs that this drain stops. */
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";
import { isYes } from "./question.ts";
import { changeState, startLine, type Stoppable, stoppableOf } from "./stop.ts";
import type { Subject } from "../../../shared/policy/progress/subjects.ts";

const START_TRIES = 10;

export interface Stops {
  /** Keys of those that the person wants stopped. */
  readonly chosen: ReadonlySet<string>;
  begin(): Promise<void>;
  /** Starts those again that have stopped, if that was asked for. */
  look(): Promise<void>;
  /** Whether some are still to be started again. */
  isBusy(): boolean;
  /** The commands that start the others. */
  startLines(): readonly string[];
}

interface Asking {
  readonly connection: Connection;
  readonly host: Host;
  readonly yes: boolean;
  readonly restart: boolean;
  readonly say: (line: string) => void;
}

export async function chooseStops(blocked: readonly Subject[], asking: Asking): Promise<Stops> {
  const { stoppable, others } = await stoppableOf(blocked, asking.connection);
  for (const line of others) asking.say(line);
  const isWanted = stoppable.length > 0 && (await isAgreed(stoppable, asking));
  return createStops(isWanted ? stoppable : [], asking);
}

export const NO_STOPS: Stops = {
  chosen: new Set(),
  begin: () => Promise.resolve(),
  look: () => Promise.resolve(),
  isBusy: () => false,
  startLines: () => [],
};

async function isAgreed(stoppable: readonly Stoppable[], { host, yes, say }: Asking): Promise<boolean> {
  say("These VMs cannot move, and would be stopped (their guests shut down):");
  for (const { namespace, name, runStrategy, stays } of stoppable) {
    say(`  ${namespace}/${name} (run strategy ${runStrategy}): ${stays}`);
  }
  if (yes) return true;
  const answer = await host.ask("Stop them? [y/N] ");
  if (answer === undefined) say("without a terminal to ask on, --yes is needed to stop them");
  return isYes(answer);
}

function createStops(wanted: readonly Stoppable[], { connection, restart, say }: Asking): Stops {
  const chosen = new Set(wanted.map(({ key }) => key));
  /** Those that are off because of this drain. */
  const off = new Map<string, Stoppable>();
  const toStart = new Map<string, Stoppable>();
  const stop = async (vm: Stoppable) => {
    off.set(vm.key, vm);
    const refusal = await changeState("stop", vm, connection).catch((error: unknown) => {
      say(`${vm.key} may have been stopped: no answer came. To start it again: ${startLine(vm)}`);
      throw error;
    });
    if (refusal !== undefined) {
      chosen.delete(vm.key);
      off.delete(vm.key);
      return say(`${vm.key} is not stopped: ${refusal}`);
    }
    if (restart && vm.startsAgain) toStart.set(vm.key, vm);
    say(`${vm.key} is being stopped`);
  };
  const refusals = new Map<string, number>();
  /** KubeVirt may not be done with the request to stop yet: a refusal is asked again for some time. */
  const start = async (vm: Stoppable) => {
    if ((await connection.cluster().getVmi(vm)) !== undefined) return;
    const refusal = await changeState("start", vm, connection);
    const count = (refusals.get(vm.key) ?? 0) + 1;
    refusals.set(vm.key, count);
    if (refusal !== undefined && count < START_TRIES) return;
    toStart.delete(vm.key);
    if (refusal === undefined) off.delete(vm.key);
    say(refusal === undefined ? `${vm.key} is started again` : `${vm.key} is not started again: ${refusal}`);
  };
  return {
    chosen,
    async begin() {
      for (const vm of wanted) await stop(vm);
    },
    async look() {
      for (const [, vm] of toStart) await start(vm);
    },
    isBusy: () => toStart.size > 0,
    startLines: () => [...off.values()].map(startLine),
  };
}
