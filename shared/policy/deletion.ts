/**
 * Deletion policy: which deletions of a VM's pods are held back, how long, and why not the others.
 * Owns: the decision from facts. Does not own: holding (functions/deletions.ts), recognising (disruption-cause.ts).
 *
 * The scheduler and the taint manager delete without asking. Held at admission, before the pod has a
 * deletionTimestamp, there is no race with SIGTERM: the guest moves first, up to a deadline.
 */
import { type Action, tell } from "./action.ts";
import { GUARD } from "./deletion-table.ts";
import { CAUSE_OF_REASON, type Disruption, disruptionOf, isOfInterest } from "./disruption-cause.ts";
import { isFinal, type NodeFacts, type PodFacts, type VmiFacts } from "./facts.ts";
import { type Hold, hold } from "./hold.ts";
import { pinnedBecause } from "./messages.ts";
import { isMigrationTarget } from "./migration-target.ts";
import { unprotectedReason } from "./pod-kind.ts";
import type { Settings } from "./settings.ts";
import { mobilityOf, resolveStrategy } from "./strategy.ts";

export const RELEASE_REASONS = [
  "OtherRequester",
  "NotADisruption",
  "GuardOff",
  "PodCompleted",
  "NotAVirtualMachine",
  "VmiGone",
  "NodeNotAlive",
  "MigrationTarget",
  "StrategyNone",
  "NotMigratable",
  "UnknownStrategy",
  "DeadlinePassed",
  "Blind",
] as const;

export type ReleaseReason = (typeof RELEASE_REASONS)[number];

export type DeletionDecision =
  { readonly verdict: "Release"; readonly reason: ReleaseReason; readonly story: readonly Action[] } | Hold;

export interface DeletionFacts {
  /** As it was when the deletion was asked for. */
  readonly pod: PodFacts;
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  readonly node?: NodeFacts;
  /** The launcher pods on its node. */
  readonly neighbours: readonly PodFacts[];
  /** VMIs under evacuation in the cluster, for the holds among them. */
  readonly evacuating: readonly VmiFacts[];
  readonly requester: string;
  /** How long the API server would wait for the end of a hold. */
  readonly patienceSeconds: number;
  /** Of the cluster, as in `major.minor`: 1.36 is 36. */
  readonly serverMinor: number;
  readonly settings: Settings;
  readonly now: Date;
}

function release(reason: ReleaseReason, story: readonly Action[] = []): DeletionDecision {
  return { verdict: "Release", reason, story };
}

export function decideDeletion(f: DeletionFacts): DeletionDecision {
  const { pod, launcher = pod, vmi, settings } = f;
  if (!settings.guard.requesters.includes(f.requester)) return release("OtherRequester");
  const disruption = disruptionOf(pod, { vmi, launcherUID: launcher.uid }, settings, f.now);
  if (disruption === undefined) return release("NotADisruption");
  if (settings.guard.mode === "Off") return release("GuardOff");
  const unprotected = unprotectedReason(pod, f.launcher, vmi);
  if (unprotected !== undefined) return release(unprotected);
  if (vmi === undefined || vmi.deleting || isFinal(vmi)) return release("VmiGone");
  return decideForLiveVmi(f, vmi, { ...disruption, since: sharedSince(f, disruption) });
}

/** There is nothing to save on a node that is gone, and failover must not wait. */
const DEAD_NODE_TAINTS = new Set([
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/out-of-service",
]);

function isAlive(node: NodeFacts | undefined): boolean {
  return node !== undefined && node.ready && !node.taints.some((taint) => DEAD_NODE_TAINTS.has(taint.key));
}

/**
 * The victims of one preemption are deleted one after another, and one denial stops the rest: those on a node share the
 * earliest start, so that the preemptor never waits for the sum of them. Told from the conditions of their pods, which
 * no tenant can write; a record another tenant could.
 */
function sharedSince({ neighbours, now }: DeletionFacts, { cause, since }: Disruption): number {
  if (cause !== "Preemption") return since;
  const targets = neighbours.flatMap((pod) => (pod.disruptionTarget?.active === true ? [pod.disruptionTarget] : []));
  const preempted = targets.filter((target) => CAUSE_OF_REASON[target.reason ?? ""] === "Preemption");
  const times = preempted.map((target) => Date.parse(target.since)).filter((time) => time <= now.getTime());
  return Math.min(since, ...times);
}

function decideForLiveVmi(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { settings, now, requester, pod, launcher = pod } = f;
  if (!isAlive(f.node)) return release("NodeNotAlive");
  // A target is nobody's guest, unless the guest has gone over already.
  if (isMigrationTarget(launcher, vmi) && vmi.guestOnTarget !== true) return release("MigrationTarget");
  const { cause, since } = disruption;
  const tellWhy = (why: string) => {
    const told = `pod ${pod.name} is deleted by ${requester} (cause ${cause}) and the VM with it: ${why}`;
    return [tell(vmi, "DisruptionNotHeld", told, pod.uid)];
  };
  const resolved = resolveStrategy(vmi.evictionStrategy, settings.clusterStrategy);
  if (!resolved.known) return release("UnknownStrategy", tellWhy(`nobody knows ${resolved.field} "${resolved.value}"`));
  if (resolved.strategy === "None") return release("StrategyNone");
  if (GUARD[resolved.strategy][mobilityOf(vmi)] === "release") {
    return release("NotMigratable", tellWhy(`it is not live-migratable: ${pinnedBecause(vmi)}`));
  }
  const seconds = settings.guard.deadlineSeconds[cause];
  const leftSeconds = (since + seconds * 1000 - now.getTime()) / 1000;
  if (leftSeconds <= 0) return release("DeadlinePassed", tellWhy(`it has not moved within ${seconds} s`));
  return hold(f, vmi, { cause, leftSeconds });
}

/**
 * What a deletion gets while the API server does not answer us: all there is to go by is the pod as it came with the
 * request. Seconds until the deadline as far as that shows; undefined lets it go.
 */
export function blindHoldSeconds(
  { pod, requester }: Pick<DeletionFacts, "pod" | "requester">,
  settings: Settings,
  now: Date,
): number | undefined {
  if (!isOfInterest(requester, settings)) return undefined;
  const disruption = disruptionOf(pod, { vmi: undefined, launcherUID: pod.uid }, settings, now);
  if (disruption === undefined) return undefined;
  const deadline = disruption.since + settings.guard.deadlineSeconds[disruption.cause] * 1000;
  return deadline > now.getTime() ? (deadline - now.getTime()) / 1000 : undefined;
}
