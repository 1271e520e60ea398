/**
 * From parsed objects to facts: only what policy reads is kept, so that ten thousand VMs fit into a Worker.
 * Owns: the projections. Does not own: the schemas (schemas.ts), rules.
 */
import type * as z from "zod/mini";
import type { BudgetFacts, DisruptionTarget, LauncherFacts, NodeFacts, PodFacts, VmiFacts } from "../policy/facts.ts";
import type { ConfigurationObserved } from "../policy/configuration-status.ts";
import type { WebhookFacts } from "../policy/budget/budget-mode.ts";
import * as names from "../policy/names.ts";
import { quantity } from "./quantity.ts";
import type {
  Budget,
  ConfigMap,
  KubeVirt,
  Launcher,
  LifeboatConfiguration,
  Meta,
  Node,
  Pod,
  Vmi,
  WebhookConfiguration,
} from "./schemas.ts";

export type Parsed<S> = z.output<S>;

/** The same without the keys whose value is undefined. */
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

export function present<T extends object>(fields: T): Present<T> {
  const kept: Present<T> = { ...fields };
  for (const key in kept) if (kept[key] === undefined) delete kept[key];
  return kept;
}

export function identityOf({ namespace, name, uid, resourceVersion, deletionTimestamp }: Parsed<typeof Meta>) {
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
    ...present({
      disruptionTarget: disruptionTargetOf(status.conditions),
      unschedulable: unschedulableOf(status.conditions),
    }),
  };
}

function unschedulableOf(conditions: Parsed<typeof Pod>["status"]["conditions"]): string | undefined {
  const condition = conditions.find((c) => c.type === "PodScheduled" && c.status === "False");
  return condition?.reason === "Unschedulable" ? (condition.message ?? condition.reason) : undefined;
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
  return {
    ...identityOf(metadata),
    phase: status.phase,
    liveMigratable: {
      migratable: condition?.status === "True",
      ...present({ reason: condition?.reason, message: condition?.message }),
    },
    activePods: status.activePods,
    hasLabels: Boolean(labels),
    isMigrating: isMigrating(status),
    guestOnTarget: isGuestOnTarget(status),
    guestMemory: quantity(spec.domain?.memory?.guest),
    ...present({
      evictionStrategy: spec.evictionStrategy,
      nodeName: status.nodeName,
      evacuationNodeName: status.evacuationNodeName,
      failure: failureOf(status),
      evictionSource: annotations?.[names.EVICTION_SOURCE_ANNOTATION],
      evacuationLabel: labels?.[names.EVACUATION_LABEL],
    }),
  };
}

function isMigrating({ migrationState }: Parsed<typeof Vmi>["status"]): boolean {
  if (!migrationState) return false;
  const { endTimestamp, completed, failed } = migrationState;
  return endTimestamp === undefined && completed !== true && failed !== true;
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
      touchedAt: touchedAt(metadata.labels?.[names.TOUCHED_LABEL]),
      selector: spec.selector ?? undefined,
      unhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy,
    }),
    status,
  };
}

function touchedAt(seconds: string | undefined): number | undefined {
  return seconds !== undefined && /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
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

/** Of its minor version: v1.9.0 is 9; undefined if it does not say, as a build from a branch. */
export function kubeVirtMinor({ status }: Parsed<typeof KubeVirt>): number | undefined {
  const [, minor] = /^v?1\.(\d+)\./.exec(status.observedKubeVirtVersion ?? "") ?? [];
  return minor === undefined ? undefined : Number(minor);
}

export function kubeVirtFacts({ metadata, spec }: Parsed<typeof KubeVirt>): KubeVirtFacts {
  const { evictionStrategy, developerConfiguration, migrations } = spec.configuration;
  const { nodeDrainTaintKey: drainTaintKey, ...limits } = migrations;
  const { featureGates } = developerConfiguration;
  return { namespace: metadata.namespace, featureGates, ...present({ evictionStrategy, drainTaintKey, ...limits }) };
}

export interface ConfigurationFacts extends ConfigurationObserved {
  /** As it is there, to be parsed: what is wrong with it is reported. */
  readonly spec: unknown;
}

export function configurationFacts({
  metadata,
  spec = {},
  status,
}: Parsed<typeof LifeboatConfiguration>): ConfigurationFacts {
  const { resourceVersion, generation } = metadata;
  return { resourceVersion, generation, spec, conditions: status.conditions };
}

export function webhookFacts({ webhooks }: Parsed<typeof WebhookConfiguration>): readonly WebhookFacts[] {
  return webhooks.map(({ failurePolicy, rules, matchConditions, namespaceSelector, objectSelector }) => ({
    failurePolicy,
    rules,
    matchConditions: matchConditions.map(({ expression }) => expression),
    isSelective: [namespaceSelector, objectSelector].some((one) => {
      return one ? Object.keys(one.matchLabels).length + one.matchExpressions.length > 0 : false;
    }),
  }));
}

export interface ConfigMapFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
}

export function configMapFacts({ metadata, data }: Parsed<typeof ConfigMap>): ConfigMapFacts {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion, data };
}
