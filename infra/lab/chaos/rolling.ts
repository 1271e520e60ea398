/**
 * Checks RollingMaintenances: how many nodes are evacuated at a time, and whether the reported outcomes of VMs are
 * true.
 */
import { isFinal, keyOf, type VirtualMachineInstance as Vmi } from "../../sandbox/index.ts";
import { hasEnded, type NodeEvacuation, type RollingMaintenance, type VmOutcome } from "../stage/evacuations.ts";

export interface Seen {
  readonly key: string;
  readonly endsWhenEvicted: boolean;
  /**
   * The nodes where the VMI ran, in order. `from` and `to` are the times of the first and last observation on the node.
   */
  readonly stays: readonly { readonly node: string; readonly from: number; readonly to?: number }[];
  /** Whether the guest has stopped or the VMI is gone. */
  readonly hasEnded: boolean;
}

export type History = ReadonlyMap<string, Seen>;

export function remember(history: Map<string, Seen>, now: Vmi | undefined, before: Vmi | undefined, ms: number): void {
  if (before !== undefined && before.metadata.uid !== now?.metadata.uid) end(history, before.metadata.uid, ms);
  if (now === undefined) return;
  const { uid } = now.metadata;
  const known = history.get(uid);
  if (known?.hasEnded !== true) history.set(uid, seenNow(now, known, ms));
  if (isFinal(now.status)) end(history, uid, ms);
}

function seenNow(now: Vmi, known: Seen | undefined, ms: number): Seen {
  const node = now.status?.nodeName;
  const stays = known?.stays ?? [];
  const isThere = node === undefined || node === stays.at(-1)?.node;
  const endsWhenEvicted = known !== undefined && isFinal(now.status) ? known.endsWhenEvicted : endsByStrategy(now);
  const next = isThere ? stays : [...until(stays, ms), { node, from: ms }];
  return { key: keyOf(now), endsWhenEvicted, stays: next, hasEnded: false };
}

function until(stays: Seen["stays"], ms: number): Seen["stays"] {
  return stays.map((stay) => (stay === stays.at(-1) ? { ...stay, to: ms } : stay));
}

function end(history: Map<string, Seen>, uid: string, ms: number): void {
  const seen = history.get(uid);
  if (seen === undefined || seen.hasEnded) return;
  history.set(uid, { ...seen, stays: until(seen.stays, ms), hasEnded: true });
}

function endsByStrategy({ spec, status }: Vmi): boolean {
  if (spec.evictionStrategy === "None") return true;
  const isMigratable = status?.conditions?.some((one) => one.type === "LiveMigratable" && one.status === "True");
  return spec.evictionStrategy === "LiveMigrateIfPossible" && isMigratable !== true;
}

/** Returns the NodeEvacuations that the RollingMaintenance has created. */
export function partsOf(rm: RollingMaintenance, all: Iterable<NodeEvacuation>): readonly NodeEvacuation[] {
  return [...all].filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === rm.metadata.uid));
}

/**
 * Lists the nodes that the RollingMaintenance has taken out of service. `back` contains the UIDs of NodeEvacuations
 * whose nodes are schedulable again.
 */
export function unavailableOf(
  { spec }: RollingMaintenance,
  parts: readonly NodeEvacuation[],
  back: ReadonlySet<string>,
): readonly string[] {
  const isAway = ({ metadata, status }: NodeEvacuation) =>
    spec["nextNode"] === "WhenUncordoned" && status?.phase === "Evacuated" && !back.has(metadata.uid);
  return parts.filter((one) => !hasEnded(one) || isAway(one)).map((one) => one.spec.nodeName);
}

/** The times at which the observer first saw the NodeEvacuation, VMs in its status, and its end. */
export interface Times {
  readonly created: number;
  readonly listed?: number;
  readonly ended?: number;
}

/** Returns the updated times. The observer saw the NodeEvacuation `now` at the time `ms`. */
export function timesAfter(now: NodeEvacuation, before: Times | undefined, ms: number): Times {
  const { created = ms, listed = ms, ended = ms } = before ?? {};
  const isListed = (now.status?.outcomes?.length ?? 0) > 0;
  return {
    created,
    ...(isListed && { listed }),
    ...(hasEnded(now) && { ended }),
  };
}

/** The maximum delay of an informer, in milliseconds. */
const NEWS_MS = 500;

/**
 * Describes each VM whose outcome in an ended NodeEvacuation is missing, or contradicts the observations or the phase.
 */
export function outcomeProblems(ne: NodeEvacuation, history: History, times: Times | undefined): readonly string[] {
  const { outcomes = [], phase } = ne.status ?? {};
  const name = `NodeEvacuation ${ne.metadata.name} (${phase})`;
  const wrong = outcomes.flatMap((one) => {
    const seen = history.get(one.uid);
    const isTrue = seen !== undefined && (CHECKS[one.outcome ?? ""]?.(one, seen, { ne, history, times }) ?? false);
    return isTrue
      ? []
      : [
          `${name} reports the outcome ${one.outcome ?? "none"} for ${one.name}, but the observer saw ${JSON.stringify(seen)}`,
        ];
  });
  const left = phase === "Evacuated" ? outcomes.filter(({ outcome }) => STAYS.includes(outcome)) : [];
  const named = new Set(outcomes.map(({ uid }) => uid));
  const missing = [...history].filter(([uid, seen]) => !named.has(uid) && wasThere(seen, ne, times));
  return [
    ...wrong,
    ...left.map((one) => `${name} reports the outcome ${one.outcome} for ${one.name}, although the phase is Evacuated`),
    ...missing.map(([, { key }]) => `${name} does not name ${key}, which was on its node`),
  ];
}

const STAYS: readonly unknown[] = ["Abandoned", "LeftBehind"];

interface Around {
  readonly ne: NodeEvacuation;
  readonly history: History;
  readonly times: Times | undefined;
}

type Check = (one: VmOutcome, seen: Seen, around: Around) => boolean;

const CHECKS: Readonly<Record<string, Check>> = {
  Moved: (one, { stays }, { ne: { spec } }) => {
    const from = stays.findIndex(({ node }) => node === spec.nodeName);
    const isTarget = (node: string) => node !== spec.nodeName && node === (one.targetNode ?? node);
    return from >= 0 && stays.slice(from).some(({ node }) => isTarget(node));
  },
  Restarted: (one, seen, { ne, history }) => {
    const isNext = ([uid, { key }]: readonly [string, Seen]) => uid !== one.uid && key === seen.key;
    return hasEndedSince(seen, ne) && [...history].some(isNext);
  },
  ShutDown: (_, seen, { ne }) => hasEndedSince(seen, ne) && seen.endsWhenEvicted,
  Stopped: (_, seen, { ne }) => hasEndedSince(seen, ne),
  Abandoned: (_, seen, around) => stayed(seen, around),
  LeftBehind: (_, seen, around) => stayed(seen, around),
};

function hasEndedSince(seen: Seen, ne: NodeEvacuation): boolean {
  return seen.hasEnded && wasOn(seen, ne);
}

function wasOn({ stays }: Seen, { spec }: NodeEvacuation): boolean {
  return stays.some(({ node }) => node === spec.nodeName);
}

function stayed({ stays }: Seen, { ne: { spec }, times }: Around): boolean {
  const { ended = 0 } = times ?? {};
  return stays.some(({ node, to = Infinity }) => node === spec.nodeName && to > ended - NEWS_MS);
}

/**
 * Returns whether the VM was on the node from the creation of the NodeEvacuation until well after its status listed
 * VMs.
 */
function wasThere({ stays }: Seen, { spec }: NodeEvacuation, times: Times | undefined): boolean {
  if (times?.listed === undefined) return false;
  const { created, listed } = times;
  return stays.some(
    ({ node, from, to = Infinity }) => node === spec.nodeName && from < created - NEWS_MS && to > listed + NEWS_MS,
  );
}
