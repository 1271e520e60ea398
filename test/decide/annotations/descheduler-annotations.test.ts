/**
 * Tests which annotations launcher pods get, and how long Lifeboat waits for KubeVirt's own controllers to set them. A
 * marked VMI has an evacuationNodeName.
 */
import { describe, expect, test } from "vitest";
import { MOST_PATCHES } from "../../../shared/annotations/descheduler-annotations.ts";
import type { LauncherFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { FEATURE_GATES, type FeatureGate } from "../../../shared/settings/settings.ts";
import { at, endedEvacuation, evacuation, marked, settings, vmi, without } from "../../support/fixtures.ts";
import { annotating, annotations, IN_PROGRESS, launcher, ONLY, target } from "../../support/launchers.ts";

const ASKED = { [ONLY]: "" };
const GOING = { ...ASKED, [IN_PROGRESS]: "true" };

const PODS = {
  source: launcher(),
  target: target(),
  completed: launcher({ phase: "Succeeded" }),
  terminating: launcher({ deleting: true }),
} as const;
const KINDS = ["source", "target", "completed", "terminating"] as const;

/** Lifeboat adds a missing annotation (`add`), removes an existing annotation (`remove`), or changes nothing (`-`). */
type Cell = "add" | "remove" | "-";

// prettier-ignore
const rows: readonly (readonly [string, VmiFacts, ...Cell[]])[] = [
  // VMI                                                                     source     target    completed terminating
  ["unmarked",                        vmi(),                                 "remove",  "remove", "remove", "-"],
  ["marked",                          marked(),                              "add",     "remove", "remove", "-"],
  ["moved, with a stale mark",        vmi({ evacuationNodeName: "node00" }), "-",       "remove", "remove", "-"],
  ["on no node, with a stale mark",   without(marked(), "nodeName"),         "remove",  "remove", "remove", "-"],
  ["being deleted",                   marked({ deleting: true }),            "-",       "-",      "-",      "-"],
];

const cells = rows.flatMap(([state, subject, ...expected]) =>
  KINDS.map((kind, i) => [state, kind, expected[i] ?? "-", subject] as const),
);

function after(pod: LauncherFacts, subject: VmiFacts): boolean {
  const [action, ...others] = annotations({ vmis: [subject], launchers: [pod] });
  expect(others).toEqual([]);
  if (action?.remove.includes(IN_PROGRESS) === true) return false;
  return IN_PROGRESS in pod.annotations || action?.add[IN_PROGRESS] === "true";
}

describe("the annotation eviction-in-progress", () => {
  test.each(cells)("on a VMI that is %s, the %s pod: %s", (...[, kind, cell, subject]) => {
    expect(after({ ...PODS[kind], annotations: ASKED }, subject)).toBe(cell === "add");
    expect(after({ ...PODS[kind], annotations: GOING }, subject)).toBe(cell !== "remove");
  });

  test.each(["kubevirt", "false", ""])("an existing value such as %j is not overwritten", (value) => {
    const pod = launcher({ annotations: { ...ASKED, [IN_PROGRESS]: value } });
    expect(annotations({ vmis: [marked()], launchers: [pod] })).toEqual([]);
    expect(annotations({ launchers: [pod] })).toEqual([{ verb: "AnnotatePod", pod, add: {}, remove: [IN_PROGRESS] }]);
  });
});

describe("the annotation request-evict-only", () => {
  // prettier-ignore
  test.each<[string, LauncherFacts, added: boolean]>([
    ["a target pod",                     target(),                                           true],
    ["a completed pod",                  launcher({ phase: "Failed" }),                      false],
    ["a terminating pod",                launcher({ deleting: true }),                       false],
    ["a pod of a VMI that was not read", launcher({ vmiUID: "another" }),                    false],
    ["a pod in another namespace",       launcher({ namespace: "tenant" }),                  false],
  ])("is added to %s if KubeVirt would add it", (_, pod, isAdded) => {
    for (const subject of [vmi(), marked(), without(vmi(), "nodeName")]) {
      const added = annotations({ vmis: [subject], launchers: [pod] }).map(({ add }) => add[ONLY]);
      expect(added.filter((value) => value !== undefined)).toEqual(isAdded ? [""] : []);
    }
  });

  test("is written in one patch with eviction-in-progress", () => {
    expect(annotations({ vmis: [marked()] })).toMatchObject([{ add: GOING }]);
    const going = launcher({ annotations: { [IN_PROGRESS]: "true" } });
    expect(annotations({ launchers: [going] })).toMatchObject([{ add: ASKED, remove: [IN_PROGRESS] }]);
  });
});

describe("annotations of pods", () => {
  const others = FEATURE_GATES.filter((gate) => gate !== "DeschedulerSupport");
  const gates: readonly (readonly FeatureGate[])[] = [[], ["DeschedulerSupport"], others];
  test.each(gates.map((on) => [on]))(
    "exist only with the feature gate DeschedulerSupport: gates %j",
    (featureGates) => {
      const given = settings({ featureGates });
      const isOn = featureGates.includes("DeschedulerSupport");
      expect(annotations({ vmis: [marked()], settings: given })).toHaveLength(isOn ? 1 : 0);
    },
  );

  test("a plan patches a limited number of pods, those of evacuations first", () => {
    const pods = Array.from({ length: MOST_PATCHES + 1 }, (_, i) => launcher({ uid: `pod-${i}`, nodeName: "node07" }));
    const source = launcher({ uid: "source", vmiUID: "going" });
    const going = marked({ uid: "going", activePods: {} });
    const actions = annotations({ vmis: [vmi(), going], launchers: [...pods, source] });
    expect(actions).toHaveLength(MOST_PATCHES);
    expect(actions[0]?.pod).toBe(source);
  });

  test("a plan removes annotations of ended evacuations before it adds others", () => {
    const ended = launcher({ uid: "ended", annotations: { ...ASKED, [IN_PROGRESS]: "true" } });
    const actions = annotations({ launchers: [launcher(), ended] });
    expect(actions.map(({ pod }) => pod.uid)).toEqual(["ended", launcher().uid]);
  });
});

function young(seconds: number, tweak: Partial<LauncherFacts> = {}): LauncherFacts {
  return launcher({ createdAt: at(-seconds).getTime(), ...tweak });
}

function started(seconds: number): readonly EvacuationFacts[] {
  return [evacuation({ createdAt: at(-seconds).getTime() })];
}

describe("the time that KubeVirt has to annotate first", () => {
  const old = launcher({ annotations: ASKED });
  const ended = [endedEvacuation("Abandoned", { createdAt: at(-1).getTime() })];
  const going = { [IN_PROGRESS]: "true" };
  // prettier-ignore
  test.each<[string, VmiFacts, readonly EvacuationFacts[], LauncherFacts, object]>([
    // pod or Evacuation                                       VMI       Evacuations  pod                         added now
    ["a pod of 59 s is not annotated yet",                     vmi(),    [],          young(59),                  {}],
    ["a pod of 60 s is annotated",                             vmi(),    [],          young(60),                  ASKED],
    ["a pod from the far future is annotated",                 vmi(),    [],          young(-999),                ASKED],
    ["an evacuation of 1 s is not annotated yet",              marked(), started(1),    old,                        {}],
    ["an evacuation of 60 s is annotated",                     marked(), started(60),   old,                        going],
    ["a mark after an ended evacuation is annotated",          marked(), ended,       old,                        going],
    ["an old pod is annotated during an evacuation of 1 s",    marked(), started(1),    launcher(),                 ASKED],
  ])("%s", (...[, subject, evacuations, pod, added]) => {
    const patient = annotating(60);
    const found = annotations({ vmis: [subject], evacuations, launchers: [pod], settings: patient });
    expect(found).toEqual(Object.keys(added).length === 0 ? [] : [expect.objectContaining({ add: added })]);
  });
});
