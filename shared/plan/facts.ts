/** The facts that a plan is made from, and the content of a plan. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { BudgetFacts, MigrationFacts, VmiFacts } from "../kube/facts.ts";
import type { NodeEvacuationSpec, VirtualMachineFacts } from "../kube/node-evacuation.ts";
import type { ScheduledNode } from "../kube/scheduled-pod.ts";
import type { NodeVerdict, PodVerdict, PreflightPod, QuotaFacts, Volume } from "../preflight/facts.ts";
import type { Moment } from "../settings/time.ts";

export interface PlanFacts extends Moment {
  readonly nodes: readonly ScheduledNode[];
  /** Every pod that is bound to a node, ended ones included. */
  readonly pods: readonly PlanPod[];
  readonly vmis: readonly PlanVmi[];
  /** By the keys of their VMs. */
  readonly vms: ReadonlyMap<string, VirtualMachineFacts>;
  /** Finished ones included. */
  readonly migrations: readonly PlanMigration[];
  readonly evacuations: readonly EvacuationFacts[];
  readonly budgets: readonly BudgetFacts[];
  readonly quotas: readonly QuotaFacts[];
  readonly volumes: readonly Volume[];
  /** In words: what could not be read. */
  readonly unread: readonly string[];
}

/** `image`: of a launcher pod's compute container. */
export interface PlanPod extends PreflightPod {
  readonly image?: string;
  readonly createdAt: number;
}

export interface PlanVmi extends VmiFacts {
  /** Properties by which a migration of one VM says something about another VM. */
  readonly kind: VmKind;
  /** Annotated: its owner lends it for a first migration. */
  readonly isCanary?: true;
}

export interface PlanMigration extends MigrationFacts {
  readonly sourcePod?: string;
}

export interface VmKind {
  readonly machine: string;
  readonly architecture: string;
  readonly cpuModel: string;
  /** For example `block/RWX`, of each kind of disk once. */
  readonly storage: string;
}

export const ORDERS = ["given", "planned"] as const;

export interface PlanOptions {
  /** In the order in which they are maintained, if that is given. */
  readonly nodes: readonly string[];
  readonly order: (typeof ORDERS)[number];
  /** How many nodes are drained at a time. */
  readonly parallel: number;
  readonly at: Date;
  readonly until?: Date | undefined;
  /** Bytes per second, of each migration. */
  readonly bandwidth?: number | undefined;
  /** The way in which each node is drained, as in a NodeEvacuation. */
  readonly template: Pick<NodeEvacuationSpec, "virtualMachines" | "forceShutdowns" | "otherPods">;
}

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** The forecast for one node when its turn has come. */
export interface NodePlan {
  readonly node: string;
  readonly verdict: NodeVerdict;
  /** One line. */
  readonly summary: string;
  readonly vms: number;
  readonly moves: number;
  readonly restarts: number;
  /** Guests that end and do not start again elsewhere. */
  readonly shutdowns: number;
  /** Seconds from the start of the maintenance, from 10 % to 90 %. A node with its own start time starts no earlier. */
  readonly starts: Range;
  readonly ends: Range;
  /** Whether the node is empty in time, nine times of ten. Absent: no end was asked for. */
  readonly isInTime?: boolean;
  /** VMs that leave, of a class that no migration has proven, or whose last migrations have failed. */
  readonly unproven: number;
  readonly failing: number;
  /** The needs of its VMs that find no room. */
  readonly shortage?: string;
  /** A node after which it would have room. */
  readonly roomAfter?: string;
  /** Reasons not to power off the node after its drain. */
  readonly powerOff: readonly string[];
  readonly pods: readonly PodVerdict[];
  readonly unknown: readonly string[];
}
