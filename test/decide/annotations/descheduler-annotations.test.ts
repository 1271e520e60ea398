/** Which launcher pod carries which annotation: every pod, every mark, every mode; and what KubeVirt is left time for. */
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

/** add: if it is missing; remove: if it is there; -: as it is. */
type Cell = "add" | "remove" | "-";

// prettier-ignore
const rows: readonly (readonly [string, VmiFacts, ...Cell[]])[] = [
  // VMI                                                              source     target    completed terminating
  ["unmarked",                 vmi(),                                 "remove",  "remove", "remove", "-"],
  ["marked",                   marked(),                              "add",     "remove", "remove", "-"],
  ["moved, stale mark",        vmi({ evacuationNodeName: "node00" }), "-",       "remove", "remove", "-"],
  ["being deleted",            marked({ deleting: true }),            "-",       "-",      "-",      "-"],
];

const cells = rows.flatMap(([state, subject, ...expected]) =>
  KINDS.map((kind, i) => [state, kind, expected[i] ?? "-", subject] as const),
);

/** Whether the annotation is on the pod afterwards. */
function after(pod: LauncherFacts, subject: VmiFacts): boolean {
  const [action, ...others] = annotations({ vmis: [subject], launchers: [pod] });
  expect(others).toEqual([]);
  if (action?.remove.includes(IN_PROGRESS) === true) return false;
  return IN_PROGRESS in pod.annotations || action?.add[IN_PROGRESS] === "true";
}

describe("eviction-in-progress", () => {
  test.each(cells)("%s: on the %s pod: %s", (...[, kind, cell, subject]) => {
    expect(after({ ...PODS[kind], annotations: ASKED }, subject)).toBe(cell === "add");
    expect(after({ ...PODS[kind], annotations: GOING }, subject)).toBe(cell !== "remove");
  });

  test.each(["kubevirt", "false", ""])("is there whatever it says, such as %j", (value) => {
    const pod = launcher({ annotations: { ...ASKED, [IN_PROGRESS]: value } });
    expect(annotations({ vmis: [marked()], launchers: [pod] })).toEqual([]);
    expect(annotations({ launchers: [pod] })).toEqual([{ verb: "AnnotatePod", pod, add: {}, remove: [IN_PROGRESS] }]);
  });
});

describe("request-evict-only", () => {
  // prettier-ignore
  test.each<[string, LauncherFacts, added: boolean]>([
    ["the target",               target(),                                           true],
    ["a completed one",          launcher({ phase: "Failed" }),                      false],
    ["a terminating one",        launcher({ deleting: true }),                       false],
    ["one of a VMI not read",    launcher({ vmiUID: "another" }),                    false],
    ["one in another namespace", launcher({ namespace: "tenant" }),                  false],
  ])("on %s", (_, pod, isAdded) => {
    for (const subject of [vmi(), marked(), without(vmi(), "nodeName")]) {
      const added = annotations({ vmis: [subject], launchers: [pod] }).map(({ add }) => add[ONLY]);
      expect(added.filter((value) => value !== undefined)).toEqual(isAdded ? [""] : []);
    }
  });

  test("in one patch with what else is due on the pod", () => {
    expect(annotations({ vmis: [marked()] })).toMatchObject([{ add: GOING }]);
    const going = launcher({ annotations: { [IN_PROGRESS]: "true" } });
    expect(annotations({ launchers: [going] })).toMatchObject([{ add: ASKED, remove: [IN_PROGRESS] }]);
  });
});

describe("what switches it on", () => {
  const others = FEATURE_GATES.filter((gate) => gate !== "DeschedulerSupport");
  const gates: readonly (readonly FeatureGate[])[] = [[], ["DeschedulerSupport"], others];
  test.each(gates.map((on) => [on]))("gates %j", (featureGates) => {
    const given = settings({ featureGates });
    const isOn = featureGates.includes("DeschedulerSupport");
    expect(annotations({ vmis: [marked()], settings: given })).toHaveLength(isOn ? 1 : 0);
  });

  test("at a time so many pods, those of evacuations first", () => {
    const pods = Array.from({ length: MOST_PATCHES + 1 }, (_, i) => launcher({ uid: `pod-${i}`, nodeName: "node07" }));
    const source = launcher({ uid: "source", vmiUID: "going" });
    const going = marked({ uid: "going", activePods: {} });
    const actions = annotations({ vmis: [vmi(), going], launchers: [...pods, source] });
    expect(actions).toHaveLength(MOST_PATCHES);
    expect(actions[0]?.pod).toBe(source);
  });
});

function young(seconds: number, tweak: Partial<LauncherFacts> = {}): LauncherFacts {
  return launcher({ createdAt: at(-seconds).getTime(), ...tweak });
}

function started(seconds: number): readonly EvacuationFacts[] {
  return [evacuation({ createdAt: at(-seconds).getTime() })];
}

describe("KubeVirt is left its time", () => {
  const old = launcher({ annotations: ASKED });
  const ended = [endedEvacuation("Abandoned", { createdAt: at(-1).getTime() })];
  const going = { [IN_PROGRESS]: "true" };
  // prettier-ignore
  test.each<[string, VmiFacts, readonly EvacuationFacts[], LauncherFacts, object]>([
    // what                                      VMI       Evacuations  pod                         added now
    ["a pod of 59 s",                            vmi(),    [],          young(59),                  {}],
    ["a pod of 60 s",                            vmi(),    [],          young(60),                  ASKED],
    ["a pod from the far future",                vmi(),    [],          young(-999),                ASKED],
    ["an evacuation of 1 s",                     marked(), started(1),    old,                        {}],
    ["an evacuation of 60 s",                    marked(), started(60),   old,                        going],
    ["a mark after an evacuation that ended",    marked(), ended,       old,                        going],
    ["an old pod, an evacuation of 1 s",         marked(), started(1),    launcher(),                 ASKED],
  ])("%s", (...[, subject, evacuations, pod, added]) => {
    const patient = annotating(60);
    const found = annotations({ vmis: [subject], evacuations, launchers: [pod], settings: patient });
    expect(found).toEqual(Object.keys(added).length === 0 ? [] : [expect.objectContaining({ add: added })]);
  });
});
