/** The fields of KubeVirt's kinds that the simulated controllers use. */
import type { Condition } from "../actors/conditions.ts";
import type { KubeObject, Pod, Resource } from "../actors/resources.ts";

export type EvictionStrategy = "None" | "LiveMigrate" | "LiveMigrateIfPossible" | "External";

export interface VirtualMachineInstanceSpec {
  architecture?: string;
  evictionStrategy?: string;
  terminationGracePeriodSeconds?: number;
  priorityClassName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: NonNullable<Pod["spec"]>["affinity"];
  tolerations?: NonNullable<Pod["spec"]>["tolerations"];
  topologySpreadConstraints?: NonNullable<Pod["spec"]>["topologySpreadConstraints"];
  domain: {
    resources?: { requests?: Record<string, string> };
    memory?: { guest?: string };
    cpu?: { model?: string; cores?: number; sockets?: number; threads?: number };
    devices?: {
      interfaces?: { name: string; masquerade?: object; bridge?: object }[];
      hostDevices?: { name: string; deviceName: string }[];
      disks?: { name: string }[];
    };
  };
  networks?: { name: string; pod?: object }[];
  volumes?: {
    name: string;
    hostDisk?: { path: string; type: string; shared?: boolean; capacity?: string };
    containerDisk?: { image?: string };
  }[];
}

export interface MigrationState {
  migrationUid?: string;
  sourceNode?: string;
  sourcePod?: string;
  targetNode?: string;
  targetPod?: string;
  targetNodeAddress?: string;
  targetDirectMigrationNodePorts?: Record<string, number>;
  startTimestamp?: string;
  endTimestamp?: string;
  targetNodeDomainDetected?: boolean;
  targetNodeDomainReadyTimestamp?: string;
  completed?: boolean;
  failed?: boolean;
  failureReason?: string;
  abortRequested?: boolean;
  abortStatus?: string;
  mode?: string;
  migrationPolicyName?: string;
  /** The source and the target of a decentralized migration exchange this data. */
  sourceState?: object;
  targetState?: object;
}

export interface PhaseTransition {
  phase: string;
  phaseTransitionTimestamp: string;
}

export interface VirtualMachineInstanceStatus {
  phase?: string;
  reason?: string;
  nodeName?: string;
  evacuationNodeName?: string;
  activePods?: Record<string, string>;
  conditions?: Condition[];
  selinuxContext?: string;
  migrationMethod?: string;
  migrationTransport?: string;
  migrationState?: MigrationState;
  interfaces?: { name: string; ipAddress: string }[];
  changedBlockTracking?: { state: string; backupStatus?: { backupName?: string; completed?: boolean } };
  phaseTransitionTimestamps?: PhaseTransition[];
}

export interface VirtualMachineInstance extends KubeObject {
  spec: VirtualMachineInstanceSpec;
  status?: VirtualMachineInstanceStatus;
}

export interface StateChangeRequest {
  readonly action: "Start" | "Stop";
  readonly uid?: string;
}

export interface VirtualMachine extends KubeObject {
  spec: {
    runStrategy?: string;
    running?: boolean;
    template: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
      spec: VirtualMachineInstanceSpec;
    };
  };
  status?: {
    runStrategy?: string;
    created?: boolean;
    printableStatus?: string;
    stateChangeRequests?: StateChangeRequest[];
  };
}

export interface VirtualMachineInstanceMigration extends KubeObject {
  spec: {
    vmiName: string;
    priority?: string;
    addedNodeSelector?: Record<string, string>;
    sendTo?: { migrationID: string; connectURL: string };
    receive?: { migrationID: string };
  };
  status?: {
    phase?: string;
    conditions?: Condition[];
    migrationState?: MigrationState;
    phaseTransitionTimestamps?: PhaseTransition[];
  };
}

export interface KubeVirt extends KubeObject {
  spec: {
    configuration?: {
      evictionStrategy?: string;
      migrations?: {
        nodeDrainTaintKey?: string;
        parallelMigrationsPerCluster?: number;
        parallelOutboundMigrationsPerNode?: number;
      };
      developerConfiguration?: { featureGates?: string[] };
    };
    workloads?: { nodePlacement?: { tolerations?: NonNullable<NonNullable<Pod["spec"]>["tolerations"]> } };
  };
  status?: { phase?: string };
}

export interface NodeHook {
  socket: string;
  permittedHooks: string[];
  condition?: string;
  failureStrategy?: string;
}

export interface Plugin extends KubeObject {
  spec: { condition?: string; nodeHooks?: NodeHook[] };
}

const namespaced = { apiVersion: "kubevirt.io/v1", namespaced: true };

// prettier-ignore
export const virtualMachineInstances: Resource<VirtualMachineInstance> = { ...namespaced, kind: "VirtualMachineInstance", plural: "virtualmachineinstances" };
export const virtualMachines: Resource<VirtualMachine> = {
  ...namespaced,
  kind: "VirtualMachine",
  plural: "virtualmachines",
};
// prettier-ignore
export const migrations: Resource<VirtualMachineInstanceMigration> = { ...namespaced, kind: "VirtualMachineInstanceMigration", plural: "virtualmachineinstancemigrations" };
export interface MigrationPolicy extends KubeObject {
  spec: {
    selectors: { virtualMachineInstanceSelector?: Record<string, string>; namespaceSelector?: Record<string, string> };
  };
}
// prettier-ignore
export const migrationPolicies: Resource<MigrationPolicy> = { apiVersion: "migrations.kubevirt.io/v1alpha1", namespaced: false, kind: "MigrationPolicy", plural: "migrationpolicies" };
export const kubeVirts: Resource<KubeVirt> = { ...namespaced, kind: "KubeVirt", plural: "kubevirts" };

export const plugins: Resource<Plugin> = {
  apiVersion: "plugin.kubevirt.io/v1alpha1",
  namespaced: false,
  kind: "Plugin",
  plural: "plugins",
};

export const KUBEVIRT_NAMESPACE = "kubevirt";

/** The default grace period of a guest, in seconds. */
export const DEFAULT_GRACE_SECONDS = 30;

export const LABEL = {
  app: "kubevirt.io",
  createdBy: "kubevirt.io/created-by",
  nodeName: "kubevirt.io/nodeName",
  vmiName: "kubevirt.io/vmi-name",
  migrationJobUID: "kubevirt.io/migrationJobUID",
  migrationTargetNodeName: "kubevirt.io/migrationTargetNodeName",
  schedulable: "kubevirt.io/schedulable",
  installStrategy: "kubevirt.io/install-strategy",
  outdatedLauncher: "kubevirt.io/outdatedLauncherImage",
} as const;

export const ANNOTATION = {
  domain: "kubevirt.io/domain",
  migrationJobName: "kubevirt.io/migrationJobName",
  evacuationMigration: "kubevirt.io/evacuationMigration",
  workloadUpdateMigration: "kubevirt.io/workloadUpdateMigration",
  ignoreMigrationBackoff: "kubevirt.io/func-test-ignore-migration-backoff",
  evictionSource: "kubevirt.io/eviction-source",
  createMigrationTarget: "kubevirt.io/create-migration-target",
} as const;

export const FINALIZER = {
  vmi: "kubevirt.io/foregroundDeleteVirtualMachine",
  migration: "kubevirt.io/migrationJobFinalize",
} as const;

/**
 * Returns the phase in which a migration between namespaces or clusters waits for its other side. Returns undefined for
 * other migrations.
 */
export function syncPhase({ spec }: VirtualMachineInstanceMigration): "Synchronizing" | "WaitingForSync" | undefined {
  if ((spec.sendTo === undefined) === (spec.receive === undefined)) return undefined;
  return spec.sendTo === undefined ? "WaitingForSync" : "Synchronizing";
}

/** Returns true if the VMI is the target of a migration from another VMI, and the guest has not arrived yet. */
export function isReceiver({ metadata, status }: VirtualMachineInstance): boolean {
  return metadata.annotations?.[ANNOTATION.createMigrationTarget] === "true" && status?.phase !== "Running";
}

/**
 * Returns true if the guest is migrating. virt-handler does not shut down a migrating guest, even if its launcher
 * received SIGTERM.
 */
export function isMigrating(status: { readonly migrationState?: MigrationState } | undefined): boolean {
  const { startTimestamp, endTimestamp } = status?.migrationState ?? {};
  return startTimestamp !== undefined && endTimestamp === undefined;
}

export function runStrategyOf({ spec: { runStrategy, running } }: VirtualMachine): string {
  return runStrategy ?? (running === true ? "Always" : "Halted");
}

export function isFinal(status: { readonly phase?: string } | undefined): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
