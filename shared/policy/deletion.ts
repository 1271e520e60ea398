/**
 * Deletion policy: which deletions of a VM's pods are held back, how long, and why not the others.
 * Owns: the decision from facts. Does not own: holding (functions/deletions.ts), recognising (disruption-cause.ts).
 *
 * The scheduler and the taint manager delete without asking. Held at admission, before the pod has a
 * deletionTimestamp, there is no race with SIGTERM: the guest moves first, up to a deadline.
 */
import { type Action, tell } from "./action.ts";
import { GUARD } from "./deletion-table.ts";
import { type Disruption, disruptionOf, isOfInterest } from "./disruption-cause.ts";
import { isCompleted, isFinal, type NodeFacts, type PodFacts, type VmiFacts } from "./facts.ts";
import { type Hold, hold, type HoldFacts } from "./hold.ts";
import { pinnedBecause } from "./messages.ts";
import { isMigrationTarget } from "./migration-target.ts";
import { drivingTaint } from "./no-execute.ts";
import { isAlive } from "./node-alive.ts";
import { isLauncher, launcherOfHotplug, unprotectedReason } from "./pod-kind.ts";
import type { Settings } from "./settings.ts";
import { mobilityOf, resolveStrategy } from "./strategy.ts";
import { victimsAround } from "./victims.ts";

export const RELEASE_REASONS = [
  "OtherRequester",
  "NotADisruption",
  "GuardOff",
  "PodCompleted",
  "NotAVirtualMachine",
  "VmiGone",
  "NotScheduled",
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

export interface DeletionFacts extends HoldFacts {
  readonly vmi?: VmiFacts;
  readonly node?: NodeFacts;
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

/** How long after a deadline the next victim of the same preemption is deleted, at the latest. */
const NEXT_VICTIM_SECONDS = 30;

/**
 * The victims of one preemption are deleted one after another, and one denial stops the rest: those on a node share the
 * earliest start, so that the preemptor never waits for the sum of them. Told from the conditions of their pods, which
 * no tenant can write; a record another tenant could. A victim that was let go long ago and takes its time to end does
 * not count: its owner would decide how long nobody else on the node is held.
 */
function sharedSince(f: DeletionFacts, { cause, since }: Disruption): number {
  if (cause !== "Preemption") return since;
  const now = f.now.getTime();
  const earliest = now - (f.settings.guard.deadlineSeconds.Preemption + NEXT_VICTIM_SECONDS) * 1000;
  const times = victimsAround(f).map((pod) => Date.parse(pod.disruptionTarget?.since ?? ""));
  return Math.min(since, ...times.filter((time) => time <= now && time >= earliest));
}

function decideForLiveVmi(f: DeletionFacts, vmi: VmiFacts, disruption: Disruption): DeletionDecision {
  const { pod, launcher = pod } = f;
  if (vmi.nodeName === undefined) return release("NotScheduled");
  if (!isAlive(f.node)) return release("NodeNotAlive");
  // A target is nobody's guest, unless the guest has gone over already.
  if (isMigrationTarget(launcher, vmi) && vmi.guestOnTarget !== true) return release("MigrationTarget");
  return decideForGuest(f, vmi, disruption);
}

function decideForGuest(f: DeletionFacts, vmi: VmiFacts, { cause, since }: Disruption): DeletionDecision {
  const { settings, now, requester, pod } = f;
  const tellWhy = (why: string) => {
    const told = `pod ${pod.name} is deleted by ${requester} (cause ${cause}) and the VM with it: ${why}`;
    return [tell(vmi, "DisruptionNotHeld", told, pod.uid)];
  };
  const resolved = resolveStrategy(vmi.evictionStrategy, settings.clusterStrategy);
  if (resolved.known && resolved.strategy === "None") return release("StrategyNone");
  if (cause === "NoExecuteTaint" && drivingTaint(f.node, pod) === undefined) return stay(pod);
  if (!resolved.known) return release("UnknownStrategy", tellWhy(`nobody knows ${resolved.field} "${resolved.value}"`));
  if (GUARD[resolved.strategy][mobilityOf(vmi)] === "release") {
    return release("NotMigratable", tellWhy(`it is not live-migratable: ${pinnedBecause(vmi)}`));
  }
  const seconds = settings.guard.deadlineSeconds[cause];
  const leftSeconds = (since + seconds * 1000 - now.getTime()) / 1000;
  if (leftSeconds <= 0) return release("DeadlinePassed", tellWhy(`it has not moved within ${seconds} s`));
  return hold(f, vmi, { cause, since, leftSeconds });
}

/** The taint manager goes on trying although the taint is gone; the evacuation is ended by the pass that follows. */
function stay({ name, nodeName }: PodFacts): DeletionDecision {
  const message = `pod "${name}" stays: node "${nodeName}" carries no NoExecute taint any more that it does not tolerate`;
  return { verdict: "Hold", holdSeconds: 0, message, actions: [], story: [] };
}

/**
 * What a deletion gets while the API server does not answer us: all there is to go by is the pod as it came with the
 * request. Seconds until the deadline as far as that shows, 0 where nothing is ever held; undefined lets it go.
 */
export function blindHoldSeconds(
  { pod, requester }: Pick<DeletionFacts, "pod" | "requester">,
  settings: Settings,
  now: Date,
): number | undefined {
  if (!isOfInterest(requester, settings) || !isOfVm(pod)) return undefined;
  const disruption = disruptionOf(pod, { vmi: undefined, launcherUID: pod.uid }, settings, now);
  // Without a time no deadline is shown, and nobody waits for one that never comes.
  if (disruption === undefined || Number.isNaN(Date.parse(pod.disruptionTarget?.since ?? ""))) return undefined;
  const left = (disruption.since - now.getTime()) / 1000 + settings.guard.deadlineSeconds[disruption.cause];
  if (left <= 0) return undefined;
  return settings.guard.mode === "Deny" ? 0 : left;
}

function isOfVm(pod: PodFacts): boolean {
  return !isCompleted(pod) && (isLauncher(pod) || launcherOfHotplug(pod) !== undefined);
}
