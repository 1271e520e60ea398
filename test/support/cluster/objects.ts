/** Converts facts to objects of the API server: `fake.vmis.put(vmi({ evictionStrategy: "None" }))`. */
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { BudgetFacts, MigrationFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import * as names from "../../../shared/kube/names.ts";
import type { KubeVirtFacts } from "../../../shared/kube/schemas/kubevirt.ts";
import { asJson, isObject, type JsonObject } from "../json.ts";

export function object(fields: object): JsonObject {
  const made = asJson(fields);
  if (!isObject(made)) throw new TypeError("expected an object");
  return made;
}

export function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

const DELETED = "2026-03-01T12:00:30Z";

interface Identity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly deleting?: boolean;
}

export function identity({ namespace, name, uid, resourceVersion = "1", deleting = false }: Identity) {
  return { namespace, name, uid, resourceVersion, ...(deleting && { deletionTimestamp: DELETED }) };
}

export function evacuationObject(facts: EvacuationFacts): JsonObject {
  const { vmiName, ...spec } = facts.spec;
  return object({
    kind: "Evacuation",
    metadata: { ...identity(facts), creationTimestamp: timeOf(facts.createdAt) },
    spec: { virtualMachineInstance: { name: vmiName }, ...spec },
    status: facts.status,
  });
}

export function vmiObject(vmi: VmiFacts): JsonObject {
  const { evictionStrategy, graceSeconds, guestMemory, hasUtilityVolumes, backup, liveMigratable } = vmi;
  const { phase, nodeName, evacuationNodeName, activePods } = vmi;
  const { migratable, ...why } = liveMigratable;
  const paused = vmi.pausedByIoError ? [{ type: "Paused", status: "True", reason: "PausedIOError" }] : [];
  return object({
    kind: "VirtualMachineInstance",
    metadata: { ...identity(vmi), ...mapsOf(vmi) },
    spec: {
      evictionStrategy,
      terminationGracePeriodSeconds: graceSeconds,
      ...(hasUtilityVolumes === true && { utilityVolumes: [{}] }),
      domain: { memory: { guest: guestMemory } },
    },
    status: {
      phase,
      nodeName,
      evacuationNodeName,
      activePods,
      conditions: [{ type: "LiveMigratable", status: migratable ? "True" : "False", ...why }, ...paused],
      migrationState: migrationStateOf(vmi),
      ...(backup !== undefined && { changedBlockTracking: { backupStatus: { backupName: backup } } }),
    },
  });
}

function mapsOf(vmi: VmiFacts) {
  const labels = {
    [names.NODE_NAME_LABEL]: vmi.nodeName,
    [names.TARGET_NODE_LABEL]: vmi.isMigrating ? (vmi.targetNode ?? "a-node") : undefined,
    [names.EVACUATION_LABEL]: vmi.evacuationLabel,
    [names.SHIELD_LABEL]: vmi.shield,
    [names.CONVERGENCE]: vmi.isGentle === true ? names.GENTLE : undefined,
  };
  const annotations = {
    [names.EVICTION_SOURCE_ANNOTATION]: vmi.evictionSource,
    [names.RECEIVER_ANNOTATION]: vmi.decentralized === "Receives" ? "true" : undefined,
  };
  return { ...(vmi.hasLabels && { labels }), ...(vmi.hasAnnotations && { annotations }) };
}

function migrationStateOf(vmi: VmiFacts): object | undefined {
  const { nodeName, targetNode, lastMigration: last, movedAt, movedInSeconds = 0 } = vmi;
  if (last?.failureReason !== undefined) {
    return { migrationUid: last.uid, failureReason: last.failureReason, failed: true, completed: true };
  }
  if (movedAt !== undefined) {
    const times = { startTimestamp: timeOf(movedAt - movedInSeconds * 1000), endTimestamp: timeOf(movedAt) };
    return { sourceNode: "the-node-before", targetNode: nodeName, completed: true, ...times };
  }
  const isSending = vmi.decentralized === "Sends";
  if (!vmi.isMigrating && vmi.guestOnTarget !== true && !isSending) return undefined;
  return {
    migrationUid: "migration-uid",
    targetNode,
    ...(vmi.guestOnTarget === true && { mode: "PostCopy" }),
    ...(isSending && { targetState: { syncAddress: "10.0.0.1:9185" } }),
  };
}

export function migrationObject(migration: MigrationFacts): JsonObject {
  const { vmiName, phase, createdAt, failedAt, decentralized, blockedBy, evacuates, cause } = migration;
  const { sourceNode, targetNode, targetPod, failureReason } = migration;
  const annotations = {
    [names.EVACUATION_MIGRATION_ANNOTATION]: evacuates,
    [names.CAUSE_ANNOTATION]: cause,
    [names.WORKLOAD_UPDATE_ANNOTATION]: migration.automatic && evacuates === undefined ? "" : undefined,
    [names.SKIP_BACKOFF_ANNOTATION]: migration.skipsBackoff && "",
  };
  return object({
    kind: "VirtualMachineInstanceMigration",
    metadata: {
      ...identity(migration),
      creationTimestamp: timeOf(createdAt),
      labels: { [names.VMI_NAME_LABEL]: vmiName },
      annotations,
    },
    spec: {
      vmiName,
      ...(decentralized === "Sends" && { sendTo: {} }),
      ...(decentralized === "Receives" && { receive: {} }),
    },
    status: {
      phase,
      migrationState: { sourceNode, targetNode, targetPod, failureReason },
      conditions: blockedBy === undefined ? [] : [{ status: "True", ...blockedBy }],
      phaseTransitionTimestamps: failedAt && [{ phase: "Failed", phaseTransitionTimestamp: timeOf(failedAt) }],
    },
  });
}

export function budgetObject(budget: BudgetFacts): JsonObject {
  const { generation, managedByUs, owners: ownerReferences } = budget;
  const { minAvailable, selector, unhealthyPodEvictionPolicy, status } = budget;
  const labels = managedByUs ? { [names.MANAGED_BY_LABEL]: names.MANAGED_BY } : {};
  return object({
    kind: "PodDisruptionBudget",
    metadata: { ...identity(budget), generation, labels, ownerReferences },
    spec: { minAvailable, selector, unhealthyPodEvictionPolicy },
    status,
  });
}

export function kubeVirtObject(kubevirt: KubeVirtFacts): JsonObject {
  const { namespace, evictionStrategy, featureGates, drainTaintKey, bandwidthPerMigration, minor, isRollingOut } =
    kubevirt;
  const { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode } = kubevirt;
  const limits = { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode, bandwidthPerMigration };
  return object({
    kind: "KubeVirt",
    metadata: identity({ namespace, name: "kubevirt", uid: "kubevirt" }),
    spec: {
      configuration: {
        evictionStrategy,
        developerConfiguration: { featureGates },
        migrations: { nodeDrainTaintKey: drainTaintKey, ...limits },
      },
    },
    status: {
      ...(minor !== undefined && { observedKubeVirtVersion: `v1.${minor}.0` }),
      ...(isRollingOut === true && { observedDeploymentID: "before", targetDeploymentID: "after" }),
    },
  });
}
