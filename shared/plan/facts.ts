/** The facts behind a plan, and the content of a plan. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { BudgetFacts, MigrationFacts, VmiFacts } from "../kube/facts.ts";
import type { NodeEvacuationSpec, VirtualMachineFacts } from "../kube/node-evacuation.ts";
import type { ScheduledNode } from "../kube/scheduled-pod.ts";
import type { ClaimedVolume, VolumeAttachmentFacts } from "../kube/schemas/storage.ts";
import type { NodeVerdict, PodVerdict, PreflightPod, QuotaFacts, Volume } from "../preflight/facts.ts";
import type { Moment } from "../settings/time.ts";

export interface PlanFacts extends Moment {
  readonly nodes: readonly ScheduledNode[];
  /** Every pod that is bound to a node, including ended pods. */
  readonly pods: readonly PlanPod[];
  readonly vmis: readonly PlanVmi[];
  /** The VirtualMachines, by the keys of their VMIs. */
  readonly vms: ReadonlyMap<string, VirtualMachineFacts>;
  /** Migrations, including finished migrations. */
  readonly migrations: readonly PlanMigration[];
  readonly evacuations: readonly EvacuationFacts[];
  readonly budgets: readonly BudgetFacts[];
  readonly quotas: readonly QuotaFacts[];
  readonly volumes: readonly Volume[];
  /** Volumes that are attached to nodes. Absent: attachments or claims of volumes could not be read. */
  readonly attached?: AttachedVolumes;
  /** Names the lists that could not be read. */
  readonly unread: readonly string[];
  /** Names the lists that could not be read and that matter only after a drain: no verdict depends on them. */
  readonly unreadAfterwards: readonly string[];
}

export interface AttachedVolumes {
  readonly attachments: readonly VolumeAttachmentFacts[];
  readonly volumes: readonly ClaimedVolume[];
}

/** `image`: the image of the container `compute` in a launcher pod. */
export interface PlanPod extends PreflightPod {
  readonly image?: string;
  readonly createdAt: number;
}

export interface PlanVmi extends VmiFacts {
  /** The properties that VMs of one class share. */
  readonly kind: VmKind;
  /** The owner's annotation offers this VM for a first migration. */
  readonly isCanary?: true;
  /** KubeVirt has labelled the VMI as outdated: its launcher image is not KubeVirt's present image. */
  readonly isOutdated?: true;
  /** When KubeVirt created the VM's first pod. Milliseconds since the epoch. */
  readonly startedAt?: number;
  /** The VM's last migration within the cluster, if it has ended. */
  readonly lastFinished?: PlanMigration;
}

export interface PlanMigration extends MigrationFacts {
  readonly sourcePod?: string;
  /** Somebody has cancelled the migration. */
  readonly isCancelled?: true;
}

export interface VmKind {
  readonly machine: string;
  readonly architecture: string;
  readonly cpuModel: string;
  /** The kinds of the VM's disks, each once, for example `block/RWX`. */
  readonly storage: string;
}

export const ORDERS = ["given", "planned"] as const;

export interface PlanOptions {
  /** The nodes to drain, in this order if `order` is not `planned`. */
  readonly nodes: readonly string[];
  readonly order: (typeof ORDERS)[number];
  /** How many nodes are drained at a time. */
  readonly parallel: number;
  readonly at: Date;
  readonly until?: Date | undefined;
  /** The bandwidth of each migration, in bytes per second. */
  readonly bandwidth?: number | undefined;
  /** The way in which each node is drained, as in a NodeEvacuation. */
  readonly template: Pick<NodeEvacuationSpec, "startIf" | "virtualMachines" | "forceShutdowns" | "otherPods">;
}

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** The forecast for one node at its turn. */
export interface NodePlan {
  readonly node: string;
  readonly verdict: NodeVerdict;
  /** A summary in one line. */
  readonly summary: string;
  /** Why the node is not drained: its verdict does not satisfy `startIf`. Its VMs stay. */
  readonly refusal?: string;
  readonly vms: number;
  readonly moves: number;
  readonly restarts: number;
  /** Guests that end and do not start again elsewhere. */
  readonly shutdowns: number;
  /** Guests that do not end, because something else blocks the node. */
  readonly waiting: number;
  /** Seconds from the start of the maintenance, as the 10th and the 90th percentile. */
  readonly starts: Range;
  readonly ends: Range;
  /** Whether the node is drained before the plan's end, in nine of ten cases. Absent: the plan has no end. */
  readonly isInTime?: boolean;
  /**
   * Leaving VMs, by the evidence for their classes. `unproven`: no migration of the class has succeeded. `failing`: the
   * last migrations of the class failed.
   */
  readonly unproven: number;
  readonly failing: number;
  /** The resources that are missing for the node's VMs. */
  readonly shortage?: string;
  readonly roomAfter?: string;
  /** `namespace/name` of VMs that leave only if kube-scheduler makes certain choices. */
  readonly unsure: readonly string[];
  /** Reasons not to power off the node after its drain. */
  readonly powerOff: readonly string[];
  readonly pods: readonly PodVerdict[];
  readonly unknown: readonly string[];
}
