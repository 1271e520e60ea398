/**
 * From parsed objects to facts: only what policy reads is kept, so that ten thousand VMs fit into a Worker.
 * Owns: the projections. Does not own: the schemas (schemas.ts), rules.
 */
import type * as z from "zod/mini";
import type {
  BudgetFacts,
  DisruptionTarget,
  LauncherFacts,
  MigrationFacts,
  NodeFacts,
  PodFacts,
  VmiFacts,
} from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import { quantity } from "./quantity.ts";
import { recordOf } from "./record-schema.ts";
import type { Budget, ConfigMap, KubeVirt, Launcher, Meta, Migration, Node, Pod, Vmi } from "./schemas.ts";

type Parsed<S> = z.output<S>;

/** The same without the keys whose value is undefined. */
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function present<T extends object>(fields: T): Present<T> {
  const kept: Present<T> = { ...fields };
  for (const key in kept) if (kept[key] === undefined) delete kept[key];
  return kept;
}

function identityOf({ namespace, name, uid, resourceVersion, deletionTimestamp }: Parsed<typeof Meta>) {
  return { namespace, name, uid, resourceVersion, deleting: deletionTimestamp !== undefined };
}

export function podFacts({ metadata, spec, status }: Parsed<typeof Pod>): PodFacts {
  const { resourceVersion: _, ...identity } = identityOf(metadata);
  return {
    ...identity,
    phase: status.phase,
    ...present({ nodeName: spec.nodeName }),
    ready: status.conditions.some((c) => c.type === "Ready" && c.status === "True"),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    owners: metadata.ownerReferences,
    priority: spec.priority ?? 0,
    memoryRequest: spec.containers.reduce((sum, c) => sum + quantity(c.resources?.requests["memory"]), 0),
    tolerations: spec.tolerations.map((t) => ({
      ...present({ ...t, tolerationSeconds: t.tolerationSeconds ?? undefined }),
    })),
    ...present({ disruptionTarget: disruptionTargetOf(status.conditions) }),
  };
}

const DESCHEDULING = [
  names.REQUEST_EVICT_ONLY_ANNOTATION,
  names.EVICTION_IN_PROGRESS_ANNOTATION,
  names.EVACUATION_REQUESTED_ANNOTATION,
];

export function launcherFacts({ metadata, spec, status }: Parsed<typeof Launcher>): LauncherFacts {
  const { labels, annotations, creationTimestamp } = metadata;
  const kept = DESCHEDULING.flatMap((key) => (annotations?.[key] === undefined ? [] : [[key, annotations[key]]]));
  return {
    ...identityOf(metadata),
    vmiUID: labels?.[names.CREATED_BY_LABEL] ?? "",
    phase: status.phase,
    ...present({ nodeName: spec.nodeName }),
    createdAt: Date.parse(creationTimestamp ?? "") || 0,
    hasAnnotations: Boolean(annotations),
    annotations: Object.fromEntries(kept),
  };
}

function disruptionTargetOf(conditions: Parsed<typeof Pod>["status"]["conditions"]): DisruptionTarget | undefined {
  const condition = conditions.find((c) => c.type === "DisruptionTarget");
  if (condition === undefined) return undefined;
  const { status, reason, lastTransitionTime: since = "" } = condition;
  return { active: status === "True", since, ...present({ reason }) };
}

/** The guest runs on the target from post-copy on, or once its domain is ready there. */
function isGuestOnTarget({ migrationState }: Parsed<typeof Vmi>["status"]): boolean {
  if (!migrationState || migrationState.failed === true || migrationState.endTimestamp !== undefined) return false;
  return migrationState.mode === "PostCopy" || migrationState.targetNodeDomainReadyTimestamp !== undefined;
}

function failureOf({ migrationState }: Parsed<typeof Vmi>["status"]): VmiFacts["failure"] {
  const { migrationUid, failureReason } = migrationState ?? {};
  return migrationUid && failureReason ? { migrationUID: migrationUid, reason: failureReason } : undefined;
}

export function vmiFacts({ metadata, spec, status }: Parsed<typeof Vmi>): VmiFacts {
  const { labels, annotations } = metadata;
  const condition = status.conditions.find((c) => c.type === "LiveMigratable");
  const recordText = annotations?.[names.RECORD_ANNOTATION];
  return {
    ...identityOf(metadata),
    phase: status.phase,
    liveMigratable: {
      migratable: condition?.status === "True",
      ...present({ reason: condition?.reason, message: condition?.message }),
    },
    activePods: status.activePods,
    hasLabels: Boolean(labels),
    hasAnnotations: Boolean(annotations),
    guestOnTarget: isGuestOnTarget(status),
    guestMemory: quantity(spec.domain?.memory?.guest),
    ...present({
      evictionStrategy: spec.evictionStrategy,
      nodeName: status.nodeName,
      evacuationNodeName: status.evacuationNodeName,
      failure: failureOf(status),
      evictionSource: annotations?.[names.EVICTION_SOURCE_ANNOTATION],
      recordText,
      record: recordOf(recordText),
      evacuationLabel: labels?.[names.EVACUATION_LABEL],
    }),
  };
}

export function migrationFacts({ metadata, spec, status }: Parsed<typeof Migration>): MigrationFacts {
  const annotations = metadata.annotations ?? {};
  const attempt = Number(annotations[names.ATTEMPT_ANNOTATION]);
  const { sourceNode, failureReason } = status.migrationState ?? {};
  return {
    ...identityOf(metadata),
    vmiName: spec.vmiName,
    phase: status.phase,
    hasAnnotations: Boolean(metadata.annotations),
    ...present({
      evacuates: annotations[names.EVACUATION_MIGRATION_ANNOTATION],
      evacuationId: annotations[names.EVACUATION_ID_ANNOTATION],
      attempt: Number.isInteger(attempt) && attempt > 0 ? attempt : undefined,
      sourceNode,
      failureReason,
    }),
  };
}

/** Another product may use the same label: what we made also has a name that we give. */
function isManagedByUs({ name, labels }: Parsed<typeof Meta>): boolean {
  return labels?.[names.MANAGED_BY_LABEL] === names.MANAGED_BY && name.startsWith(names.NAME_PREFIX);
}

export function budgetFacts({ metadata, spec, status }: Parsed<typeof Budget>): BudgetFacts {
  return {
    ...identityOf(metadata),
    generation: metadata.generation,
    managedByUs: isManagedByUs(metadata),
    owners: metadata.ownerReferences,
    ...present({
      minAvailable: spec.minAvailable,
      grownFor: metadata.labels?.[names.GROWN_FOR_LABEL],
      selector: spec.selector ?? undefined,
      unhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy,
    }),
    status,
  };
}

const PRESSURES = new Set(["MemoryPressure", "DiskPressure", "PIDPressure"]);

export function nodeFacts({ metadata, spec, status }: Parsed<typeof Node>): NodeFacts {
  const conditions = status.conditions.filter((c) => c.status === "True").map((c) => c.type);
  return {
    name: metadata.name,
    ready: conditions.includes("Ready"),
    unschedulable: spec.unschedulable === true,
    taints: spec.taints.map((taint) => ({ ...present({ value: taint.value }), key: taint.key, effect: taint.effect })),
    pressures: conditions.filter((type) => PRESSURES.has(type)),
    allocatableMemory: quantity(status.allocatable["memory"]),
  };
}

/** What the KubeVirt CR says about evictions and migrations; its namespace is where KubeVirt's own accounts live. */
export interface KubeVirtFacts {
  readonly namespace: string;
  readonly evictionStrategy?: string;
  readonly featureGates: readonly string[];
  readonly drainTaintKey?: string;
  readonly parallelMigrationsPerCluster?: number;
  readonly parallelOutboundMigrationsPerNode?: number;
}

export function kubeVirtFacts({ metadata, spec }: Parsed<typeof KubeVirt>): KubeVirtFacts {
  const { evictionStrategy, developerConfiguration, migrations } = spec.configuration;
  const { nodeDrainTaintKey: drainTaintKey, ...limits } = migrations;
  const { featureGates } = developerConfiguration;
  return { namespace: metadata.namespace, featureGates, ...present({ evictionStrategy, drainTaintKey, ...limits }) };
}

export interface ConfigMapFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
}

export function configMapFacts({ metadata, data }: Parsed<typeof ConfigMap>): ConfigMapFacts {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion, data };
}
