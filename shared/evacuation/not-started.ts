/**
 * Why a migration has not begun: the first reason that something in the cluster shows. Without any it says only what is known. Upstream:
 * `handleTargetPodCreation`, `createTargetPod`, `handlePendingPodTimeout` of KubeVirt's migration controller.
 */
import type { MigrationFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { called } from "./migration-cause.ts";
import type { SeenEvent } from "../kube/seen-event.ts";
import { MIGRATION_JOB_LABEL, OVER_QUOTA } from "../kube/names.ts";
import { isFinal, isListedBy } from "../kube/objects.ts";
import type { Settings } from "../settings/settings.ts";
import { type Moment, secondsSince } from "../settings/time.ts";
import { offBecause } from "../settings/limits.ts";

export interface StartWorld extends Moment {
  readonly settings: Settings;
  readonly pods: readonly PodFacts[];
  /** Events of the VMI and its target pod. Absent: not read. */
  readonly events?: readonly SeenEvent[];
  readonly queues?: ReadonlyMap<string, { readonly running: number; readonly leaving: number }>;
}

export interface StartFacts {
  readonly vmi: VmiFacts;
  readonly w: StartWorld;
}

export interface NotStarted {
  readonly reason: string;
  readonly message: string;
  /** Since when, in milliseconds since the epoch: of a target pod that exists, and does not start. */
  readonly since?: number;
}

type Rule = (m: MigrationFacts, f: StartFacts) => NotStarted | undefined;

const RULES: readonly Rule[] = [
  notLookedAt,
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

/** Reasons that do not pass by themselves in moments. */
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

const NOT_BEGUN: readonly string[] = ["", "Pending", "Scheduling"];

export function hasBegun({ phase }: MigrationFacts): boolean {
  return !NOT_BEGUN.includes(phase);
}

/** Says why the migration has not started: the first rule that applies. */
export function whyNotStarted(m: MigrationFacts, f: StartFacts): NotStarted {
  for (const rule of RULES) {
    const found = rule(m, f);
    if (found !== undefined) return found;
  }
  return { reason: "Queued", message: `KubeVirt has not created the target pod of ${called(m)} yet` };
}

/** virt-controller gives a new migration its first phase within moments. */
const UNANSWERED_SECONDS = 10;

function notLookedAt({ name, phase, createdAt }: MigrationFacts, { w }: StartFacts): NotStarted | undefined {
  if (phase !== "" || secondsSince(createdAt, w.now) < UNANSWERED_SECONDS) return undefined;
  const message = `KubeVirt has not looked at migration ${name} since it was created: virt-controller does not run, or is far behind`;
  return { reason: "KubeVirtNotAnswering", message };
}

/** A condition of the migration: a quota, a backup, utility volumes. */
function blocked({ name, blockedBy }: MigrationFacts): NotStarted | undefined {
  if (blockedBy === undefined) return undefined;
  const { type, reason, message = reason } = blockedBy;
  if (type !== OVER_QUOTA) return { reason: "MigrationBlocked", message: message ?? type };
  const words = message === undefined ? "" : `: ${message}`;
  return {
    reason: "QuotaExceeded",
    message: `a resource quota refuses the target pod of migration ${name} (${OVER_QUOTA})${words}`,
  };
}

/** KubeVirt alone lists the pods of a VMI. */
export function targetPodOf(m: MigrationFacts, { vmi, w }: StartFacts): PodFacts | undefined {
  const listed = w.pods.filter(
    (pod) => pod.namespace === vmi.namespace && !pod.deleting && !isFinal(pod) && isListedBy(vmi, pod),
  );
  const isIts = ({ labels }: PodFacts) => labels[MIGRATION_JOB_LABEL] === m.uid;
  return listed.find(isIts) ?? listed.find((pod) => pod.unschedulable !== undefined || pod.gates !== undefined);
}

function sinceOf({ schedulingSince, createdAt }: MigrationFacts): number {
  return schedulingSince ?? createdAt;
}

function gated(m: MigrationFacts, f: StartFacts): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  if (pod?.gates === undefined) return undefined;
  const gates = `scheduling gate${pod.gates.length === 1 ? "" : "s"} ${pod.gates.join(", ")}`;
  return {
    reason: "SchedulingGated",
    message: `target pod ${pod.name} waits for its ${gates} to be removed`,
    since: sinceOf(m),
  };
}

/** An autoscaler, or a VM that ends, may still make room. */
function unschedulable(m: MigrationFacts, f: StartFacts): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  if (pod?.unschedulable === undefined) return undefined;
  const { message, since } = pod.unschedulable;
  return {
    reason: "NoRoom",
    message: `target pod ${pod.name} cannot be scheduled: ${message}`,
    since: Date.parse(since) || m.createdAt,
  };
}

const MOST_WORDS = 400;

/** Reports the last Event of a kubelet, a scheduler or the attach-detach controller about the target pod. */
function podTrouble(m: MigrationFacts, f: StartFacts): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  const last = pod && lastOf(f, ({ about }) => about === pod.uid);
  if (pod === undefined || last === undefined || pod.ready) return undefined;
  const words = last.message.slice(0, MOST_WORDS);
  return {
    reason: "TargetNotStarted",
    message: `target pod ${pod.name} has not started: ${last.reason}: ${words}`,
    since: sinceOf(m),
  };
}

function starting(m: MigrationFacts, f: StartFacts): NotStarted | undefined {
  const pod = targetPodOf(m, f);
  if (pod !== undefined)
    return {
      reason: "TargetStarting",
      message: `target pod ${pod.name} of ${called(m)} is starting`,
      since: sinceOf(m),
    };
  if (m.phase !== "Scheduling") return undefined;
  return { reason: "TargetStarting", message: `the target pod of ${called(m)} is starting` };
}

function switchedOff(_: MigrationFacts, { w }: StartFacts): NotStarted | undefined {
  const message = offBecause(w.settings);
  return message === undefined ? undefined : { reason: "MigrationsOff", message };
}

/** The API server has refused the target pod: a policy, a webhook, a quota that KubeVirt does not recognise. */
function refused(m: MigrationFacts, f: StartFacts): NotStarted | undefined {
  const last = lastOf(
    f,
    ({ about, reason, last }) => about === f.vmi.uid && reason === "FailedCreate" && last >= m.createdAt,
  );
  if (last === undefined) return undefined;
  const words = last.message.slice(0, MOST_WORDS);
  return { reason: "TargetRefused", message: `KubeVirt cannot create the target pod of migration ${m.name}: ${words}` };
}

function lastOf({ w }: StartFacts, isMeant: (event: SeenEvent) => boolean): SeenEvent | undefined {
  return (w.events ?? [])
    .filter(isMeant)
    .toSorted((a, b) => a.last - b.last)
    .at(-1);
}

/** KubeVirt waits until there is one launcher pod. */
function secondLauncher(m: MigrationFacts, { vmi, w }: StartFacts): NotStarted | undefined {
  const other = w.pods.find((pod) => {
    const isElsewhere = pod.nodeName !== undefined && pod.nodeName !== vmi.nodeName;
    const isOthers = isElsewhere && !isFinal(pod) && !pod.deleting && pod.labels[MIGRATION_JOB_LABEL] !== m.uid;
    return isOthers && isListedBy(vmi, pod);
  });
  if (other === undefined) return undefined;
  const message = `KubeVirt does not start migration ${m.name} while the VM has a second launcher pod, ${other.name} on node ${other.nodeName}`;
  return { reason: "LeftOver", message };
}

/** Its limits are reached. */
function queued(m: MigrationFacts, { vmi, w }: StartFacts): NotStarted | undefined {
  const queue = w.queues?.get(vmi.nodeName ?? "");
  if (queue === undefined) return undefined;
  const { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode } = w.settings.limits;
  const isFull = queue.running >= parallelMigrationsPerCluster || queue.leaving >= parallelOutboundMigrationsPerNode;
  return isFull
    ? { reason: "Queued", message: `${called(m)} waits in KubeVirt's queue: its limits are reached` }
    : undefined;
}
