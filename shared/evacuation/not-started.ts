/**
 * Finds the reason why a migration has not started. Upstream: `handleTargetPodCreation`, `createTargetPod`,
 * `handlePendingPodTimeout` of KubeVirt's migration controller.
 */
import type { View } from "../facts/facts.ts";
import { podsOf, unlessForbidden } from "../facts/questions.ts";
import type { MigrationFacts, PodFacts } from "../kube/facts.ts";
import { MIGRATION_JOB_LABEL, OVER_QUOTA } from "../kube/names.ts";
import { isFinal, isListedBy } from "../kube/objects.ts";
import { SeenEventSchema } from "../kube/schemas/kubernetes.ts";
import type { SeenEvent } from "../kube/seen-event.ts";
import { offBecause } from "../settings/limits.ts";
import { secondsSince } from "../settings/time.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import { hasPlace, isOverdueInQueue } from "./queue.ts";
import type { EvacuationCase } from "./world.ts";

export interface NotStarted {
  readonly reason: string;
  readonly message: string;
  /** The time since which an existing target pod has not started, in milliseconds since the epoch. */
  readonly since?: number;
}

type Rule = (m: MigrationFacts, f: EvacuationCase) => NotStarted | undefined;

const RULES: readonly Rule[] = [
  notReconciled,
  blocked,
  gated,
  unschedulable,
  podTrouble,
  starting,
  switchedOff,
  refused,
  secondLauncher,
  queued,
];

/** If nobody acts, each of these reasons lasts longer than a few moments. */
const TROUBLES: ReadonlySet<string> = new Set([
  "KubeVirtNotAnswering",
  "LeftOver",
  "MigrationBlocked",
  "MigrationsOff",
  "NoRoom",
  "QuotaExceeded",
  "SchedulingGated",
  "TargetNotStarted",
  "TargetRefused",
]);

export function isTrouble(reason: string | undefined): boolean {
  return reason !== undefined && TROUBLES.has(reason);
}

const NOT_STARTED: readonly string[] = ["", "Pending", "Scheduling"];

export function hasMigrationStarted({ phase }: MigrationFacts): boolean {
  return !NOT_STARTED.includes(phase);
}

/** Returns the result of the first rule that applies. */
export function whyNotStarted(m: MigrationFacts, f: EvacuationCase): NotStarted {
  for (const rule of RULES) {
    const found = rule(m, f);
    if (found !== undefined) return found;
  }
  return { reason: "Queued", message: MESSAGES.targetPodNotCreated(m) };
}

/**
 * The time after which a migration without a phase is reported, in seconds. virt-controller normally sets the first
 * phase within moments.
 */
const UNANSWERED_SECONDS = 10;

/** virt-controller has not set the first phase of the migration in time. */
function notReconciled(m: MigrationFacts, { w }: EvacuationCase): NotStarted | undefined {
  if (m.phase !== "" || secondsSince(m.createdAt, w.now) < UNANSWERED_SECONDS) return undefined;
  return { reason: "KubeVirtNotAnswering", message: MESSAGES.controllerSilent(m) };
}

/** The migration has a condition for a quota, a backup or utility volumes. */
function blocked(m: MigrationFacts): NotStarted | undefined {
  if (m.blockedBy === undefined) return undefined;
  const { type, reason, message = reason } = m.blockedBy;
  if (type !== OVER_QUOTA) return { reason: "MigrationBlocked", message: message ?? type };
  return { reason: "QuotaExceeded", message: MESSAGES.overQuota(m, message) };
}

/** Reads the VMI's launcher pods. Ignores pods that are not in the VMI's status, because a tenant can label any pod. */
function launchersOf({ phase }: MigrationFacts, { vmi, w }: EvacuationCase): readonly PodFacts[] {
  const mayBeThere = phase === "Scheduling" || Object.keys(vmi.activePods).length > 1;
  return mayBeThere ? podsOf(vmi, w.facts).filter((pod) => isListedBy(vmi, pod)) : [];
}

function targetPodOf(m: MigrationFacts, f: EvacuationCase): PodFacts | undefined {
  const listed = launchersOf(m, f).filter((pod) => !pod.deleting && !isFinal(pod));
  const isIts = ({ labels }: PodFacts) => labels[MIGRATION_JOB_LABEL] === m.uid;
  return listed.find(isIts) ?? listed.find((pod) => pod.unschedulable !== undefined || pod.gates !== undefined);
}

/** If a target pod has not started after this number of seconds, Lifeboat reads the pod's Events. */
const STARTS_SECONDS = 20;
const MOST_EVENTS = 50;

export const SEEN_EVENTS: View<SeenEvent> = { resource: "events", name: "Seen", schema: () => SeenEventSchema };

/**
 * Returns the newest Event that matches the field selector. Returns undefined if the migration has not waited long
 * enough.
 */
function lastEvent(
  m: MigrationFacts,
  fields: Readonly<Record<string, string>>,
  f: EvacuationCase,
): SeenEvent | undefined {
  const { vmi, w } = f;
  const since = m.schedulingSince ?? m.createdAt;
  const isLate = m.phase === "Scheduling" ? secondsSince(since, w.now) >= STARTS_SECONDS : isOverdueInQueue(m, f);
  if (!isLate) return undefined;
  const selection = { namespace: vmi.namespace, fields, limit: MOST_EVENTS };
  const events = unlessForbidden(() => w.facts.readable(SEEN_EVENTS, selection).items, []);
  return events.toSorted((a, b) => a.last - b.last).at(-1);
}

function sinceOf({ schedulingSince, createdAt }: MigrationFacts): number {
  return schedulingSince ?? createdAt;
}

/** A scheduling gate keeps the target pod from being scheduled. */
function gated(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  if (pod?.gates === undefined) return undefined;
  return { reason: "SchedulingGated", message: MESSAGES.gated(pod, pod.gates), since: sinceOf(m) };
}

/** The scheduler cannot find a node for the target pod. */
function unschedulable(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  if (pod?.unschedulable === undefined) return undefined;
  const { message, since } = pod.unschedulable;
  return { reason: "NoRoom", message: MESSAGES.unschedulable(pod, message), since: Date.parse(since) || m.createdAt };
}

const MOST_WORDS = 400;

/** The last Event of type Warning about the target pod reports a problem. */
function podTrouble(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  if (pod === undefined || pod.ready) return undefined;
  const last = lastEvent(m, { "involvedObject.uid": pod.uid, type: "Warning" }, f);
  if (last === undefined) return undefined;
  const words = last.message.slice(0, MOST_WORDS);
  return { reason: "TargetNotStarted", message: MESSAGES.targetNotStarted(pod, last.reason, words), since: sinceOf(m) };
}

/** The target pod is starting, or KubeVirt is creating the pod. */
function starting(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  const found = { reason: "TargetStarting", message: MESSAGES.targetStarting(m, pod) };
  if (pod !== undefined) return { ...found, since: sinceOf(m) };
  return m.phase === "Scheduling" ? found : undefined;
}

/** KubeVirt's configuration allows no migrations. */
function switchedOff(_: MigrationFacts, { w }: EvacuationCase): NotStarted | undefined {
  const message = offBecause(w.settings);
  return message === undefined ? undefined : { reason: "MigrationsOff", message };
}

/** The API server has refused the target pod, for example because of a policy, a webhook or a quota. */
function refused(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  const last = lastEvent(m, { "involvedObject.uid": f.vmi.uid, reason: "FailedCreate" }, f);
  if (last === undefined || last.last < m.createdAt) return undefined;
  const words = last.message.slice(0, MOST_WORDS);
  return { reason: "TargetRefused", message: MESSAGES.targetRefused(m, words) };
}

/** The VM has a second launcher pod. KubeVirt waits until the VM has only one launcher pod. */
function secondLauncher(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  const other = launchersOf(m, f).find((pod) => {
    const isElsewhere = pod.nodeName !== undefined && pod.nodeName !== f.vmi.nodeName;
    return isElsewhere && !isFinal(pod) && !pod.deleting && pod.labels[MIGRATION_JOB_LABEL] !== m.uid;
  });
  return other && { reason: "LeftOver", message: MESSAGES.secondLauncher(m, other) };
}

/** KubeVirt's limits on parallel migrations are reached. */
function queued(m: MigrationFacts, f: EvacuationCase): NotStarted | undefined {
  return isOverdueInQueue(m, f) && !hasPlace(f) ? { reason: "Queued", message: MESSAGES.queued(m) } : undefined;
}
