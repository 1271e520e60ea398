/** The facts on which a plan is based, and the content of a plan. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { BudgetFacts, MigrationFacts, VmiFacts } from "../kube/facts.ts";
import type { NodeEvacuationSpec, VirtualMachineFacts } from "../kube/node-evacuation.ts";
import type { ScheduledNode } from "../kube/scheduled-pod.ts";
import type { ClaimedVolume, VolumeAttachmentFacts } from "../kube/schemas/storage.ts";
import type { NodeVerdict, PodVerdict, PreflightPod, QuotaFacts, Volume } from "../preflight/facts.ts";
import type { Moment } from "../settings/time.ts";

export interface PlanFacts extends Moment {
  readonly nodes: readonly ScheduledNode[];
  /** All pods that are bound to a node, including pods that have ended. */
  readonly pods: readonly PlanPod[];
  readonly vmis: readonly PlanVmi[];
  /** The VMIs, as `namespace/name`, that could not be parsed. */
  readonly unreadVmis?: ReadonlySet<string>;
  /** The VirtualMachines, keyed by `namespace/name` of their VMIs. */
  readonly vms: ReadonlyMap<string, VirtualMachineFacts>;
  readonly migrations: readonly PlanMigration[];
  readonly evacuations: readonly EvacuationFacts[];
  readonly budgets: readonly BudgetFacts[];
  readonly quotas: readonly QuotaFacts[];
  readonly volumes: readonly Volume[];
  /** Volumes that are attached to nodes. Absent if VolumeAttachments or claims could not be read. */
  readonly attached?: AttachedVolumes;
  readonly unread: readonly string[];
  /** Messages about lists that could not be read. These lists do not affect the verdict on any node. */
  readonly unreadAfterwards: readonly string[];
}

export interface AttachedVolumes {
  readonly attachments: readonly VolumeAttachmentFacts[];
  readonly volumes: readonly ClaimedVolume[];
}

/** A pod. `image` is the image of the container `compute` if the pod is a launcher pod. */
export interface PlanPod extends PreflightPod {
  readonly image?: string;
  readonly createdAt: number;
}

export interface PlanVmi extends VmiFacts {
  readonly kind: VmKind;
  /** True if an annotation of the VM's owner offers this VM for a first migration. */
  readonly isCanary?: true;
  /** True if KubeVirt has labelled the VMI as outdated. Its launcher image differs from KubeVirt's current one. */
  readonly isOutdated?: true;
  /** The creation time of the VM's first pod, in milliseconds since the epoch. */
  readonly startedAt?: number;
  /** The VM's last migration within the cluster, if it has ended. */
  readonly lastFinished?: PlanMigration;
}

export interface PlanMigration extends MigrationFacts {
  readonly sourcePod?: string;
  readonly isCancelled?: true;
}

export interface VmKind {
  readonly machine: string;
  readonly architecture: string;
  readonly cpuModel: string;
  /** The different kinds of the VM's disks, for example `block/RWX`. */
  readonly storage: string;
}

export const ORDERS = ["given", "planned"] as const;

export interface PlanOptions {
  /** The nodes to drain. They are drained in this order unless `order` is `planned`. */
  readonly nodes: readonly string[];
  readonly order: (typeof ORDERS)[number];
  readonly parallel: number;
  readonly at: Date;
  readonly until?: Date | undefined;
  /** The bandwidth of each migration, in bytes per second. */
  readonly bandwidth?: number | undefined;
  readonly template: Pick<NodeEvacuationSpec, "startIf" | "virtualMachines" | "forceShutdowns" | "otherPods">;
}

export interface Range {
  readonly least: number;
  readonly most: number;
}

export interface NodePlan {
  readonly node: string;
  readonly verdict: NodeVerdict;
  readonly summary: string;
  /** The reason why the node is not drained: its verdict does not satisfy `startIf`. All its VMs remain on the node. */
  readonly refusal?: string;
  readonly vms: number;
  readonly moves: number;
  readonly restarts: number;
  /** The number of guests that are shut down and do not start again on another node. */
  readonly shutdowns: number;
  /** The number of guests that are not shut down, because something else blocks the drain. */
  readonly waiting: number;
  /** Seconds since the start of the maintenance, as the 10th and the 90th percentile. */
  readonly starts: Range;
  readonly ends: Range;
  /**
   * True if the node is drained before the planned end in at least 90 % of the simulated runs. Absent if the plan has
   * no end.
   */
  readonly isInTime?: boolean;
  /**
   * The number of leaving VMs whose class is not known to migrate. `unproven`: no VM of the class has migrated
   * successfully. `failing`: the last migrations of the class failed.
   */
  readonly unproven: number;
  readonly failing: number;
  readonly shortage?: string;
  readonly roomAfter?: string;
  /** VMs, as `namespace/name`, that can leave only if kube-scheduler chooses certain nodes. */
  readonly unsure: readonly string[];
  /** Reasons not to power off the node after its drain. */
  readonly powerOff: readonly string[];
  readonly pods: readonly PodVerdict[];
  readonly unknown: readonly string[];
}
