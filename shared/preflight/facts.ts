/**
 * The facts and the results of a preflight. A preflight predicts the drain of a node from its pods and the free
 * resources of other nodes.
 */
import type { BudgetFacts, MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NodeSelectorTerm, Resources, PlacementTerms } from "../kube/scheduled-pod.ts";
import type { Moment } from "../settings/time.ts";
import type { PresentPods } from "./board.ts";
import type { FitNode, FitPod, Neighbour } from "./fit.ts";
import type { QuotaMarks } from "./quota-controllers.ts";

/** A pod on a node, with the fields that decide whether other pods fit on the same node. */
export interface NeighbourPod extends Neighbour, Pick<FitPod, "requests"> {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  readonly placementTerms?: PlacementTerms;
  readonly replicaSet?: string;
}

export interface PreflightPod extends Omit<PodFacts, "nodeName">, NeighbourPod, FitPod {
  /** The pod's limits, in the same units as `requests`. */
  readonly limits?: Resources;
  readonly claims: readonly string[];
  /**
   * PersistentVolumeClaims that are created and deleted together with the pod. The replacement of the pod gets new
   * claims.
   */
  readonly ephemeralClaims?: readonly string[];
  /** True if the pod has an emptyDir volume. */
  readonly localStorage: boolean;
  /**
   * The time by which the deletion of the pod should be complete, including the grace period, in milliseconds since the
   * epoch. Absent if the pod is not being deleted.
   */
  readonly goneBy?: number;
  readonly finalizers: readonly string[];
  /** Names of fields with requirements that a preflight does not check. */
  readonly unchecked: readonly string[];
}

/** A claim that is bound to a PersistentVolume, if only some nodes can access the volume. */
export interface Volume {
  readonly namespace: string;
  readonly claim: string;
  /** A node can access the volume if it matches one of these terms. */
  readonly reachedFrom: readonly NodeSelectorTerm[];
}

export interface QuotaFacts extends NamespacedName {
  /**
   * The limits, keyed by the names in the quota (`pods`, `requests.memory`, …). The units are the same as in pod
   * requests.
   */
  readonly hard: Resources;
  readonly used: Resources;
  /** The quota's scopes, including the scopes in `scopeSelector`. */
  readonly scopes: readonly string[];
  readonly marks: QuotaMarks;
  /** True if the quota's status shows the current usage. Until then, the API server refuses new pods. */
  readonly counted: boolean;
}

/** Flags as in `kubectl drain`, and how many VMs leave at a time and in which order. */
export interface DrainFlags {
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
  /** The number of VMs that are asked to leave at the same time. Absent if only KubeVirt's limits apply. */
  readonly concurrency?: number;
  /** The order in which the VMs leave the node. If the order is absent, the forecast places the largest VM first. */
  readonly order?: "ByPriority" | "SmallestFirst" | "LargestFirst";
}

/** VMs that leave another node, with their launcher pods and hotplug pods. */
export interface Leaving {
  readonly node: FitNode;
  readonly pods: readonly PreflightPod[];
  readonly vmis: readonly VmiFacts[];
  /** Unfinished migrations of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
}

export interface PreflightFacts extends Moment {
  readonly node: FitNode;
  readonly pods: readonly PreflightPod[];
  /** All nodes except the node to drain. `otherPods` are the pods on these nodes. */
  readonly otherNodes: readonly FitNode[];
  readonly otherPods: readonly NeighbourPod[];
  readonly volumes: readonly Volume[];
  /** VMIs of the launcher pods on the node. If a VMI is missing in this list, it no longer exists. */
  readonly vmis: readonly VmiFacts[];
  /** All Evacuations of these VMIs. */
  readonly evacuations: readonly EvacuationFacts[];
  /** All unfinished migrations of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
  /** Some successful migrations of any VMIs of the cluster. */
  readonly finished: readonly MigrationFacts[];
  /** VMIs that are migrating away from other nodes. KubeVirt's migration limits include them. */
  readonly migratingElsewhere: readonly VmiFacts[];
  /** PodDisruptionBudgets in the namespaces of the pods, including those that Lifeboat did not create. */
  readonly budgets: readonly BudgetFacts[];
  /** VMs that leave other nodes at the same time. The forecast places them first. */
  readonly leavingElsewhere: readonly Leaving[];
  /** The quotas of all namespaces. Empty if the node has no VM. */
  readonly quotas: readonly QuotaFacts[];
  readonly flags: DrainFlags;
  readonly unread: readonly string[];
  /**
   * All pods on their nodes, with the free resources of each node. If absent, Lifeboat computes the free resources from
   * the lists.
   */
  readonly present?: PresentPods;
  /**
   * True if a pod or a VMI of the node cannot be parsed. If true, a running guest may be missing in `pods` and `vmis`.
   */
  readonly isPartlySeen?: boolean;
  /** True if an Evacuation from the node cannot be parsed. If true, it may be missing in `evacuations`. */
  readonly areEvacuationsPartlySeen?: boolean;
  /** How kube-scheduler scores nodes. Absent if kube-scheduler uses its default profile. */
  readonly scoring?: "MostAllocated" | undefined;
  /** The seed of the random choices between nodes with the same score. If absent, no choice is random. */
  readonly lots?: number | undefined;
}

/** The verdict on a node. A node gets the first verdict in this list that applies. */
export type NodeVerdict = "WillBlock" | "NoRoom" | "Unknown" | "WillSucceedWithShutdowns" | "WillSucceed";

/**
 * The outcome of a drain for a pod. `Moves`: the VM migrates. `Follows`: a hotplug pod leaves together with its VM.
 * `Waits`: the eviction is refused for now. `ShutsDown`: the guest is shut down. `Evicted`: an ordinary pod is evicted.
 * `Stays`: the drain leaves the pod on the node. `Ended`: nothing runs in the pod. `Blocked`: the eviction is refused
 * until a person changes something.
 */
export type PodOutcome = "Moves" | "Follows" | "Waits" | "ShutsDown" | "Evicted" | "Stays" | "Ended" | "Blocked";

/** The nodes on which a pod fits. */
export interface RoomFound {
  readonly fits: boolean;
  /** A node on which the pod fits. kube-scheduler might choose another node. */
  readonly node?: string;
  /**
   * The number of other nodes on which the pod fits. Pods that Lifeboat has placed earlier already use resources on
   * these nodes.
   */
  readonly nodes: number;
  /** Fields that are uncertain in the next pod. With some of their possible values, the pod would not fit. */
  readonly unsure?: readonly string[];
  /** The reason why the pod fits on no node. */
  readonly message?: string;
}

export interface PodVerdict {
  readonly namespace: string;
  readonly name: string;
  readonly vmi?: string;
  readonly outcome: PodOutcome;
  readonly reason: string;
  readonly message: string;
  /** Says who can change the outcome, and how. */
  readonly remedy?: string;
  /** The nodes that have room for the pod that replaces this pod. Absent if the preflight does not check which nodes have room. */
  readonly room?: RoomFound;
}

export interface DrainTime {
  readonly moves: number;
  readonly atOnce: number;
  /** The shortest and the longest likely duration. */
  readonly seconds: { readonly least: number; readonly most: number };
  readonly basis: string;
}

export interface Preflight {
  readonly node: string;
  readonly verdict: NodeVerdict;
  readonly summary: string;
  readonly counts: Readonly<Partial<Record<PodOutcome, number>>>;
  readonly time?: DrainTime;
  readonly pods: readonly PodVerdict[];
  /** Facts that could not be read or are not checked. The verdict may be wrong because of them. */
  readonly unknown: readonly string[];
}
