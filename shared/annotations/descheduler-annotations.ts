/**
 * Sets the descheduler's annotations on launcher pods. The descheduler then requests an eviction once, and waits until
 * the VM has migrated. Upstream: KubeVirt's VMI controller.
 */
import type { Action, Plan } from "../kube/action.ts";
import { activeEvacuation, ofVmi } from "../evacuation/identity.ts";
import type { LauncherFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { isMarked } from "../evacuation/mark.ts";
import { EVICTION_IN_PROGRESS_ANNOTATION, REQUEST_EVICT_ONLY_ANNOTATION } from "../kube/names.ts";
import type { Moment } from "../settings/time.ts";
import { isFinal, isMigrationTarget, keyOf } from "../kube/objects.ts";

/** `Guest`: the guest runs in this pod. `Other`: the guest can migrate to this pod, or has left it. */
export const POD_ROLES = ["Guest", "Other", "Completed", "Terminating"] as const;
export type PodRole = (typeof POD_ROLES)[number];
export type MarkState = "Marked" | "Stale" | "Unmarked";

export const REQUEST_EVICT_ONLY = {
  Guest: "add",
  Other: "add",
  Completed: "leave",
  Terminating: "leave",
} as const satisfies Record<PodRole, "add" | "leave">;

// prettier-ignore
export const EVICTION_IN_PROGRESS = {
  Guest:       { Marked: "add",    Stale: "leave",  Unmarked: "remove" },
  Other:       { Marked: "remove", Stale: "remove", Unmarked: "remove" },
  Completed:   { Marked: "remove", Stale: "remove", Unmarked: "remove" },
  Terminating: { Marked: "leave",  Stale: "leave",  Unmarked: "leave"  },
} as const satisfies Record<PodRole, Record<MarkState, "add" | "remove" | "leave">>;

export interface AnnotationWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  /** Launcher pods of `vmis`, in any phase. The list is empty if no pod needs an annotation. */
  readonly launchers: readonly LauncherFacts[];
  readonly evacuations: readonly EvacuationFacts[];
}

/**
 * The maximum number of patches in a plan. After the feature is switched on, every launcher pod needs a patch, and
 * evacuations must not wait for all patches.
 */
export const MOST_PATCHES = 1000;

export function planAnnotations(w: AnnotationWorld): Plan {
  if (!w.settings.featureGates.includes("DeschedulerSupport")) return { chains: [] };
  // The pods of a deleted VMI are also deleted.
  const pairs = withLaunchers(w.vmis, w.launchers).filter(({ vmi }) => !vmi.deleting);
  const actions = pairs.flatMap(({ vmi, pod }) => decide(pod, vmi, w));
  const urgentFirst = [...actions.filter(isUrgent), ...actions.filter((action) => !isUrgent(action))];
  return { chains: urgentFirst.slice(0, MOST_PATCHES).map((action) => [action]) };
}

type Annotate = Extract<Action, { verb: "AnnotatePod" }>;

function isUrgent({ add, remove }: Annotate): boolean {
  return EVICTION_IN_PROGRESS_ANNOTATION in add || remove.length > 0;
}

function decide(pod: LauncherFacts, vmi: VmiFacts, w: AnnotationWorld): readonly Annotate[] {
  const missing = wantedOn(pod, vmi, w).filter(({ key }) => pod.annotations[key] === undefined);
  const due = missing.filter(({ since }) => !isLeftToKubeVirt(since, w));
  const add = Object.fromEntries(due.map(({ key, value }) => [key, value]));
  const remove = isSurplus(pod, vmi) ? [EVICTION_IN_PROGRESS_ANNOTATION] : [];
  return due.length > 0 || remove.length > 0 ? [{ verb: "AnnotatePod", pod, add, remove }] : [];
}

/**
 * Returns the annotations that the pod should have. `since` is the time from which KubeVirt can add the annotation. If
 * `since` is undefined, Lifeboat adds the annotation immediately.
 */
function wantedOn(pod: LauncherFacts, vmi: VmiFacts, { evacuations }: AnnotationWorld) {
  const role = roleOf(pod, vmi);
  const only = { key: REQUEST_EVICT_ONLY_ANNOTATION, value: "", since: pod.createdAt };
  const wanted = REQUEST_EVICT_ONLY[role] === "add" ? [only] : [];
  if (EVICTION_IN_PROGRESS[role][markStateOf(vmi)] !== "add") return wanted;
  const since = activeEvacuation(vmi, ofVmi(evacuations, vmi))?.createdAt;
  return [...wanted, { key: EVICTION_IN_PROGRESS_ANNOTATION, value: "true", since }];
}

/**
 * Returns true during the first `adoptSeconds` after `since`, so that KubeVirt can add the annotation. Ignores a
 * `since` far in the future.
 */
function isLeftToKubeVirt(since: number | undefined, { settings, now }: AnnotationWorld): boolean {
  if (since === undefined) return false;
  return Math.abs(now.getTime() - since) < settings.evacuation.adoptSeconds * 1000;
}

function isSurplus(pod: LauncherFacts, vmi: VmiFacts): boolean {
  const isThere = pod.annotations[EVICTION_IN_PROGRESS_ANNOTATION] !== undefined;
  return isThere && EVICTION_IN_PROGRESS[roleOf(pod, vmi)][markStateOf(vmi)] === "remove";
}

function roleOf(pod: LauncherFacts, vmi: VmiFacts): PodRole {
  if (pod.deleting) return "Terminating";
  if (isFinal(pod)) return "Completed";
  return vmi.nodeName === undefined || isMigrationTarget(pod, vmi) ? "Other" : "Guest";
}

function markStateOf(vmi: VmiFacts): MarkState {
  if (vmi.evacuationNodeName === undefined) return "Unmarked";
  return isMarked(vmi) ? "Marked" : "Stale";
}

/**
 * Pairs VMIs with their launcher pods. Checks the namespace, because a tenant can label a pod with the UID of another
 * tenant's VMI.
 */
function withLaunchers(vmis: readonly VmiFacts[], launchers: readonly LauncherFacts[]) {
  const byVmi = Map.groupBy(launchers, ({ namespace, vmiUID }) => keyOf({ namespace, name: vmiUID }));
  return vmis.flatMap((vmi) =>
    (byVmi.get(keyOf({ namespace: vmi.namespace, name: vmi.uid })) ?? []).map((pod) => ({ vmi, pod })),
  );
}
