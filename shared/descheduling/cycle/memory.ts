/** Stores in a Lease the pods that another party evicts later (KEP-1397), and the times of the eviction requests. */
import * as names from "../../kube/names.ts";
import { isFinal } from "../../kube/objects.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";

/** `in-progress`: the pod has the in-progress annotation. `requested`: the pod does not have this annotation yet. */
export interface Noted {
  readonly as: "requested" | "in-progress";
  /** The creation time of the entry, in milliseconds since the epoch. */
  readonly since: number;
}

export type Memory = ReadonlyMap<string, Noted>;

type Annotations = Readonly<Record<string, string>>;

/**
 * The maximum number of entries. 500 entries are 50 KB of the Lease. If a pod's `requested` entry is removed, a cycle
 * requests the pod's eviction again.
 */
export const MOST_REMEMBERED = 500;

/** Returns whether an eviction of the pod only asks another party to evict the pod later. */
export function isOnlyRequested({ annotations }: ScheduledPod): boolean {
  return Object.hasOwn(annotations, names.REQUEST_EVICT_ONLY_ANNOTATION);
}

function isAnnotatedInProgress({ annotations }: ScheduledPod): boolean {
  return Object.hasOwn(annotations, names.EVICTION_IN_PROGRESS_ANNOTATION);
}

export interface Recalling {
  readonly pods: readonly ScheduledPod[];
  readonly now: Date;
  readonly ttlSeconds: number;
}

export interface Recalled {
  readonly inProgress: readonly ScheduledPod[];
  readonly memory: Memory;
}

/**
 * Returns the pods whose eviction is in progress. An eviction is ignored after `ttlSeconds`. A pod with the in-progress
 * annotation keeps its entry after this time, because a new entry would start the time again.
 */
export function recall(memory: Memory, { pods, now, ttlSeconds }: Recalling): Recalled {
  const isCounted = ({ since }: Noted) => Math.abs(now.getTime() - since) <= ttlSeconds * 1000;
  const found = pods.flatMap((pod) => {
    if (isFinal(pod) || !isOnlyRequested(pod)) return [];
    const noted = notedNow(pod, memory.get(pod.uid), now);
    return noted === undefined || (noted.as === "requested" && !isCounted(noted)) ? [] : [[pod.uid, noted] as const];
  });
  const kept = bounded(new Map(found));
  const inProgress = pods.filter(({ uid }) => {
    const noted = kept.get(uid);
    return noted !== undefined && isCounted(noted);
  });
  return { inProgress, memory: kept };
}

/**
 * Returns the pod's entry. If the pod has lost its in-progress annotation, its eviction was cancelled, and the result
 * is undefined.
 */
function notedNow(pod: ScheduledPod, before: Noted | undefined, now: Date): Noted | undefined {
  if (!isAnnotatedInProgress(pod)) return before?.as === "requested" ? before : undefined;
  return before?.as === "in-progress" ? before : { as: "in-progress", since: now.getTime() };
}

export function notedRequest(pod: ScheduledPod, now: Date): Noted {
  return { as: isAnnotatedInProgress(pod) ? "in-progress" : "requested", since: now.getTime() };
}

function rank({ as, since }: Noted): number {
  return as === "requested" ? -since : since;
}

/**
 * Limits the number of entries. Removes the newest `in-progress` entries first, and then the oldest `requested`
 * entries.
 */
function bounded(memory: Memory): Memory {
  if (memory.size <= MOST_REMEMBERED) return memory;
  const byRank = [...memory].toSorted(
    ([, a], [, b]) => Number(a.as === "in-progress") - Number(b.as === "in-progress") || rank(a) - rank(b),
  );
  return new Map(byRank.slice(0, MOST_REMEMBERED));
}

const PREFIX = { requested: names.REQUESTED_PREFIX, "in-progress": names.IN_PROGRESS_PREFIX } as const;

export function readMemory(annotations: Annotations = {}): Memory {
  const entries = Object.entries(annotations).flatMap(([key, value]) =>
    (["requested", "in-progress"] as const).flatMap((as) => {
      const since = Date.parse(value);
      return key.startsWith(PREFIX[as]) && !Number.isNaN(since)
        ? [[key.slice(PREFIX[as].length), { as, since }] as const]
        : [];
    }),
  );
  return new Map(entries);
}

/** Returns the number of evacuations that all cycles together have requested. */
export function evacuationsRequested(annotations: Annotations = {}): number {
  return Number.parseInt(annotations[names.POD_EVACUATIONS_ANNOTATION] ?? "0", 10) || 0;
}

function isMemory(key: string): boolean {
  return Object.values(PREFIX).some((prefix) => key.startsWith(prefix));
}

/**
 * Returns the changed annotations of the Lease. The value null removes an annotation. `requested` is the number of
 * evacuations that this cycle has requested.
 */
export function annotationsAfter(before: Annotations = {}, memory: Memory, requested: number) {
  const after = new Map([...bounded(memory)].map(([uid, { as, since }]) => [PREFIX[as] + uid, timeOf(since)]));
  const gone = Object.keys(before).filter((key) => isMemory(key) && !after.has(key));
  const added = [...after].filter(([key, value]) => before[key] !== value);
  const total = String(evacuationsRequested(before) + requested);
  return {
    ...Object.fromEntries(gone.map((key) => [key, null])),
    ...Object.fromEntries(added),
    ...(requested > 0 && { [names.POD_EVACUATIONS_ANNOTATION]: total }),
  };
}

function timeOf(since: number): string {
  return new Date(since).toISOString();
}
