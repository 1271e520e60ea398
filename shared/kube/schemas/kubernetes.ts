/** Defines the schemas of Kubernetes' own kinds, with only the fields that rules read. */
import * as z from "zod/mini";
import type { BudgetFacts, DisruptionTarget, LauncherFacts, NodeFacts, PodFacts } from "../facts.ts";
import type { SeenEvent } from "../seen-event.ts";
import * as names from "../names.ts";
import { LARGE_FACTS } from "./bounds.ts";
import {
  Conditions,
  Count,
  createdAt,
  identityOf,
  kind,
  knownOf,
  listOf,
  Meta,
  part,
  PhaseText,
  PodMeta,
  present,
  Quantities,
  Selector,
  TextsOrNone,
  Text,
  Toleration,
} from "./fields.ts";

const POD_LABELS = [names.COMPONENT_LABEL, names.CREATED_BY_LABEL, names.MIGRATION_JOB_LABEL];
const POD_ANNOTATIONS = [names.DOMAIN_ANNOTATION];

export const Pod = kind(
  () => ({
    metadata: PodMeta,
    spec: z.object({
      nodeName: Text,
      priority: z.nullish(z.number()),
      tolerations: listOf(Toleration),
      schedulingGates: listOf(z.object({ name: z.string() })),
    }),
    status: part({ phase: PhaseText, conditions: Conditions }),
  }),
  ({ metadata, spec, status: { phase, conditions } }): PodFacts => {
    const { resourceVersion: _, ...identity } = identityOf(metadata);
    return present({
      ...identity,
      phase,
      nodeName: spec.nodeName,
      ready: conditions.some(({ type, status }) => type === "Ready" && status === "True"),
      labels: knownOf(metadata.labels, POD_LABELS),
      annotations: knownOf(metadata.annotations, POD_ANNOTATIONS),
      owners: metadata.ownerReferences,
      priority: spec.priority ?? 0,
      tolerations: spec.tolerations,
      disruptionTarget: disruptionTargetOf(conditions),
      unschedulable: unschedulableOf(conditions),
      gates: spec.schedulingGates.length === 0 ? undefined : spec.schedulingGates.map(({ name }) => name),
    });
  },
);

function unschedulableOf(conditions: Conditions): PodFacts["unschedulable"] {
  const condition = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (condition?.reason !== "Unschedulable") return undefined;
  const { message = condition.reason, lastTransitionTime: since = "" } = condition;
  return { message, since };
}

function disruptionTargetOf(conditions: Conditions): DisruptionTarget | undefined {
  const condition = conditions.find(({ type }) => type === "DisruptionTarget");
  if (condition === undefined) return undefined;
  const { status, reason, lastTransitionTime: since = "" } = condition;
  return present({ active: status === "True", since, reason });
}

const DESCHEDULING = [names.REQUEST_EVICT_ONLY_ANNOTATION, names.EVICTION_IN_PROGRESS_ANNOTATION];

export const Launcher = kind(
  () => ({ metadata: PodMeta, spec: z.object({ nodeName: Text }), status: part({ phase: PhaseText }) }),
  ({ metadata, spec: { nodeName }, status: { phase } }): LauncherFacts => {
    const { labels, annotations } = metadata;
    return present({
      ...identityOf(metadata),
      vmiUID: labels?.[names.CREATED_BY_LABEL] ?? "",
      phase,
      nodeName,
      createdAt: createdAt(metadata),
      hasAnnotations: Boolean(annotations),
      annotations: knownOf(annotations, DESCHEDULING),
    });
  },
);

export const NodeObject = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({
      unschedulable: z.nullish(z.boolean()),
      taints: listOf(z.object({ key: z.string(), value: Text, effect: z.string(), timeAdded: Text })),
    }),
    status: part({ conditions: Conditions, allocatable: Quantities, capacity: Quantities }),
  }),
);

const PRESSURES = new Set(["MemoryPressure", "DiskPressure", "PIDPressure"]);

export function nodeFacts({ metadata, spec, status }: z.output<typeof NodeObject>): NodeFacts {
  const conditions = status.conditions.filter((c) => c.status === "True").map((c) => c.type);
  return present({
    name: metadata.name,
    ready: conditions.includes("Ready"),
    unschedulable: spec.unschedulable === true,
    taints: spec.taints.map((taint) => present(taint)),
    pressures: conditions.filter((type) => PRESSURES.has(type)),
    endsAt: metadata.annotations?.[names.TERMINATION_ANNOTATION],
    cordonedBy: metadata.annotations?.[names.CORDONED_BY_ANNOTATION],
    virtHandler: virtHandlerOf(metadata),
  });
}

function virtHandlerOf({ labels, annotations }: z.output<typeof Meta>): NodeFacts["virtHandler"] {
  const saidAt = annotations?.[names.HEARTBEAT_ANNOTATION];
  return saidAt === undefined ? undefined : { saidAt, isSchedulable: labels?.[names.SCHEDULABLE_LABEL] === "true" };
}

export const Node = z.lazy(() => z.pipe(NodeObject, z.transform(nodeFacts)));

export const Budget = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      minAvailable: z.optional(z.union([z.number(), z.string()])),
      selector: z.nullish(Selector),
      unhealthyPodEvictionPolicy: Text,
    }),
    status: part({
      observedGeneration: z._default(z.number(), -1),
      disruptionsAllowed: Count,
      currentHealthy: Count,
      desiredHealthy: Count,
    }),
  }),
  ({ metadata, spec, status }): BudgetFacts =>
    present({
      ...identityOf(metadata),
      ...spec,
      generation: metadata.generation,
      managedByUs: isManagedByUs(metadata),
      owners: metadata.ownerReferences,
      selector: spec.selector ?? undefined,
      status,
    }),
);

/**
 * Returns whether Lifeboat created the object. The name is also checked, because another product can use the same
 * label.
 */
function isManagedByUs({ name, labels }: z.output<typeof Meta>): boolean {
  return labels?.[names.MANAGED_BY_LABEL] === names.MANAGED_BY && name.startsWith(names.NAME_PREFIX);
}

export const ConfigMap = kind(
  () => ({ metadata: Meta, data: TextsOrNone }),
  ({ metadata: { uid, resourceVersion }, data }) => ({ uid, resourceVersion, data }),
  // A ConfigMap with a descheduler policy can be large. Lifeboat reads only ConfigMaps of its own namespace, one at a
  // time.
  8 * LARGE_FACTS,
);
export type ConfigMapFacts = Readonly<z.output<typeof ConfigMap>>;

export const Version = z.lazy(() => z.object({ minor: z.string() }));

export const RepeatedEvent = kind(
  () => ({ message: Text, firstTimestamp: Text, lastTimestamp: Text }),
  ({ message = "", firstTimestamp = "", lastTimestamp = "" }) => {
    return { message, first: Date.parse(firstTimestamp), last: Date.parse(lastTimestamp) };
  },
);

export const SeenEventSchema = kind(
  () => ({
    involvedObject: z.object({ uid: z.string() }),
    reason: Text,
    message: Text,
    firstTimestamp: Text,
    lastTimestamp: Text,
    eventTime: Text,
    series: part({ lastObservedTime: Text }),
  }),
  ({ involvedObject, reason = "", message = "", series, ...times }): SeenEvent => {
    const time = series.lastObservedTime ?? times.lastTimestamp ?? times.eventTime ?? times.firstTimestamp ?? "";
    return { about: involvedObject.uid, reason, message, last: Date.parse(time) || 0 };
  },
);

const User = z.lazy(() =>
  z.object({
    username: z._default(z.string(), ""),
    uid: z.optional(z.string()),
    groups: z._default(z.array(z.string()), []),
    extra: z.optional(z.record(z.string(), z.array(z.string()))),
  }),
);
export type ReviewedUser = z.output<typeof User>;

export const TokenReview = kind(
  () => ({
    status: z.object({
      authenticated: z._default(z.boolean(), false),
      audiences: z._default(z.array(z.string()), []),
      user: z.optional(User),
    }),
  }),
  ({ status }) => status,
);

export const Access = kind(
  () => ({ status: z.object({ allowed: z.boolean() }) }),
  ({ status }) => status,
);
