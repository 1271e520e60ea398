/** The facts of a preflight (a node to drain, its pods, the room on other nodes), and its findings. */
import type { BudgetFacts, MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NodeSelectorTerm, Resources, PlacementTerms } from "../kube/scheduled-pod.ts";
import type { Moment } from "../settings/time.ts";
import type { PresentPods } from "./board.ts";
import type { FitNode, FitPod, Neighbour } from "./fit.ts";
import type { QuotaMarks } from "./quota-controllers.ts";

/** A pod that is bound to a node, with the fields that decide whether others fit beside it. */
export interface NeighbourPod extends Neighbour, Pick<FitPod, "requests"> {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** The pod's preferences for nodes. Absent: it has none. */
  readonly placementTerms?: PlacementTerms;
  /** UID of the ReplicaSet that controls it. */
  readonly replicaSet?: string;
}

/** A pod on the node that is to be drained. */
export interface PreflightPod extends Omit<PodFacts, "nodeName">, NeighbourPod, FitPod {
  /** The pod's limits, in the units of `requests`. */
  readonly limits?: Resources;
  /** Names of PersistentVolumeClaims. */
  readonly claims: readonly string[];
  /** Claims that Kubernetes creates and deletes with the pod. The pod's replacement gets new claims. */
  readonly ephemeralClaims?: readonly string[];
  /** Whether the pod has an emptyDir. */
  readonly localStorage: boolean;
  /**
   * When the pod's deletion should have ended, including the grace period, in milliseconds since the epoch. Absent: the
   * pod is not being deleted.
   */
  readonly goneBy?: number;
  readonly finalizers: readonly string[];
  /** Further requirements that a preflight does not judge, by the names of their fields. */
  readonly unchecked: readonly string[];
}

/** The bound claim of a PersistentVolume that only some nodes reach. */
export interface Volume {
  readonly namespace: string;
  readonly claim: string;
  /** A node that matches one of these terms reaches the volume. */
  readonly reachedFrom: readonly NodeSelectorTerm[];
}

export interface QuotaFacts extends NamespacedName {
  /** The limits, by the quota's own names (`pods`, `requests.memory`, …), in the units of requests. */
  readonly hard: Resources;
  readonly used: Resources;
  /** The quota's scopes, including those of `scopeSelector`. */
  readonly scopes: readonly string[];
  /** Labels, annotations and writers of the quota. */
  readonly marks: QuotaMarks;
  /** Whether the quota's controller has counted its usage. The API server refuses pods until then. */
  readonly counted: boolean;
}

/**
 * Flags of `kubectl drain` for pods that a drain otherwise leaves in place, and the number and order of VMs that are
 * asked to leave.
 */
export interface DrainFlags {
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
  /** How many VMs are asked to leave at a time. Absent: as many as KubeVirt allows. */
  readonly concurrency?: number;
  /** The order in which VMs are asked to leave. Absent: unknown; the largest VM is placed first. */
  readonly order?: "ByPriority" | "SmallestFirst" | "LargestFirst";
}

/** VMs that leave another node: their launcher pods and hotplug pods. */
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
  /** All other nodes. `otherPods`: the pods that are bound to other nodes. */
  readonly otherNodes: readonly FitNode[];
  readonly otherPods: readonly NeighbourPod[];
  /** Volumes that not every node reaches. */
  readonly volumes: readonly Volume[];
  /** VMIs of the launcher pods on the node. A VMI that is missing here is gone. */
  readonly vmis: readonly VmiFacts[];
  /** Every Evacuation that names one of these VMIs. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Every unfinished migration of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
  /** Some successful migrations, of any VMI of the cluster. */
  readonly finished: readonly MigrationFacts[];
  /** VMIs that other nodes are handing over: they count against KubeVirt's migration limits. */
  readonly migratingElsewhere: readonly VmiFacts[];
  /** Budgets of the pods' namespaces, including budgets of other parties. */
  readonly budgets: readonly BudgetFacts[];
  /** VMs that leave other nodes at the same time: they are placed first. */
  readonly leavingElsewhere: readonly Leaving[];
  /** Quotas of the whole cluster. None if the node has no VM. */
  readonly quotas: readonly QuotaFacts[];
  readonly flags: DrainFlags;
  /** Lists that could not be read, in words. */
  readonly unread: readonly string[];
  /** All pods on their nodes, with the room on each node. Absent: the room is computed from the lists. */
  readonly present?: PresentPods;
  /** Whether a pod or a VMI of the node cannot be parsed. `pods` and `vmis` may then lack a running guest. */
  readonly isPartlySeen?: boolean;
  /** How kube-scheduler scores nodes. Absent: by its default profile. */
  readonly scoring?: "MostAllocated" | undefined;
  /** Seed of kube-scheduler's random choices between nodes of the same score. Absent: no random choices. */
  readonly lots?: number | undefined;
}

/** The verdict on a node: the first of these that applies. */
export type NodeVerdict = "WillBlock" | "NoRoom" | "Unknown" | "WillSucceedWithShutdowns" | "WillSucceed";

/**
 * `Moves`: a live migration. `Follows`: a hotplug pod leaves with its VM. `Waits`: refused now, but not for ever.
 * `ShutsDown`: a guest is shut down. `Evicted`: an ordinary pod. `Stays`: a drain leaves the pod in place. `Ended`:
 * nothing runs in the pod. `Blocked`: refused until a person changes something.
 */
export type PodOutcome = "Moves" | "Follows" | "Waits" | "ShutsDown" | "Evicted" | "Stays" | "Ended" | "Blocked";

/** The room for a VM. */
export interface RoomFound {
  readonly fits: boolean;
  /** A node with room. The scheduler may choose another node. */
  readonly node?: string;
  /** How many other nodes have room for the VM, after the VMs before it are placed. */
  readonly nodes: number;
  /** Fields that the next pod may or may not have. A pod with these fields would not fit. */
  readonly unsure?: readonly string[];
  /** If there is no room: why the other nodes do not fit. */
  readonly message?: string;
}

export interface PodVerdict {
  readonly namespace: string;
  readonly name: string;
  readonly vmi?: string;
  readonly outcome: PodOutcome;
  readonly reason: string;
  readonly message: string;
  /** Who can change the outcome, and how. */
  readonly remedy?: string;
  /** The room for the next pod, if the preflight looks for room. */
  readonly room?: RoomFound;
}

export interface DrainTime {
  /** The number of VMs that move. */
  readonly moves: number;
  /** How many move at a time. */
  readonly atOnce: number;
  /** The duration in seconds, from the fastest to the slowest likely one. */
  readonly seconds: { readonly least: number; readonly most: number };
  /** The basis of the range, in words. */
  readonly basis: string;
}

export interface Preflight {
  readonly node: string;
  readonly verdict: NodeVerdict;
  /** A summary in one line. */
  readonly summary: string;
  readonly counts: Readonly<Partial<Record<PodOutcome, number>>>;
  readonly time?: DrainTime;
  readonly pods: readonly PodVerdict[];
  /** Facts that could not be read or are not checked: the verdict may be wrong about them. */
  readonly unknown: readonly string[];
}
