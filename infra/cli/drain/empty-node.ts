/** Emptying a cordoned node: look, ask, show, until nothing is left or nothing but a person can go on. */
import { ClusterError, type Failure, isSilence } from "../../../shared/cluster/failure.ts";
import type { Connection } from "../connection.ts";
import type { Screen } from "../../tools/console/screen.ts";
import type { Host } from "../host.ts";
import { troubleOf } from "../print-preflight.ts";
import { paintFor, plain } from "../print.ts";
import type { Blockers } from "./blocked.ts";
import type { Ending } from "./ending.ts";
import type { Evictions } from "./evictions.ts";
import type { Progress } from "./progress.ts";
import type { Stops } from "./stops.ts";
import type { Subject } from "../../../shared/policy/progress/subjects.ts";

const LOOK_MS = 2000;
/** While only a person can go on. */
const SELDOM_MS = 30_000;
/** How often an empty node is looked at for what has become of its VMs. */
const LAST_LOOKS = 3;

export interface Emptying {
  readonly connection: Connection;
  readonly host: Host;
  readonly look: () => Promise<readonly Subject[]>;
  readonly screen: Pick<Screen, "print">;
  readonly progress: Progress;
  readonly evictions: Evictions;
  readonly blockers: Blockers;
  readonly stops: Stops;
  readonly waitForBlocked: boolean;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

export interface Emptied {
  readonly ending: Ending;
  readonly left: readonly Subject[];
}

export async function emptyNode(emptying: Emptying, first: readonly Subject[]): Promise<Emptied> {
  const { host, deadline } = emptying;
  const step = steadily(emptying);
  let left = first;
  for (;;) {
    const stepped = await step();
    left = stepped?.left ?? left;
    if (stepped?.ending !== undefined) return { ending: stepped.ending, left };
    if (host.interrupted.aborted) return { ending: "Interrupted", left };
    if (host.now().getTime() >= deadline) return { ending: "TimedOut", left };
    await host.wait(stepped?.isStuck === true ? SELDOM_MS : LOOK_MS);
  }
}

interface Stepped {
  readonly ending?: Ending;
  readonly left: readonly Subject[];
  readonly isStuck?: boolean;
}

/** One step after the other, also over a time in which the API server does not answer. Undefined: it did not. */
function steadily(emptying: Emptying): () => Promise<Stepped | undefined> {
  const seen: Seen = { said: new Set(), emptyLooks: 0 };
  let isSilent = false;
  return async () => {
    try {
      const stepped = await step(emptying, seen);
      if (isSilent) emptying.screen.print("the API server answers again");
      isSilent = false;
      return stepped;
    } catch (error) {
      if (emptying.host.interrupted.aborted) return undefined;
      if (!(error instanceof ClusterError) || !passes(error.failure, error)) throw error;
      if (!isSilent) emptying.screen.print(`${error.message}: trying again`);
      isSilent = true;
      return undefined;
    }
  };
}

function passes(failure: Failure, error: ClusterError): boolean {
  return isSilence(error) || (failure.reason === "Refused" && (failure.code >= 500 || failure.code === 429));
}

interface Seen {
  readonly said: Set<string>;
  emptyLooks: number;
}

async function step(emptying: Emptying, seen: Seen): Promise<Stepped> {
  const { host, screen, progress, blockers, stops, waitForBlocked } = emptying;
  const left = await emptying.look();
  await progress.update(left);
  await stops.look();
  if (left.length === 0 && !stops.isBusy()) {
    seen.emptyLooks += 1;
    return progress.isComplete() || seen.emptyLooks > LAST_LOOKS ? { ending: "Drained", left } : { left };
  }
  const open = left.filter(({ key }) => !stops.chosen.has(key));
  const paint = paintFor(host.stderr, host);
  for (const { verdict } of blockers.untold(open, host.now())) screen.print(...troubleOf(verdict, paint));
  const settled = new Set(blockers.settled(open, host.now()));
  const isStuck = !stops.isBusy() && left.every((subject) => settled.has(subject) || isFollower(subject));
  if (isStuck && !waitForBlocked) return { ending: "Blocked", left };
  await ask(emptying, open, seen);
  return { left, isStuck };
}

function isFollower({ verdict }: Subject): boolean {
  return verdict.outcome === "Follows";
}

async function ask({ host, screen, evictions }: Emptying, open: readonly Subject[], { said }: Seen): Promise<void> {
  for (const [key, message] of await evictions.askFor(open, host.now())) {
    const line = `${key}: ${plain(message)}`;
    if (!said.has(line)) screen.print(line);
    said.add(line);
  }
}
