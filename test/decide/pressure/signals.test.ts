/** Guests that are being ended by a kubelet: who moves instead, and is marked at once. */
import { describe, expect, test } from "vitest";
import { planPressure, shouldEvacuate } from "../../../shared/pressure/pressure.ts";
import {
  marked,
  MOBILITY,
  newborn,
  node,
  NODE,
  NOW,
  only,
  PINNED,
  pod,
  verbs,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { leaving, pressureWorld, relieving, vmOnNode } from "../../support/pressure/pressured.ts";

describe("should a guest that is being shut down move instead?", () => {
  // prettier-ignore
  test.each([
    // strategy                migratable  pinned
    ["None",                   false,      false],
    ["LiveMigrate",            true,       false],
    ["LiveMigrateIfPossible",  true,       false],
    ["External",               true,       true],
  ] as const)("%s: migratable %s, pinned %s", (evictionStrategy, migratable, pinned) => {
    const asked = (["migratable", "pinned"] as const).map((mobility) =>
      shouldEvacuate(vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] }), relieving()),
    );
    expect(asked).toEqual([migratable, pinned]);
  });

  // prettier-ignore
  test.each([
    ["the VM is being deleted",              vmi({ deleting: true })],
    ["the VM is scheduled",                  vmi({ phase: "Scheduled" })],
    ["the VM is on no node",                 without(vmi(), "nodeName")],
  ])("%s: no", (_, subject) => expect(shouldEvacuate(subject, relieving())).toBe(false));
});

const abc = ["a", "b", "c"].map((name) => vmOnNode(name));

describe("while a guest is being ended", () => {
  const signal = { vmi: vmi(), pod: pod(), reason: "Evicted", node: node() };
  const none = { pressured: [], candidateNodes: [] };

  test("it is marked though it has just moved: there is nothing left to choose", () => {
    const moved = vmi({ movedAt: NOW.getTime() });
    expect(leaving([], { ...none, signals: [{ ...signal, vmi: moved }] })).toEqual([moved.name]);
  });

  test("it is marked at once, whatever the limits and the room elsewhere", () => {
    const signals = ["a", "b", "c"].map((name) => ({ ...signal, vmi: vmi({ name, uid: name }) }));
    expect(leaving([], { ...none, signals })).toEqual(["a", "b", "c"]);
    const [created] = only("CreateEvacuation", planPressure(pressureWorld([], { ...none, signals })).chains.flat());
    const { name, uid } = pod();
    const spec = { cause: "NodePressure", requestedBy: "kubelet: Evicted", pod: { name, uid } };
    expect(created?.evacuation.spec).toMatchObject(spec);
  });

  test("once, however many say so, and counts among those who leave", () => {
    const signals = [signal, { ...signal, reason: "Preempting" }];
    const once = ["CreateEvacuation", "CreateBudget", "Label", "Mark", "Event"];
    expect(verbs(planPressure(pressureWorld([], { ...none, signals })).chains.flat())).toEqual(once);
    expect(leaving(abc, { signals: abc.slice(0, 1).map((a) => ({ ...signal, ...a })) })).toEqual(["a", "b"]);
  });

  // prettier-ignore
  test.each([
    // the kubelet says        a sound node  under pressure  not ready  both   no node
    ["Evicted",                true,         true,           true,      true,  true ],
    ["Preempting",             true,         true,           true,      true,  true ],
    ["Killing",                false,        true,           false,     false, false],
    ["TerminationByKubelet",   false,        true,           false,     false, false],
    ["Whatever",               false,        true,           false,     false, false],
  ] as const)("%s: moves it from a sound node %s, under pressure %s, not ready %s, both %s, no node %s", (reason, ...expected) => {
    const pressures = ["MemoryPressure"];
    const nodes = [node(), node({ pressures }), node({ ready: false }), node({ ready: false, pressures }), undefined];
    const moved = nodes.map((one) => leaving([], { ...none, signals: [{ ...signal, reason, node: one }] }).length > 0);
    expect(moved).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    ["it is marked",                            { vmi: marked() }],
    ["it cannot migrate",                       { vmi: vmi(PINNED) }],
    ["its guest stands still, paused by an I/O error", { vmi: vmi({ pausedByIoError: true }) }],
    ["the pod is the target of its migration",  { pod: pod({ uid: "target" }), vmi: vmi({ activePods: { [pod().uid]: NODE, target: "node02" } }) }],
  ])("%s: nothing", (_, tweak) => {
    expect(planPressure(pressureWorld([], { ...none, signals: [{ ...signal, ...tweak }] })).chains).toEqual([]);
  });

  test("it has an Evacuation already: nothing", () => {
    expect(leaving([], { ...none, signals: [signal], evacuations: [newborn()] })).toEqual([]);
  });

  test("switched off: nothing", () => {
    const world = pressureWorld(abc, { settings: relieving({ featureGates: [] }), signals: [signal] });
    expect(planPressure(world)).toMatchObject({ chains: [] });
  });
});
