/** Creates launcher pods for tests of the descheduler's annotations, and applies patches as an API server does. */
import type { Action } from "../../shared/kube/action.ts";
import { type AnnotationWorld, planAnnotations } from "../../shared/annotations/descheduler-annotations.ts";
import type { LauncherFacts } from "../../shared/kube/facts.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { at, NODE, NOW, only, POD_NAME, POD_UID, settings, VMI_UID, vmi } from "./fixtures.ts";

export const ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
export const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";

/** Returns the launcher pod of `vmi()`. The pod is ten minutes old and has no annotations of the descheduler. */
export function launcher(tweak: Partial<LauncherFacts> = {}): LauncherFacts {
  return {
    namespace: "apps",
    name: POD_NAME,
    uid: POD_UID,
    resourceVersion: "1",
    vmiUID: VMI_UID,
    phase: "Running",
    nodeName: NODE,
    deleting: false,
    createdAt: at(-600).getTime(),
    hasAnnotations: true,
    annotations: {},
    ...tweak,
  };
}

export function target(tweak: Partial<LauncherFacts> = {}): LauncherFacts {
  return launcher({ name: "virt-launcher-web-target", uid: "target-uid", nodeName: "node02", ...tweak });
}

/**
 * Returns settings with the feature gate enabled. `adoptSeconds` is the time for which Lifeboat waits for KubeVirt's
 * own migration.
 */
export function annotating(adoptSeconds: number): Settings {
  return settings({ featureGates: ["DeschedulerSupport"], evacuation: { adoptSeconds } });
}

export function annotationWorld(tweak: Partial<AnnotationWorld> = {}): AnnotationWorld {
  return {
    vmis: [vmi()],
    launchers: [launcher()],
    evacuations: [],
    settings: annotating(0),
    now: NOW,
    ...tweak,
  };
}

type Annotate = Extract<Action, { verb: "AnnotatePod" }>;

export function annotations(tweak: Partial<AnnotationWorld>): readonly Annotate[] {
  const { chains } = planAnnotations(annotationWorld(tweak));
  return only("AnnotatePod", chains.flat());
}
