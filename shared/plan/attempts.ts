/** Finds the results of finished migrations, and the class of each migrated VM. A class contains similar VMs. */
import { isFinal, isLauncher, keyOf, ownValue, vmiNameOf } from "../kube/objects.ts";
import { MIGRATION_JOB_LABEL } from "../kube/names.ts";
import type { Labels } from "../kube/scheduled-pod.ts";
import { HOST_CPU, HOST_MODEL, MIGRATION_MODEL } from "../preflight/host-cpu.ts";
import type { PlanFacts, PlanMigration, PlanPod, PlanVmi } from "./facts.ts";
import { imageAt, type Run, runsOf } from "./launchers.ts";
import { PLAN_MESSAGES } from "./messages.ts";

/** A class of VMs. All VMs of a class have the same values of the following properties. */
export interface ClassKey {
  readonly launcher: string;
  readonly machine: string;
  readonly cpu: string;
  readonly storage: string;
  readonly architecture: string;
}

export interface Attempt {
  /** The class of the VM before the migration. */
  readonly key: ClassKey;
  readonly vm: string;
  /** `FindsNoPlace`: the target pod fitted on no node. This result says nothing about the VM. */
  readonly outcome: "Proves" | "Fails" | "FindsNoPlace";
  readonly reason?: string;
}

/** The facts of a plan as maps. */
export interface PlanHistory {
  readonly f: PlanFacts;
  readonly vmiOf: ReadonlyMap<string, PlanVmi>;
  /** Launcher pods, keyed by `namespace/name`. Includes pods that have ended. */
  readonly podOf: ReadonlyMap<string, PlanPod>;
  /** The pod in which the guest of each VM runs. It is never the target of a migration. */
  readonly presentOf: ReadonlyMap<string, PlanPod>;
  /** Target pods, keyed by the UID of their migration. */
  readonly targets: ReadonlyMap<string, PlanPod>;
  readonly finishedOf: ReadonlyMap<string, readonly PlanMigration[]>;
  readonly runs: readonly Run[];
}

export function historyFrom(f: PlanFacts): PlanHistory {
  const launchers = f.pods.filter(({ image }) => image !== undefined);
  const vmiOf = new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const isPresent = (pod: PlanPod) => isLauncher(pod) && vmiOf.get(vmOfLauncher(pod))?.nodeName === pod.nodeName;
  const finished = [...f.migrations.filter(isFinal).map((one) => withStateOf(one, vmiOf)), ...unlisted(f)];
  return {
    f,
    vmiOf,
    podOf: new Map(launchers.map((pod) => [keyOf(pod), pod])),
    presentOf: new Map(f.pods.filter(isPresent).map((pod) => [vmOfLauncher(pod), pod])),
    targets: new Map(launchers.map((pod) => [ownValue(pod.labels, MIGRATION_JOB_LABEL) ?? "", pod])),
    finishedOf: Map.groupBy(
      finished.toSorted((a, b) => a.createdAt - b.createdAt),
      vmOfMigration,
    ),
    runs: runsOf(launchers),
  };
}

/**
 * Fills in the end of a migration from the status of its VMI. KubeVirt writes the end to the VMI first, and to the
 * migration a moment later.
 */
function withStateOf(migration: PlanMigration, vmiOf: PlanHistory["vmiOf"]): PlanMigration {
  const state = vmiOf.get(vmOfMigration(migration))?.lastFinished;
  return state?.uid === migration.uid ? { ...state, ...migration } : migration;
}

/**
 * Returns migrations that appear only in their VMI. Such a migration was deleted, or the user may not list migrations.
 */
function unlisted({ vmis, migrations }: PlanFacts): readonly PlanMigration[] {
  const listed = new Set(migrations.map(({ uid }) => uid));
  return vmis.flatMap(({ lastFinished }) => (lastFinished && !listed.has(lastFinished.uid) ? [lastFinished] : []));
}

export function vmOfLauncher(pod: PlanPod): string {
  return keyOf({ ...pod, name: vmiNameOf(pod) ?? "" });
}

function vmOfMigration({ namespace, vmiName }: PlanMigration): string {
  return keyOf({ namespace, name: vmiName });
}

export function classKeyOf(vmi: PlanVmi, launcher: string, history: PlanHistory): ClassKey {
  const { machine, architecture, cpuModel, storage } = vmi.kind;
  const isHost = cpuModel === HOST_MODEL || cpuModel === "";
  return {
    launcher,
    machine,
    cpu: isHost ? `${HOST_MODEL} ${hostModelOf(vmi, history)}` : cpuModel,
    storage,
    architecture,
  };
}

/**
 * Returns the CPU model of the node on which the VM started. Every later pod of the VM must run on a node with this
 * model.
 */
function hostModelOf(vmi: PlanVmi, { presentOf, f }: PlanHistory): string {
  const selector = presentOf.get(keyOf(vmi))?.placement.nodeSelector ?? {};
  const labels = f.nodes.find(({ name }) => name === vmi.nodeName)?.labels ?? {};
  return named(selector, MIGRATION_MODEL) ?? named(labels, HOST_CPU) ?? "unknown";
}

function named(labels: Labels, prefix: string): string | undefined {
  const key = Object.keys(labels).find((one) => one.startsWith(prefix) && ownValue(labels, one) === "true");
  return key?.slice(prefix.length);
}

/**
 * Returns the results of finished migrations within the cluster, oldest first. Omits cancelled migrations.
 * `launcher` is the launcher image for new pods.
 */
export function attemptsOf(history: PlanHistory, launcher: string | undefined): readonly Attempt[] {
  return [...history.finishedOf.values()]
    .flat()
    .filter(({ isCancelled, decentralized }) => isCancelled !== true && decentralized === undefined)
    .toSorted((a, b) => a.createdAt - b.createdAt)
    .flatMap((migration): readonly Attempt[] => {
      const vm = vmOfMigration(migration);
      const vmi = history.vmiOf.get(vm);
      const image = vmi && sourceImageOf(migration, vmi, history);
      const result = resultOf(migration, launcher, history);
      if (vmi === undefined || image === undefined || result === undefined) return [];
      return [{ ...result, vm, key: classKeyOf(vmi, image, history) }];
    });
}

type Result = Pick<Attempt, "outcome" | "reason">;

/**
 * Returns the result of a migration. Returns undefined if its target pod has a launcher image other than `launcher`.
 */
function resultOf(migration: PlanMigration, launcher: string | undefined, history: PlanHistory): Result | undefined {
  const target = targetOf(migration, history);
  const image = target?.image ?? imageAt(history.runs, migration.schedulingSince);
  if (migration.phase === "Succeeded")
    return launcher !== undefined && image === launcher ? { outcome: "Proves" } : undefined;
  return (image ?? launcher) === (launcher ?? image) ? failureOf(migration, target) : undefined;
}

function targetOf({ uid, namespace, targetPod: name }: PlanMigration, { podOf, targets }: PlanHistory) {
  return (name === undefined ? undefined : podOf.get(keyOf({ namespace, name }))) ?? targets.get(uid);
}

function failureOf(migration: PlanMigration, target: PlanPod | undefined): Result {
  const reason = reasonOf(migration, target);
  return reason === undefined ? { outcome: "FindsNoPlace" } : { outcome: "Fails", reason };
}

/**
 * KubeVirt waits 5 minutes for a target pod that is not scheduled, and 15 minutes for a scheduled target pod. If
 * KubeVirt waited more than 14 minutes, the target pod must have been scheduled. Upstream: `handlePendingPodTimeout`.
 */
const WAITS_FOR_POD_MS = 14 * 60_000;

/** Returns the reason why a migration failed. Returns undefined if its target pod was never scheduled. */
function reasonOf(migration: PlanMigration, target: PlanPod | undefined): string | undefined {
  const { failureReason, targetNode, schedulingSince = 0, failedAt = 0 } = migration;
  if (failureReason !== undefined) return failureReason;
  if (targetNode !== undefined) return PLAN_MESSAGES.noReason;
  if (target !== undefined && isFinal(target)) return PLAN_MESSAGES.targetEnded;
  const isLate = schedulingSince > 0 && failedAt - schedulingSince > WAITS_FOR_POD_MS;
  return isLate ? PLAN_MESSAGES.targetNotReady : undefined;
}

function sourceImageOf(migration: PlanMigration, vmi: PlanVmi, history: PlanHistory): string | undefined {
  const { namespace, sourcePod, createdAt, phase } = migration;
  const source = sourcePod === undefined ? undefined : history.podOf.get(keyOf({ namespace, name: sourcePod }));
  if (source !== undefined) return source.image;
  const present = history.presentOf.get(keyOf(vmi));
  if (phase === "Failed" && present !== undefined && present.createdAt <= createdAt) return present.image;
  return sourcePod === undefined ? undefined : imageAt(history.runs, bornAt(migration, vmi, history));
}

/**
 * KubeVirt keeps at most this many finished migrations of a VMI. Upstream:
 * `defaultFinalizedMigrationGarbageCollectionBuffer`.
 */
const KEPT_MIGRATIONS = 5;

function bornAt(
  { sourcePod, createdAt }: PlanMigration,
  vmi: PlanVmi,
  { finishedOf }: PlanHistory,
): number | undefined {
  const finished = finishedOf.get(keyOf(vmi)) ?? [];
  const before = finished.find(({ targetPod }) => targetPod === sourcePod);
  if (before !== undefined) return before.schedulingSince;
  const hasMoved = finished.some((one) => one.phase === "Succeeded" && one.createdAt < createdAt);
  return hasMoved || finished.length >= KEPT_MIGRATIONS ? undefined : vmi.startedAt;
}
