/** What the fleet's page reads of each cluster, so that none of them holds up the others. */
import { ClusterError } from "../../shared/kube/failures.ts";
import { activeEvacuations } from "../../shared/kube/selections.ts";
import type { Phase } from "../../shared/kube/evacuation.ts";
import type { Target } from "../target.ts";
import { problemsIn, unlessUnreadable } from "./reads.ts";
import type { Problem } from "./words.ts";

export interface Summary {
  /** How many evacuations that have not ended are in each; one that no function has looked at counts as Pending. */
  readonly phases: ReadonlyMap<Phase, number>;
  /** How many VMs leave each node. */
  readonly nodes: ReadonlyMap<string, number>;
  readonly problems: readonly Problem[];
  /** Undefined: it could not be read. */
  readonly vms: number | undefined;
}

export interface FleetEntry {
  /** When it was tried last. */
  readonly triedAt?: Date;
  /** What was read last. */
  readonly last?: { readonly summary: Summary; readonly readAt: Date };
  /** Why nothing newer could be read. */
  readonly unread?: string;
}

export type Fleet = ReadonlyMap<string, FleetEntry>;

/** A cluster that takes longer is said to be unreachable: one of them must not hold up the page of all. */
const CLUSTER_SECONDS = 3;
/**
 * A Worker may wait on six connections. Each cluster is asked one thing after another: one that hangs with several requests would use up
 * the time of others, which wait for a connection.
 */
const AT_A_TIME = 6;
/** No cluster is asked later than this after the first one. */
const LAST_START_MS = 3000;
const MAX_AGE_MS = 4000;
const NO_TIME = "the other clusters took so long that there was no time to ask this one; it comes first next time";

/** Those that were tried longest ago come first, so that each has its turn. */
export async function readFleet(targets: readonly Target[], before: Fleet = new Map()): Promise<Fleet> {
  const found = new Map(before);
  const triedAt = ({ name }: Target) => before.get(name)?.triedAt?.getTime() ?? 0;
  const waiting = targets.toSorted((a, b) => triedAt(a) - triedAt(b)).values();
  const began = targets[0]?.platform.now().getTime() ?? 0;
  const worker = async () => {
    for (const target of waiting) {
      const now = target.platform.now().getTime();
      const entry = before.get(target.name);
      if (now - triedAt(target) <= MAX_AGE_MS) continue;
      const isLate = now - began > LAST_START_MS;
      found.set(target.name, isLate ? { unread: NO_TIME, ...entry } : await readEntry(target, entry));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return found;
}

async function readEntry(target: Target, before: FleetEntry | undefined): Promise<FleetEntry> {
  const readAt = target.platform.now();
  try {
    return { triedAt: readAt, last: { summary: await readSummary(target), readAt } };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return { ...before, triedAt: readAt, unread: error.message };
  }
}

async function readSummary(target: Target): Promise<Summary> {
  const cluster = target.connect(CLUSTER_SECONDS);
  const evacuations = await activeEvacuations(cluster);
  const problems = await problemsIn(cluster);
  const phases = countBy(evacuations, ({ status }) => status.phase ?? "Pending");
  const nodes = countBy(evacuations, ({ status }) => status.sourceNode ?? "");
  return { phases, nodes, problems, vms: await cluster.count("virtualmachineinstances").catch(unlessUnreadable) };
}

function countBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, number> {
  return new Map([...Map.groupBy(items, keyOf)].map(([key, { length }]) => [key, length]));
}
