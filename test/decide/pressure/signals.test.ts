/** Guests that are being ended by a kubelet: who moves instead, and is marked at once. */
import { describe, expect, test } from "vitest";
import { planPressure, shouldEvacuate } from "../../../shared/pressure/pressure.ts";
import {
  marked,
  MOBILITY,
  newborn,
  NODE,
  NOW,
  only,
  PINNED,
  pod,
  verbs,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { leaving, pressureWorld, relieving, vmOnNode } from "../../support/pressure/pressed.ts";

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
  const signal = { vmi: vmi(), pod: pod(), by: "kubelet: Killing" };
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
    const spec = { cause: "NodePressure", requestedBy: signal.by, pod: { name, uid } };
    expect(created?.evacuation.spec).toMatchObject(spec);
  });

  test("once, however many say so, and counts among those who leave", () => {
    const signals = [signal, { ...signal, by: "kubelet: Evicted" }];
    const once = ["CreateEvacuation", "CreateBudget", "Label", "Mark", "Event"];
    expect(verbs(planPressure(pressureWorld([], { ...none, signals })).chains.flat())).toEqual(once);
    expect(leaving(abc, { signals: abc.slice(0, 1).map((a) => ({ ...signal, ...a })) })).toEqual(["a", "b"]);
  });
  // prettier-ignore
  test.each([
    ["it is marked",                            { vmi: marked() }],
    ["it cannot migrate",                       { vmi: vmi(PINNED) }],
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
