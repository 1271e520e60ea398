/** Which launcher pod carries which annotation: every pod, every mark, every mode; and what KubeVirt is left time for. */
import { describe, expect, test } from "vitest";
import {
  EVICTION_IN_PROGRESS,
  isAnnotating,
  MOST_PATCHES,
  POD_ROLES,
} from "../../../shared/policy/annotations/descheduler-annotations.ts";
import type { EvacuationFacts, LauncherFacts, VmiFacts } from "../../../shared/policy/facts.ts";
import { FEATURE_GATES, type FeatureGate, type ReconcilerMode } from "../../../shared/policy/settings.ts";
import { at, endedEvacuation, evacuation, marked, NODE, settings, time, vmi, without } from "../fixtures.ts";
import { annotating, annotations, IN_PROGRESS, launcher, ONLY, REQUESTED, target } from "../launchers.ts";

type Kind = "source" | "target" | "completed" | "terminating";

const PODS: Readonly<Record<Kind, LauncherFacts>> = {
  source: launcher(),
  target: target(),
  completed: launcher({ phase: "Succeeded" }),
  terminating: launcher({ deleting: true }),
};
const KINDS: readonly Kind[] = ["source", "target", "completed", "terminating"];
const OTHER = "node00";

/** add: if it is missing; remove: if it is there; yield: the same, but Auto leaves it to KubeVirt; -: as it is. */
type Cell = "add" | "remove" | "yield" | "-";

// prettier-ignore
const rows: readonly (readonly [string, VmiFacts, ...Cell[]])[] = [
  // VMI                                                                                        source     target    completed terminating
  ["unmarked",                 vmi(),                                                           "remove",  "remove", "remove", "-"],
  ["marked",                   marked(),                                                        "add",     "remove", "remove", "-"],
  ["marked, External",         marked({ evictionStrategy: "External" }),                        "add",     "remove", "remove", "-"],
  ["marked, cannot migrate",   marked({ liveMigratable: { migratable: false } }),               "add",     "remove", "remove", "-"],
  ["moved, stale mark",        vmi({ evacuationNodeName: OTHER }),                              "yield",   "remove", "remove", "-"],
  ["on no node",               without(vmi(), "nodeName"),                                      "remove",  "remove", "remove", "-"],
  ["being deleted",            marked({ deleting: true }),                                      "-",       "-",      "-",      "-"],
];

const cells = rows.flatMap(([state, subject, ...expected]) =>
  KINDS.flatMap((kind, i) =>
    (["Enabled", "Auto"] as const).map((mode) => [state, kind, mode, expected[i] ?? "-", subject] as const),
  ),
);

/** Whether the annotation is on the pod afterwards. */
function after(pod: LauncherFacts, subject: VmiFacts, mode: ReconcilerMode): boolean {
  const [action, ...others] = annotations({ vmis: [subject], launchers: [pod], settings: annotating(mode) });
  expect(others).toEqual([]);
  if (action?.remove.includes(IN_PROGRESS) === true) return false;
  return IN_PROGRESS in pod.annotations || action?.add[IN_PROGRESS] === "true";
}

describe("eviction-in-progress", () => {
  test.each(cells)("%s: on the %s pod, mode %s: %s", (...[, kind, mode, cell, subject]) => {
    const bare = { ...PODS[kind], annotations: { [ONLY]: "" } };
    const carrying = { ...bare, annotations: { ...bare.annotations, [IN_PROGRESS]: "true" } };
    const keeps = { add: true, remove: false, yield: mode === "Auto", "-": true }[cell];
    expect(after(bare, subject, mode)).toBe(cell === "add");
    expect(after(carrying, subject, mode)).toBe(keeps);
  });

  test("the rows cover every cell of the table", () => {
    const table = POD_ROLES.flatMap((role) => Object.values(EVICTION_IN_PROGRESS[role]));
    const named = { add: "add", remove: "remove", yield: "yield", leave: "-" } as const;
    expect(new Set(cells.map(([, , , cell]) => cell))).toEqual(new Set(table.map((cell) => named[cell])));
  });

  test.each(["kubevirt", "false", ""])("is there whatever it says, such as %j", (value) => {
    const pod = launcher({ annotations: { [ONLY]: "", [IN_PROGRESS]: value } });
    expect(annotations({ vmis: [marked()], launchers: [pod] })).toEqual([]);
    expect(annotations({ launchers: [pod] })).toEqual([{ verb: "AnnotatePod", pod, add: {}, remove: [IN_PROGRESS] }]);
  });

  test("takes the request of a descheduling cycle with it", () => {
    const both = { [ONLY]: "", [IN_PROGRESS]: "true", [REQUESTED]: time(-60) };
    const pod = launcher({ annotations: both });
    expect(annotations({ launchers: [pod] })).toMatchObject([{ add: {}, remove: [IN_PROGRESS, REQUESTED] }]);
    expect(annotations({ vmis: [marked()], launchers: [pod] })).toEqual([]);
    expect(annotations({ launchers: [launcher({ annotations: without(both, IN_PROGRESS) })] })).toEqual([]);
  });

  test("goes from the pod that the guest has left, and does not come to the one it runs in now", () => {
    const carrying = { [ONLY]: "", [IN_PROGRESS]: "true" };
    const before = launcher({ annotations: carrying });
    const now = target({ annotations: { [ONLY]: "" } });
    const moved = vmi({ nodeName: "node02", activePods: { [now.uid]: "node02", [before.uid]: NODE } });
    expect(annotations({ vmis: [moved], launchers: [before, now] })).toMatchObject([
      { pod: { uid: before.uid }, add: {}, remove: [IN_PROGRESS] },
    ]);
  });
});

describe("request-evict-only", () => {
  const vmis = [
    ["unmarked", vmi()],
    ["marked", marked()],
    ["on no node", without(vmi(), "nodeName")],
  ] as const;
  // prettier-ignore
  const pods = [
    ["source",               launcher(),                                       true],
    ["target",               target(),                                         true],
    ["not scheduled yet",    without(target({ phase: "Pending" }), "nodeName"), true],
    ["created this moment",  launcher({ createdAt: at(0).getTime() }),         true],
    ["completed",            launcher({ phase: "Failed" }),                    false],
    ["terminating",          launcher({ deleting: true }),                     false],
    ["that has it already",  launcher({ annotations: { [ONLY]: "" } }),        false],
    ["that has it as true",  launcher({ annotations: { [ONLY]: "true" } }),    false],
  ] as const;
  const all = vmis.flatMap(([state, subject]) => pods.map((pod) => [state, ...pod, subject] as const));
  test.each(all)("VMI %s, pod %s", (...[, , pod, isAdded, subject]) => {
    const added = annotations({ vmis: [subject], launchers: [pod] }).map(({ add }) => add[ONLY]);
    expect(added.filter((value) => value !== undefined)).toEqual(isAdded ? [""] : []);
  });

  test.each([
    ["of a VMI that was not read", launcher({ vmiUID: "another" })],
    ["in another namespace, labelled as this VMI's", launcher({ namespace: "tenant" })],
  ])("not on a pod %s", (_, pod) => {
    expect(annotations({ vmis: [marked()], launchers: [pod] })).toEqual([]);
  });
});

describe("what switches it on", () => {
  const others = FEATURE_GATES.filter((gate) => gate !== "DeschedulerSupport");
  const gates: readonly (readonly FeatureGate[])[] = [[], ["DeschedulerSupport"], others];
  const modes = ["Enabled", "Auto", "Disabled"] as const;
  const both = gates.flatMap((featureGates) => modes.map((mode) => [featureGates, mode] as const));
  test.each(both)("gates %j, mode %s", (featureGates, mode) => {
    const given = settings({ featureGates, reconcilers: { annotations: mode } });
    const isOn = featureGates.includes("DeschedulerSupport") && mode !== "Disabled";
    expect(isAnnotating(given)).toBe(isOn);
    expect(annotations({ vmis: [marked()], settings: given })).toHaveLength(isOn ? 1 : 0);
  });

  test("one patch a pod, for all that is due on it", () => {
    expect(annotations({ vmis: [marked()] })).toMatchObject([{ add: { [ONLY]: "", [IN_PROGRESS]: "true" } }]);
    expect(annotations({ launchers: [launcher({ annotations: { [IN_PROGRESS]: "true" } })] })).toMatchObject([
      { add: { [ONLY]: "" }, remove: [IN_PROGRESS] },
    ]);
  });

  test("at a time so many pods, those of evacuations first", () => {
    const pods = Array.from({ length: MOST_PATCHES + 1 }, (_, i) => launcher({ uid: `pod-${i}`, nodeName: "node07" }));
    const going = marked({ uid: "going", activePods: {} });
    const source = launcher({ uid: "source", vmiUID: "going" });
    const actions = annotations({ vmis: [vmi(), going], launchers: [...pods, source] });
    expect(actions).toHaveLength(MOST_PATCHES);
    expect(actions[0]?.pod).toBe(source);
  });
});

const young = (seconds: number, tweak: Partial<LauncherFacts> = {}) =>
  launcher({ createdAt: at(-seconds).getTime(), ...tweak });

const begun = (seconds: number) => [evacuation({ createdAt: at(-seconds).getTime() })];

describe("KubeVirt is left its time", () => {
  const both = { [ONLY]: "", [IN_PROGRESS]: "true" };
  const old = launcher({ annotations: { [ONLY]: "" } });
  const ended = [endedEvacuation("Abandoned", { createdAt: at(-1).getTime() })];
  // prettier-ignore
  test.each<[string, ReconcilerMode, VmiFacts, readonly EvacuationFacts[], LauncherFacts, object]>([
    // what                                      mode       VMI       Evacuations  pod                         added now
    ["a pod of 0 s",                             "Auto",    vmi(),    [],          young(0),                   {}],
    ["a pod of 59 s",                            "Auto",    vmi(),    [],          young(59),                  {}],
    ["a pod of 60 s",                            "Auto",    vmi(),    [],          young(60),                  { [ONLY]: "" }],
    ["a pod of 2 s",                             "Enabled", vmi(),    [],          young(2),                   { [ONLY]: "" }],
    ["a pod that does not say",                  "Auto",    vmi(),    [],          young(0, { createdAt: 0 }), { [ONLY]: "" }],
    ["a pod from the far future",                "Auto",    vmi(),    [],          young(-999),                { [ONLY]: "" }],
    ["an evacuation of 1 s",                     "Auto",    marked(), begun(1),    old,                        {}],
    ["an evacuation of 60 s",                    "Auto",    marked(), begun(60),   old,                        { [IN_PROGRESS]: "true" }],
    ["an evacuation of 1 s",                     "Enabled", marked(), begun(1),    old,                        { [IN_PROGRESS]: "true" }],
    ["a mark: nobody knows since when",          "Auto",    marked(), [],          old,                        { [IN_PROGRESS]: "true" }],
    ["a mark after an evacuation that ended",    "Auto",    marked(), ended,       old,                        { [IN_PROGRESS]: "true" }],
    ["an old pod, an evacuation of 1 s",         "Auto",    marked(), begun(1),    launcher(),                 { [ONLY]: "" }],
    ["a pod of 4 s, an evacuation of 1 s",       "Auto",    marked(), begun(1),    young(4),                   {}],
    ["both are there",                           "Auto",    marked(), begun(99),   young(99, { annotations: both }), {}],
  ])("%s, mode %s", (...[, mode, subject, evacuations, pod, added]) => {
    const patient = annotating(mode, { evacuation: { adoptSeconds: 60 } });
    const found = annotations({ vmis: [subject], evacuations, launchers: [pod], settings: patient });
    expect(found).toEqual(Object.keys(added).length === 0 ? [] : [expect.objectContaining({ add: added })]);
  });

  test("not to take away what it takes away itself", () => {
    const pod = launcher({ annotations: both });
    expect(annotations({ launchers: [pod], settings: annotating("Auto") })).toMatchObject([{ remove: [IN_PROGRESS] }]);
  });

  test.each([
    [10, 1],
    [11, 0],
  ])("as long as is configured: a pod of 10 s, %d s", (adoptSeconds, expected) => {
    const patient = annotating("Auto", { evacuation: { adoptSeconds } });
    expect(annotations({ launchers: [young(10)], settings: patient })).toHaveLength(expected);
  });
});
