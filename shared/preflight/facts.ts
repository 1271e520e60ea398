/** The facts of a preflight (a node that is to be drained, its pods, the room elsewhere), and its findings. */
import type { BudgetFacts, MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NodeSelectorTerm, Resources, Wishes } from "../kube/scheduled-pod.ts";
import type { Moment } from "../settings/time.ts";
import type { FitNode, FitPod, Neighbour } from "./fit.ts";
import type { QuotaMarks } from "./quota-controllers.ts";

/** A pod that is bound to a node, as far as it concerns whether others fit beside it. */
export interface NeighbourPod extends Neighbour, Pick<FitPod, "requests"> {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** Absent: it has none. */
  readonly wishes?: Wishes;
  /** UID of the ReplicaSet that controls it. */
  readonly replicaSet?: string;
}

/** A pod of the node itself. */
export interface PreflightPod extends Omit<PodFacts, "nodeName">, NeighbourPod, FitPod {
  /** As `requests`. */
  readonly limits?: Resources;
  /** Names of PersistentVolumeClaims. */
  readonly claims: readonly string[];
  /** Has an emptyDir. */
  readonly localStorage: boolean;
  /** Paths of the node's own files. Absent: none. */
  readonly hostFiles?: readonly string[];
  /** Milliseconds since the epoch: when it was to be gone, its grace period included. Absent: it is not deleted. */
  readonly goneBy?: number;
  readonly finalizers: readonly string[];
  /** Further requirements that a preflight does not judge, by the names of their fields. */
  readonly unchecked: readonly string[];
}

/** A PersistentVolume that only some nodes reach, by the claim that is bound to it. */
export interface Volume {
  readonly namespace: string;
  readonly claim: string;
  /** ORed. */
  readonly reachedFrom: readonly NodeSelectorTerm[];
}

/** A ResourceQuota. */
export interface QuotaFacts extends NamespacedName {
  /** By its own names (`pods`, `requests.memory`, …), in the units of requests. */
  readonly hard: Resources;
  readonly used: Resources;
  /** The scopes, with the ones of `scopeSelector`. */
  readonly scopes: readonly string[];
  /** Its labels, annotations and writers. */
  readonly marks: QuotaMarks;
  /** Whether its controller has counted what it is about. The API server refuses until then. */
  readonly counted: boolean;
}

/** The flags of `kubectl drain` that let pods go which it leaves in place otherwise; and how many VMs are asked to leave at a time. */
export interface DrainFlags {
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
  /** Absent: as many as KubeVirt lets leave. */
  readonly concurrency?: number;
  /** In which order they are asked to leave. Absent: nobody knows, and the largest is placed first. */
  readonly order?: "ByPriority" | "SmallestFirst" | "LargestFirst";
}

/** VMs that leave another node: their launcher pods, and the hotplug pods that go with them. */
export interface Leaving {
  readonly node: FitNode;
  readonly pods: readonly PreflightPod[];
  readonly vmis: readonly VmiFacts[];
  /** Unfinished ones of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
}

export interface PreflightFacts extends Moment {
  readonly node: FitNode;
  readonly pods: readonly PreflightPod[];
  /** Every other node, and the pods that are bound to those. */
  readonly otherNodes: readonly FitNode[];
  readonly otherPods: readonly NeighbourPod[];
  /** Volumes that not every node reaches. */
  readonly volumes: readonly Volume[];
  /** VMIs of the launcher pods on the node. A VMI that is missing here is gone. */
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Every unfinished one of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
  /** Some that have succeeded, of any VMI of the cluster. */
  readonly finished: readonly MigrationFacts[];
  /** VMIs that are handed over from other nodes: they take up KubeVirt's places. */
  readonly migratingElsewhere: readonly VmiFacts[];
  /** Budgets of the pods' namespaces, including budgets of other parties. */
  readonly budgets: readonly BudgetFacts[];
  /** VMs that leave other nodes at the same time: they are placed first. */
  readonly leavingElsewhere: readonly Leaving[];
  /** Quotas of the whole cluster; none if no VM is on the node. */
  readonly quotas: readonly QuotaFacts[];
  readonly flags: DrainFlags;
  /** Lists that could not be read, in words. */
  readonly unread: readonly string[];
  /** How kube-scheduler prefers nodes, if not as its default profile does. */
  readonly scoring?: "MostAllocated";
}

/** The first that applies, from the top. */
export type NodeVerdict = "WillBlock" | "NoRoom" | "Unknown" | "WillSucceedWithShutdowns" | "WillSucceed";

/**
 * `Moves`: a live migration. `Follows`: a hotplug pod goes with its VM. `Waits`: refused now, by itself not for ever. `ShutsDown`: a
 * guest ends. `Evicted`: an ordinary pod. `Stays`: a drain leaves it in place. `Ended`: nothing runs in it. `Blocked`: refused until
 * a person changes something.
 */
export type PodOutcome = "Moves" | "Follows" | "Waits" | "ShutsDown" | "Evicted" | "Stays" | "Ended" | "Blocked";

/** The room for a VM. */
export interface RoomFound {
  readonly fits: boolean;
  /** One that has room; the scheduler may choose another. */
  readonly node?: string;
  /** How many of the other nodes have room for it, with the VMs before it placed. */
  readonly nodes: number;
  /** Fields that the next pod may have, with which the VM would not fit. */
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
  /** Who can change it, and how. */
  readonly remedy?: string;
  /** For VMs that are to move, and for pods whose budget waits for a replacement without a node. */
  readonly room?: RoomFound;
}

export interface DrainTime {
  /** VMs that move. */
  readonly moves: number;
  /** How many move at a time. */
  readonly atOnce: number;
  /** From the fastest to the slowest that is likely. */
  readonly seconds: { readonly least: number; readonly most: number };
  /** The basis of the range, in words. */
  readonly basis: string;
}

export interface Preflight {
  readonly node: string;
  readonly verdict: NodeVerdict;
  /** One line. */
  readonly summary: string;
  readonly counts: Readonly<Partial<Record<PodOutcome, number>>>;
  readonly time?: DrainTime;
  readonly pods: readonly PodVerdict[];
  /** Facts that could not be read, or are not checked: the verdict may be wrong about them. */
  readonly unknown: readonly string[];
}
