/**
 * JSON patches, each with tests of what was observed.
 * Owns: building them. Does not own: sending them (act.ts). A failed test is answered 422 and means: look again.
 */
import type { Found } from "../policy/descheduling/register.ts";
import type { AnnotatedPod, BudgetFacts, MigrationFacts, VmiFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";

export interface Operation {
  readonly op: "test" | "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/** RFC 6901. */
function pointer(...segments: readonly string[]): string {
  return segments.map((s) => `/${s.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function annotationPath(key: string): string {
  return pointer("metadata", "annotations", key);
}

/** `null` tests that the key is missing: the API server's patch library takes it so. */
function test(path: string, value: unknown): Operation {
  return { op: "test", path, value: value ?? null };
}

function remove(path: string): Operation {
  return { op: "remove", path };
}

interface MapObserved {
  readonly map: "annotations" | "labels";
  readonly exists: boolean;
  readonly resourceVersion: string;
}

/**
 * Adds entries to a map that may not exist. One that does not is made under a test of the resourceVersion: else it
 * would wipe what a racing writer put there.
 */
function addTo({ map, exists, resourceVersion }: MapObserved, entries: Readonly<Record<string, string>>): Operation[] {
  if (!exists) {
    const unchanged = test("/metadata/resourceVersion", resourceVersion);
    return [unchanged, { op: "add", path: pointer("metadata", map), value: entries }];
  }
  return Object.entries(entries).map(([key, value]) => ({ op: "add", path: pointer("metadata", map, key), value }));
}

/** The VMI is still the one that was observed, on the same node, with the same mark. */
function unmoved(vmi: VmiFacts): Operation[] {
  return [
    test("/metadata/uid", vmi.uid),
    test("/status/nodeName", vmi.nodeName),
    test("/status/evacuationNodeName", vmi.evacuationNodeName),
  ];
}

function recordAndLabel(vmi: VmiFacts, record: string, label: string): Operation[] {
  const { resourceVersion } = vmi;
  const annotation = annotationPath(names.RECORD_ANNOTATION);
  return [
    ...(vmi.hasAnnotations ? [test(annotation, vmi.recordText)] : []),
    ...addTo(
      { map: "annotations", exists: vmi.hasAnnotations, resourceVersion },
      { [names.RECORD_ANNOTATION]: record },
    ),
    ...addTo({ map: "labels", exists: vmi.hasLabels, resourceVersion }, { [names.EVACUATION_LABEL]: label }),
  ];
}

export function markPatch(vmi: VmiFacts, record: string, label: string): readonly Operation[] {
  const mark: Operation = { op: "add", path: "/status/evacuationNodeName", value: vmi.nodeName };
  return [...unmoved(vmi), ...recordAndLabel(vmi, record, label), mark];
}

export function recordPatch(vmi: VmiFacts, record: string, label: string): readonly Operation[] {
  return [...unmoved(vmi), ...recordAndLabel(vmi, record, label)];
}

/**
 * Clears the mark (if `mark`); the record is replaced by the given one, or removed. The label goes with `label: false`, else
 * it is there: with it whoever tidies up finds what has ended.
 */
export function clearPatch(
  vmi: VmiFacts,
  { record, label, mark = true }: { record: string | undefined; label: boolean; mark?: boolean },
): readonly Operation[] {
  const annotation = annotationPath(names.RECORD_ANNOTATION);
  const { resourceVersion, recordText } = vmi;
  const annotations = { map: "annotations", exists: vmi.hasAnnotations, resourceVersion } as const;
  return [
    ...unmoved(vmi),
    ...(vmi.hasAnnotations ? [test(annotation, recordText)] : []),
    ...(recordText !== undefined && record === undefined ? [remove(annotation)] : []),
    ...(record === undefined ? [] : addTo(annotations, { [names.RECORD_ANNOTATION]: record })),
    ...(label ? keepLabel(vmi) : removeLabel(vmi)),
    ...(vmi.evacuationNodeName === undefined || !mark ? [] : [remove("/status/evacuationNodeName")]),
  ];
}

function keepLabel({ evacuationLabel, hasLabels: exists, resourceVersion }: VmiFacts): readonly Operation[] {
  if (evacuationLabel !== undefined) return [];
  return addTo({ map: "labels", exists, resourceVersion }, { [names.EVACUATION_LABEL]: "normal" });
}

function removeLabel({ evacuationLabel }: VmiFacts): readonly Operation[] {
  const path = pointer("metadata", "labels", names.EVACUATION_LABEL);
  return evacuationLabel === undefined ? [] : [test(path, evacuationLabel), remove(path)];
}

export function adoptPatch(
  migration: MigrationFacts,
  annotations: Readonly<Record<string, string>>,
): readonly Operation[] {
  const { uid, hasAnnotations: exists, resourceVersion, evacuationId } = migration;
  const id = annotationPath(names.EVACUATION_ID_ANNOTATION);
  return [
    test("/metadata/uid", uid),
    ...(exists ? [test(id, evacuationId)] : []),
    ...addTo({ map: "annotations", exists, resourceVersion }, annotations),
  ];
}

/** Only what is added or taken away has to be as observed: KubeVirt writes others all the time. */
export function annotatePatch(
  pod: AnnotatedPod,
  add: Readonly<Record<string, string>>,
  gone: readonly string[],
): readonly Operation[] {
  const { uid, hasAnnotations: exists, resourceVersion, annotations } = pod;
  const touched = [...Object.keys(add), ...gone];
  return [
    test("/metadata/uid", uid),
    ...(exists ? touched.map((key) => test(annotationPath(key), annotations[key])) : []),
    ...(Object.keys(add).length === 0 ? [] : addTo({ map: "annotations", exists, resourceVersion }, add)),
    ...gone.map((key) => remove(annotationPath(key))),
  ];
}

const GROWN_FOR = pointer("metadata", "labels", names.GROWN_FOR_LABEL);
const SIZE = "/spec/minAvailable";

/** Of ours, whatever its size is. The label changes every time: who has not seen this growth does not shrink it. */
export function growPatch(grownFor: string): readonly Operation[] {
  return [
    test(pointer("metadata", "labels", names.MANAGED_BY_LABEL), names.MANAGED_BY),
    { op: "add", path: GROWN_FOR, value: grownFor },
    { op: "add", path: SIZE, value: 2 },
  ];
}

export function resizePatch(
  { uid, minAvailable, grownFor }: Pick<BudgetFacts, "uid" | "minAvailable" | "grownFor">,
  wanted: number,
): readonly Operation[] {
  return [
    test("/metadata/uid", uid),
    test(GROWN_FOR, grownFor),
    test(SIZE, minAvailable),
    { op: "add", path: SIZE, value: wanted },
  ];
}

export function registerPatch(
  key: string,
  found: Exclude<Found, { found: "Nothing" }>,
  text: string,
): readonly Operation[] {
  const path = pointer("data", key);
  if (found.found === "Text") return [test(path, found.text), { op: "add", path, value: text }];
  return [
    test("/metadata/resourceVersion", found.resourceVersion),
    { op: "add", path: "/data", value: { [key]: text } },
  ];
}
