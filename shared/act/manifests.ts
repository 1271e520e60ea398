/** Builds new objects and patches. Each JSON patch has a `test` operation for each value on which it depends. */
import * as names from "../kube/names.ts";
import type { ActionOf, KubernetesEvent, NewEvacuation } from "../kube/action.ts";
import { budgetName, MIN_AVAILABLE } from "../budget/budget.ts";
import { EVACUATION_BOUNDS, type EvacuationStatus, type MigrationCause } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { NodeEvacuationFacts, NodeEvacuationStatus } from "../kube/node-evacuation.ts";
import { hash8 } from "../kube/objects.ts";
import { wholeSeconds } from "../settings/time.ts";

export const MANAGED = { [names.MANAGED_BY_LABEL]: names.MANAGED_BY };

/** Makes a merge patch that depends only on the migration's UID, because KubeVirt changes migrations frequently. */
export function annotateMigration(action: ActionOf<"SkipBackoff" | "AnnotateMigration">) {
  const { uid } = action.migration;
  const annotations =
    action.verb === "SkipBackoff"
      ? { [names.SKIP_BACKOFF_ANNOTATION]: "" }
      : annotationsOf(action.cause, action.evacuation);
  return { metadata: { uid, annotations } };
}

function annotationsOf(cause: MigrationCause, evacuation: string) {
  return { [names.CAUSE_ANNOTATION]: cause, [names.EVACUATION_ANNOTATION]: evacuation };
}

/** Makes a migration. Omits `spec.priority` and KubeVirt's evacuation annotation: only virt-controller may set both. */
export function migration({ vmi, name, evacuation }: ActionOf<"CreateMigration">) {
  const annotations = annotationsOf(evacuation.spec.cause, evacuation.name);
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstanceMigration",
    metadata: { namespace: vmi.namespace, name, labels: MANAGED, annotations },
    spec: { vmiName: vmi.name },
  };
}

export function evacuation({ namespace, name, spec }: NewEvacuation) {
  const { vmiName, ...rest } = spec;
  return {
    apiVersion: "lifeboat.dev/v1alpha1",
    kind: "Evacuation",
    metadata: { namespace, name, labels: MANAGED },
    spec: { virtualMachineInstance: { name: vmiName }, ...rest, requestedBy: userOf(spec) },
  };
}

export function userOf({ requestedBy }: NewEvacuation["spec"]): string {
  return requestedBy.slice(0, EVACUATION_BOUNDS["spec.requestedBy"]);
}

/**
 * Makes a PodDisruptionBudget. The VMI is its owner but not its controller, because KubeVirt deletes budgets that a VMI
 * controls (VERSIONS.noBudgets).
 */
export function budget(vmi: VmiFacts) {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      namespace: vmi.namespace,
      name: budgetName(vmi),
      labels: MANAGED,
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid }],
    },
    spec: { minAvailable: MIN_AVAILABLE, selector: { matchLabels: { [names.CREATED_BY_LABEL]: vmi.uid } } },
  };
}

const API_VERSION = {
  VirtualMachineInstance: "kubevirt.io/v1",
  VirtualMachine: "kubevirt.io/v1",
  Pod: "v1",
  ConfigMap: "v1",
  ValidatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
  Node: "v1",
  NodeEvacuation: "lifeboat.dev/v1alpha1",
  RollingMaintenance: "lifeboat.dev/v1alpha1",
} as const;
/** Events about a cluster-scoped object must have this namespace. */
const NAMESPACE_OF_NONE = "default";
/** An Event's name begins with at most this many characters of the name of the object. */
const LONGEST_EVENT_PREFIX = 253 - 9;

/** Makes an Event. The name contains a hash of object, reason and occasion, so each Event exists only once. */
export function event({ about, type, reason, message, occasion }: KubernetesEvent, now: Date) {
  const [time, { kind, namespace, name, uid }] = [wholeSeconds(now), about];
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      namespace: namespace || NAMESPACE_OF_NONE,
      name: `${name.slice(0, LONGEST_EVENT_PREFIX)}.${hash8(`${uid}/${reason}/${occasion}`)}`,
      labels: MANAGED,
    },
    involvedObject: { apiVersion: API_VERSION[kind], kind, ...(namespace && { namespace }), name, uid },
    type,
    reason,
    message: message.slice(0, 1024),
    source: { component: "lifeboat" },
    reportingComponent: "lifeboat.dev/lifeboat",
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

export interface Operation {
  readonly op: "test" | "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

export function pointer(...segments: readonly string[]): string {
  return segments.map((s) => `/${s.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Makes a test operation for a patch. The value `null` tests that the key is missing. */
export function test(path: string, value: unknown): Operation {
  return { op: "test", path, value: value ?? null };
}

/** Adds entries to a map. If the map is missing, tests the resourceVersion, because another party could add the map. */
export function addTo(
  map: "annotations" | "labels",
  { exists, resourceVersion }: { readonly exists: boolean; readonly resourceVersion: string },
  entries: Readonly<Record<string, string>>,
): Operation[] {
  if (!exists) {
    const unchanged = test("/metadata/resourceVersion", resourceVersion);
    return [unchanged, { op: "add", path: pointer("metadata", map), value: entries }];
  }
  return Object.entries(entries).map(([key, value]) => ({ op: "add", path: pointer("metadata", map, key), value }));
}

const MANAGED_BY = pointer("metadata", "labels", names.MANAGED_BY_LABEL);

/** Repairs a PodDisruptionBudget in one request, so that the VM is always protected. */
export function repair({ budget: { uid }, vmi }: ActionOf<"RepairBudget">): readonly Operation[] {
  const { metadata, spec } = budget(vmi);
  return [
    test("/metadata/uid", uid),
    test(MANAGED_BY, names.MANAGED_BY),
    { op: "add", path: "/metadata/ownerReferences", value: metadata.ownerReferences },
    { op: "add", path: "/spec", value: spec },
  ];
}

const LABEL = pointer("metadata", "labels", names.EVACUATION_LABEL);
const SOURCE = pointer("metadata", "annotations", names.EVICTION_SOURCE_ANNOTATION);

function unmoved({ uid, nodeName }: VmiFacts): Operation[] {
  return [test("/metadata/uid", uid), test("/status/nodeName", nodeName)];
}

export function label({ vmi, urgency }: ActionOf<"Label">): readonly Operation[] {
  const { hasLabels: exists, resourceVersion } = vmi;
  return [...unmoved(vmi), ...addTo("labels", { exists, resourceVersion }, { [names.EVACUATION_LABEL]: urgency })];
}

/** Removes Lifeboat's label and KubeVirt's annotation. The annotation would delay the migration in the next drain. */
export function unlabel(vmi: VmiFacts): readonly Operation[] {
  const { evacuationLabel, evacuationNodeName, evictionSource } = vmi;
  if (evacuationLabel === undefined && evictionSource === undefined) return [];
  return [
    ...unmoved(vmi),
    test("/status/evacuationNodeName", evacuationNodeName),
    ...(evacuationLabel === undefined ? [] : [test(LABEL, evacuationLabel), { op: "remove", path: LABEL } as const]),
    ...(evictionSource === undefined ? [] : [test(SOURCE, evictionSource), { op: "remove", path: SOURCE } as const]),
  ];
}

const SHIELD = pointer("metadata", "labels", names.SHIELD_LABEL);

export function shield({ vmi, value }: ActionOf<"Shield">): readonly Operation[] {
  const { shield: seen, hasLabels: exists, resourceVersion } = vmi;
  return [
    ...unmoved(vmi),
    ...(exists ? [test(SHIELD, seen)] : []),
    ...(value === undefined
      ? [{ op: "remove", path: SHIELD } as const]
      : addTo("labels", { exists, resourceVersion }, { [names.SHIELD_LABEL]: value })),
  ];
}

function annotationPath(key: string): string {
  return pointer("metadata", "annotations", key);
}

/**
 * Makes a patch that tests only the UID and the annotations that it changes. KubeVirt often changes other annotations.
 */
export function annotate({ pod, add, remove }: ActionOf<"AnnotatePod">): readonly Operation[] {
  const { uid, hasAnnotations: exists, resourceVersion, annotations } = pod;
  const touched = [...Object.keys(add), ...remove];
  return [
    test("/metadata/uid", uid),
    ...(exists ? touched.map((key) => test(annotationPath(key), annotations[key])) : []),
    ...(Object.keys(add).length === 0 ? [] : addTo("annotations", { exists, resourceVersion }, add)),
    ...remove.map((key) => ({ op: "remove", path: annotationPath(key) }) as const),
  ];
}

const OPTIONAL_FIELDS = [
  "migration",
  "lastFailedMigration",
  "targetNode",
  "nextAttemptTime",
  "completionTime",
] as const satisfies readonly (keyof EvacuationStatus)[];

export function status({ evacuation: { resourceVersion }, status }: ActionOf<"WriteStatus">): object {
  const optional = Object.fromEntries(OPTIONAL_FIELDS.map((field) => [field, status[field] ?? null]));
  return { metadata: { resourceVersion }, status: { ...status, ...optional } };
}

export function conditions({
  resourceVersion,
  generation: observedGeneration,
  conditions,
}: ActionOf<"WriteConditions">) {
  return { metadata: { resourceVersion }, status: { observedGeneration, conditions } };
}

const OPTIONAL_OF_NODES = ["verdict", "startTime", "estimatedCompletionTime", "completionTime"] as const;

export function nodeStatus({ resourceVersion }: NodeEvacuationFacts, status: NodeEvacuationStatus): object {
  const optional = Object.fromEntries(OPTIONAL_OF_NODES.map((field) => [field, status[field] ?? null]));
  return { metadata: { resourceVersion }, status: { ...status, ...optional } };
}

/** Makes a NodeEvacuation. Kubernetes deletes it together with its owner, the RollingMaintenance. */
export function nodeEvacuation({ rm, node, name, notAfter }: ActionOf<"CreateNodeEvacuation">) {
  const { returnVMs, ...how } = rm.spec.template;
  const apiVersion = "lifeboat.dev/v1alpha1";
  const owner = { apiVersion, kind: "RollingMaintenance", name: rm.name, uid: rm.uid, controller: true };
  return {
    apiVersion,
    kind: "NodeEvacuation",
    metadata: { name, labels: MANAGED, ownerReferences: [owner] },
    spec: { nodeName: node, schedule: { notAfter }, ...how, afterwards: { returnVMs } },
  };
}

const OPTIONAL_OF_ROLLING = ["forecast", "startTime", "estimatedCompletionTime", "completionTime"] as const;

export function rollingStatus({ rm, status }: ActionOf<"WriteRollingStatus">): object {
  const optional = Object.fromEntries(OPTIONAL_OF_ROLLING.map((field) => [field, status[field] ?? null]));
  return { metadata: { resourceVersion: rm.resourceVersion }, status: { ...status, ...optional } };
}
