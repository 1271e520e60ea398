/** What changes objects that exist, on condition that they are as observed. An API server answers 409 or 422 if they are not. */
import type { ActionOf } from "../kube/action.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { EvacuationStatus } from "../kube/evacuation.ts";
import * as names from "../kube/names.ts";
import { secondsOf } from "./manifests.ts";

export interface Operation {
  readonly op: "test" | "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/** RFC 6901. */
export function pointer(...segments: readonly string[]): string {
  return segments.map((s) => `/${s.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** `null` tests that the key is missing: the API server's patch library takes it so. */
export function test(path: string, value: unknown): Operation {
  return { op: "test", path, value: value ?? null };
}

/**
 * Adds entries to a map that may not exist. One that does not is made under a test of the resourceVersion: else it
 * would wipe what a racing writer put there.
 */
function addTo(
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

const LABEL = pointer("metadata", "labels", names.EVACUATION_LABEL);
const SOURCE = pointer("metadata", "annotations", names.EVICTION_SOURCE_ANNOTATION);

/** The VMI is still the one that was observed, on the same node. */
function unmoved({ uid, nodeName }: VmiFacts): Operation[] {
  return [test("/metadata/uid", uid), test("/status/nodeName", nodeName)];
}

/** What the shipped MigrationPolicies select. */
export function label({ vmi, urgency }: ActionOf<"Label">): readonly Operation[] {
  const { hasLabels: exists, resourceVersion } = vmi;
  return [...unmoved(vmi), ...addTo("labels", { exists, resourceVersion }, { [names.EVACUATION_LABEL]: urgency })];
}

/** Takes label and annotation off, if there are any: with that, KubeVirt would let the migration of the next drain wait for others. */
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

/** Only what is added or taken away has to be as observed: KubeVirt writes others all the time. */
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

/** A budget of ours, whatever its size is. */
export function grow(now: Date): readonly Operation[] {
  return [
    test(pointer("metadata", "labels", names.MANAGED_BY_LABEL), names.MANAGED_BY),
    { op: "add", path: pointer("metadata", "labels", names.TOUCHED_LABEL), value: secondsOf(now) },
    { op: "add", path: "/spec/minAvailable", value: 2 },
  ];
}

/** On condition that the budget has not changed since: a function that has grown it meanwhile needs it so. */
export function resize({ budget, minAvailable }: ActionOf<"ResizeBudget">, now: Date): object {
  const { uid, resourceVersion } = budget;
  const touched = minAvailable === 2 ? { labels: { [names.TOUCHED_LABEL]: secondsOf(now) } } : {};
  return { metadata: { uid, resourceVersion, ...touched }, spec: { minAvailable } };
}

/** What a status may leave out: a merge patch takes it away by null. */
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
