/**
 * The end of a node: until when the deletions of its pods are refused. Upstream: Karpenter's node termination. It evicts; once less is left
 * than a pod's own grace period it deletes, past every budget, with the grace period that is left, of at least 1 s, and comes back when it
 * is refused.
 */
import type { NodeFacts, VmiFacts } from "../kube/facts.ts";
import type { Moment } from "../settings/time.ts";
import type { Disruption } from "./disruption-cause.ts";

/** What a deletion says, beside the pod. */
export interface DeletionTerms {
  readonly requester: string;
  /** When the pod is to be gone, by the grace period asked for; milliseconds since the epoch. */
  readonly deleteBy?: number;
}

/** Karpenter's least grace period: the time has come, or is past. */
const NO_TIME_LEFT_SECONDS = 1;

export function deleteByOf(graceSeconds: number | undefined, asked: Date): number | undefined {
  if (graceSeconds === undefined) return undefined;
  return asked.getTime() + (graceSeconds > NO_TIME_LEFT_SECONDS ? graceSeconds * 1000 : 0);
}

/** The time on the node counts. Karpenter writes it on its NodeClaim, rarely on the node, and asks for what is left of it. */
export function terminationOf(
  { node, deleteBy }: DeletionTerms & { readonly node?: NodeFacts },
  { settings, now }: Moment,
): Disruption {
  const ends = Date.parse(node?.endsAt ?? "");
  const longest = now.getTime() + settings.guard.deadlineSeconds.NodeTermination * 1000;
  return {
    cause: "NodeTermination",
    deadline: Math.min(Number.isNaN(ends) ? (deleteBy ?? Infinity) : ends, longest),
  };
}

/** Nearer than a migration takes. At the deadline the machine goes, whatever its guests do. */
const NEAR_SECONDS = 15;

/** The time that is left is better used to shut down in order: no migration is on its way. */
export function isTooNear({ cause, deadline }: Disruption, vmi: VmiFacts, now: Date): boolean {
  return cause === "NodeTermination" && !vmi.isMigrating && deadline - now.getTime() < NEAR_SECONDS * 1000;
}
