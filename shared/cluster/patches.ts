/**
 * JSON patches, each with tests of what was observed.
 * Owns: building them. Does not own: sending them (act.ts). A failed test is answered 422 and means: look again.
 */
import type { Urgency } from "../policy/cause.ts";
import type { Found } from "../descheduling/cycle/register.ts";
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

const LABEL = pointer("metadata", "labels", names.EVACUATION_LABEL);

/** The mark, and with `urgency: urgent` the label that the shipped MigrationPolicy selects. */
export function markPatch(vmi: VmiFacts, urgency: Urgency): readonly Operation[] {
  const { hasLabels: exists, resourceVersion, nodeName } = vmi;
  const labels = { map: "labels", exists, resourceVersion } as const;
  return [
    ...unmoved(vmi),
    ...(urgency === "urgent" ? addTo(labels, { [names.EVACUATION_LABEL]: urgency }) : []),
    { op: "add", path: "/status/evacuationNodeName", value: nodeName },
  ];
}

/** Clears mark and label. */
export function clearPatch(vmi: VmiFacts): readonly Operation[] {
  const { evacuationLabel, evacuationNodeName } = vmi;
  return [
    ...unmoved(vmi),
    ...(evacuationLabel === undefined ? [] : [test(LABEL, evacuationLabel), remove(LABEL)]),
    ...(evacuationNodeName === undefined ? [] : [remove("/status/evacuationNodeName")]),
  ];
}

export function adoptPatch(
  { uid, hasAnnotations: exists, resourceVersion }: MigrationFacts,
  annotations: Readonly<Record<string, string>>,
): readonly Operation[] {
  return [test("/metadata/uid", uid), ...addTo({ map: "annotations", exists, resourceVersion }, annotations)];
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

const TOUCHED = pointer("metadata", "labels", names.TOUCHED_LABEL);
const SIZE = "/spec/minAvailable";

/** Seconds since the epoch, a valid label value. */
export function touchedLabel(now: Date): string {
  return String(Math.floor(now.getTime() / 1000));
}

/** Of ours, whatever its size is. */
export function growPatch(now: Date): readonly Operation[] {
  return [
    test(pointer("metadata", "labels", names.MANAGED_BY_LABEL), names.MANAGED_BY),
    { op: "add", path: TOUCHED, value: touchedLabel(now) },
    { op: "add", path: SIZE, value: 2 },
  ];
}

/** On condition that the budget has not changed since: a function that has grown it meanwhile needs it so. */
export function resizePatch(
  { uid, resourceVersion }: Pick<BudgetFacts, "uid" | "resourceVersion">,
  wanted: number,
  now: Date,
): readonly Operation[] {
  return [
    test("/metadata/uid", uid),
    test("/metadata/resourceVersion", resourceVersion),
    ...(wanted === 2 ? [{ op: "add", path: TOUCHED, value: touchedLabel(now) } as const] : []),
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
