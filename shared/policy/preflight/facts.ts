/** What a preflight decides on: a node that is to be drained, what runs there, and the room elsewhere. */
import type {
  BudgetFacts,
  EvacuationFacts,
  MigrationFacts,
  NamespacedName,
  NodeFacts,
  PodFacts,
  VmiFacts,
} from "../facts.ts";
import type { Labels, NodeSelectorTerm, Placement, PodTerm, Resources, SpreadConstraint } from "../kube/placement.ts";
import type { Moment } from "../time.ts";

export interface PreflightNode extends NodeFacts {
  readonly labels: Labels;
  /** `status.allocatable`, else `status.capacity`. */
  readonly allocatable: Resources;
}

/** A pod that is bound to a node, as far as it concerns whether others fit beside it. */
export interface NeighbourPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly phase: string;
  readonly deleting: boolean;
  readonly labels: Labels;
  /** Of the pod as the scheduler counts them: containers, init containers, sidecars, overhead. Without `pods`. */
  readonly requests: Resources;
  /** Required terms. */
  readonly antiAffinity: readonly PodTerm[];
}

/** A pod of the node itself. */
export interface PreflightPod extends PodFacts, NeighbourPod {
  readonly nodeName: string;
  /** As `requests`. */
  readonly limits?: Resources;
  readonly placement: Placement;
  /** Required terms. */
  readonly affinity: readonly PodTerm[];
  /** `DoNotSchedule`. */
  readonly spread: readonly SpreadConstraint[];
  /** Names of PersistentVolumeClaims. */
  readonly claims: readonly string[];
  /** Has an emptyDir. */
  readonly localStorage: boolean;
  /** Milliseconds since the epoch: when it was to be gone, its grace period included. Absent: nobody has deleted it. */
  readonly goneBy?: number;
  readonly finalizers: readonly string[];
  /** What it asks of its node besides, which preflight does not look at, in the words of its fields. */
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
  /** Those of `scopeSelector` included. */
  readonly scopes: readonly string[];
  /** Whether its controller has counted what it is about. The API server refuses until then. */
  readonly counted: boolean;
}

/** The flags of `kubectl drain` that let pods go which it leaves in place otherwise. */
export interface DrainFlags {
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
}

export interface PreflightFacts extends Moment {
  readonly node: PreflightNode;
  readonly pods: readonly PreflightPod[];
  /** Every other node, and the pods that are bound to those. */
  readonly otherNodes: readonly PreflightNode[];
  readonly otherPods: readonly NeighbourPod[];
  /** Those that not every node reaches. */
  readonly volumes: readonly Volume[];
  /** Of the launcher pods on the node; a VMI that is missing here is gone. */
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Every unfinished one of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
  /** VMIs that are handed over from other nodes: they take up KubeVirt's places. */
  readonly migratingElsewhere: readonly VmiFacts[];
  /** Of the pods' namespaces, those of others included. */
  readonly budgets: readonly BudgetFacts[];
  /** Of the whole cluster; none where no VM is on the node. */
  readonly quotas: readonly QuotaFacts[];
  readonly flags: DrainFlags;
  /** What could not be read, in words. */
  readonly unread: readonly string[];
}
