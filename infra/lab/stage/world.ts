/** The objects and fields of the cluster that the demo shows. */
import {
  type Event,
  findCondition,
  keyOf,
  LABEL,
  type MigrationState,
  type Node,
  type Pod,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "../../sandbox/index.ts";

export interface VirtualMachine {
  readonly key: string;
  readonly uid: string;
  readonly strategy: string;
  /** Why KubeVirt cannot migrate the VM. Absent if the VM can migrate. */
  readonly pinnedBecause?: string;
  readonly phase: string;
  readonly nodeName?: string;
  readonly deleting: boolean;
  /** Whether the VMI's evacuationNodeName is set. */
  readonly marked: boolean;
  /** The target node of the migration in progress. */
  readonly targetNode?: string;
}

export interface MigrationView {
  readonly vmi: string;
  readonly createdAt: string;
  readonly phase: string;
}

export interface PodView {
  readonly key: string;
  readonly nodeName?: string;
  readonly phase: string;
  readonly deleting: boolean;
  readonly launcherOf?: string;
}

export interface NodeView {
  readonly name: string;
  readonly cordoned: boolean;
  /** The node's taints that evict pods, and its pressure conditions. */
  readonly troubles: readonly string[];
}

export interface SeenEvent {
  readonly uid: string;
  readonly reason: string;
  readonly message: string;
}

/** The objects of the cluster. The keys of every map are UIDs. */
export interface World {
  readonly vmis: ReadonlyMap<string, VirtualMachine>;
  readonly migrations: ReadonlyMap<string, MigrationView>;
  readonly pods: ReadonlyMap<string, PodView>;
  readonly nodes: ReadonlyMap<string, NodeView>;
  readonly events: ReadonlyMap<string, SeenEvent>;
}

export function viewOfVmi(vmi: VirtualMachineInstance): VirtualMachine {
  const { metadata, spec, status = {} } = vmi;
  const { phase = "Pending", nodeName, evacuationNodeName, conditions, migrationState } = status;
  return {
    key: keyOf(vmi),
    uid: metadata.uid,
    strategy: spec.evictionStrategy ?? "None",
    ...pinnedBecause(findCondition(conditions, "LiveMigratable")),
    phase,
    ...(nodeName !== undefined && { nodeName }),
    deleting: metadata.deletionTimestamp !== undefined,
    marked: evacuationNodeName !== undefined && evacuationNodeName === nodeName,
    ...targetOf(migrationState),
  };
}

function pinnedBecause(migratable: ReturnType<typeof findCondition>): Pick<VirtualMachine, "pinnedBecause"> {
  return migratable?.status === "True" ? {} : { pinnedBecause: migratable?.reason ?? "unknown" };
}

/**
 * Returns the target node of the migration in progress. A state with an end timestamp belongs to an ended migration.
 */
function targetOf({ targetNode, endTimestamp }: MigrationState = {}): Pick<VirtualMachine, "targetNode"> {
  return targetNode === undefined || endTimestamp !== undefined ? {} : { targetNode };
}

export function viewOfMigration({ metadata, spec, status = {} }: VirtualMachineInstanceMigration): MigrationView {
  return {
    vmi: `${metadata.namespace}/${spec.vmiName}`,
    createdAt: metadata.creationTimestamp,
    phase: status.phase ?? "Pending",
  };
}

export function viewOfPod(pod: Pod): PodView {
  const nodeName = pod.spec?.nodeName;
  const launcherOf = pod.metadata.labels?.[LABEL.createdBy];
  return {
    key: keyOf(pod),
    ...(nodeName !== undefined && { nodeName }),
    phase: pod.status?.phase ?? "Pending",
    deleting: pod.metadata.deletionTimestamp !== undefined,
    ...(launcherOf !== undefined && { launcherOf }),
  };
}

const PRESSURES: ReadonlySet<string> = new Set(["MemoryPressure", "DiskPressure", "PIDPressure"]);

export function viewOfNode({ metadata, spec, status }: Node): NodeView {
  const taints = (spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  const pressures = (status?.conditions ?? []).filter((c) => PRESSURES.has(c.type) && c.status === "True");
  return {
    name: metadata.name,
    cordoned: spec?.unschedulable === true,
    troubles: [...taints.map(({ key, effect }) => `${key}:${effect}`), ...pressures.map(({ type }) => type)],
  };
}

export function viewOfEvent({ involvedObject, reason = "", message = "" }: Event): SeenEvent {
  return { uid: involvedObject.uid ?? "", reason, message };
}
