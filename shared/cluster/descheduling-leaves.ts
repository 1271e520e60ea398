/**
 * Lists and maps that every pod has of its own: checked and reduced in one go, as a schema of each entry would take most
 * of a cycle's time.
 * Owns: labels, annotations, volumes, conditions and container statuses of pods. Does not own: the rest of a pod
 * (descheduling-schemas.ts).
 */
import * as z from "zod/mini";
import type { Labels, PodState } from "../policy/descheduling/facts.ts";
import * as names from "../policy/names.ts";

type Nullish<T> = T | null | undefined;

/** `is` tells whether the value is what `project` is given. */
function leaf<In, Out>(expected: string, is: (value: unknown) => value is In, project: (value: Nullish<In>) => Out) {
  // Go leaves out what is empty, or writes null.
  const check = z.custom<Nullish<In>>((value: unknown) => value === undefined || value === null || is(value), expected);
  return z.prefault(z.pipe(check, z.transform(project)), null);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTextIfAny(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

function isLabels(value: unknown): value is Labels {
  if (!isObject(value)) return false;
  for (const key in value) if (typeof value[key] !== "string") return false;
  return true;
}

const NO_LABELS: Labels = {};

/** The map itself, as it was read: a copy takes more room. */
export const PodLabels = leaf("expected texts by key", isLabels, (labels) => labels ?? NO_LABELS);

/** All that descheduling reads of annotations; those of others are of any size. */
const KNOWN_ANNOTATIONS = [
  names.DOMAIN_ANNOTATION,
  names.REQUEST_EVICT_ONLY_ANNOTATION,
  names.EVICTION_IN_PROGRESS_ANNOTATION,
  names.EVICT_ANNOTATION,
  names.PREFER_NO_EVICTION_ANNOTATION,
  names.MIRROR_POD_ANNOTATION,
  names.CONFIG_SOURCE_ANNOTATION,
  names.EVACUATION_REQUESTED_ANNOTATION,
];

/** `exists`: whether there is a map at all; JSON patch cannot add below a missing one. */
export const PodAnnotations = leaf("expected texts by key", isLabels, (annotations) => ({
  exists: annotations !== undefined && annotations !== null,
  known: knownOf(annotations ?? NO_LABELS),
}));

function knownOf(annotations: Labels): Labels {
  const kept: Record<string, string> = {};
  let isEmpty = true;
  for (const name of KNOWN_ANNOTATIONS) {
    const value = annotations[name];
    if (value === undefined) continue;
    kept[name] = value;
    isEmpty = false;
  }
  return isEmpty ? NO_LABELS : kept;
}

interface Volume {
  readonly emptyDir?: unknown;
  readonly hostPath?: unknown;
  readonly persistentVolumeClaim?: Nullish<{ readonly claimName: string }>;
}

function isVolumes(value: unknown): value is readonly Volume[] {
  return Array.isArray(value) && value.every(isVolume);
}

function isVolume(value: unknown): value is Volume {
  if (!isObject(value)) return false;
  const claim = value["persistentVolumeClaim"];
  return claim === undefined || claim === null || (isObject(claim) && typeof claim["claimName"] === "string");
}

const NONE: readonly never[] = [];

export interface PodVolumes {
  readonly localStorage: boolean;
  readonly claims: readonly string[];
}

export const Volumes = leaf("expected volumes", isVolumes, (volumes): PodVolumes => {
  const claims = (volumes ?? NONE).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? NONE);
  return {
    localStorage: (volumes ?? NONE).some(({ emptyDir, hostPath }) => Boolean(emptyDir) || Boolean(hostPath)),
    // A copy is as long as it has to be; what it is copied from has room for more.
    claims: claims.length === 0 ? NONE : [...claims],
  };
});

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: Nullish<string>;
  readonly lastTransitionTime?: Nullish<string>;
}

function isConditions(value: unknown): value is readonly Condition[] {
  return Array.isArray(value) && value.every(isCondition);
}

function isCondition(value: unknown): value is Condition {
  if (!isObject(value) || typeof value["type"] !== "string" || typeof value["status"] !== "string") return false;
  return isTextIfAny(value["reason"]) && isTextIfAny(value["lastTransitionTime"]);
}

/** As they are: of their words there are few, which the projection keeps once. */
export const PodConditions = leaf("expected conditions", isConditions, (conditions) => conditions ?? NONE);

interface ContainerStatus {
  readonly state?: Nullish<{
    readonly waiting?: Nullish<{ readonly reason?: Nullish<string> }>;
    readonly terminated?: Nullish<{ readonly reason?: Nullish<string>; readonly exitCode?: Nullish<number> }>;
  }>;
}

function isStatuses(value: unknown): value is readonly ContainerStatus[] {
  return Array.isArray(value) && value.every(isStatus);
}

function isStatus(value: unknown): value is ContainerStatus {
  if (!isObject(value)) return false;
  const { state } = value;
  if (state === undefined || state === null) return true;
  return isObject(state) && isStateIfAny(state["waiting"]) && isStateIfAny(state["terminated"]);
}

function isStateIfAny(value: unknown): boolean {
  if (!isObject(value)) return value === undefined || value === null;
  const { exitCode } = value;
  return isTextIfAny(value["reason"]) && (exitCode === undefined || exitCode === null || typeof exitCode === "number");
}

/** States of the containers of one kind. */
export function containerStates(of: PodState["of"]) {
  return leaf("expected statuses of containers", isStatuses, (statuses) =>
    (statuses ?? NONE).flatMap(({ state }) => statesOf(state, of)),
  );
}

function statesOf(state: ContainerStatus["state"], of: PodState["of"]): readonly PodState[] {
  const { waiting, terminated } = state ?? {};
  const states: PodState[] = [];
  if (waiting?.reason) states.push({ of, reason: waiting.reason });
  if (terminated) {
    const { reason, exitCode } = terminated;
    states.push({ of, ...(reason ? { reason } : {}), exitCode: exitCode ?? 0 });
  }
  return states;
}
