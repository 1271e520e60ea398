/** Tests which VMs move when a kubelet ends their guests. Lifeboat sets evacuationNodeName on these VMs immediately. */
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

describe("a guest that is being shut down moves instead", () => {
  // prettier-ignore
  test.each([
    // strategy                migratable  pinned
    ["None",                   false,      false],
    ["LiveMigrate",            true,       false],
    ["LiveMigrateIfPossible",  true,       false],
    ["External",               true,       true],
  ] as const)("with strategy %s: migratable %s, pinned %s", (evictionStrategy, migratable, pinned) => {
    const asked = (["migratable", "pinned"] as const).map((mobility) =>
      shouldEvacuate(vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] }), relieving()),
    );
    expect(asked).toEqual([migratable, pinned]);
  });

  // prettier-ignore
  test.each([
    ["that is being deleted",               vmi({ deleting: true })],
    ["that is only scheduled",              vmi({ phase: "Scheduled" })],
    ["that is on no node",                  without(vmi(), "nodeName")],
  ])("unless it is a VM %s", (_, subject) => expect(shouldEvacuate(subject, relieving())).toBe(false));
});

const abc = ["a", "b", "c"].map((name) => vmOnNode(name));

describe("a VM whose guest the kubelet is ending", () => {
  const signal = { vmi: vmi(), pod: pod(), reason: "Evicted", node: node() };
  const none = { pressured: [], candidateNodes: [] };

  test("is marked even if it has just moved, because its guest ends otherwise", () => {
    const moved = vmi({ movedAt: NOW.getTime() });
    expect(leaving([], { ...none, signals: [{ ...signal, vmi: moved }] })).toEqual([moved.name]);
  });

  test("is marked at once, despite limits and missing room", () => {
    const signals = ["a", "b", "c"].map((name) => ({ ...signal, vmi: vmi({ name, uid: name }) }));
    expect(leaving([], { ...none, signals })).toEqual(["a", "b", "c"]);
    const [created] = only("CreateEvacuation", planPressure(pressureWorld([], { ...none, signals })).chains.flat());
    const { name, uid } = pod();
    const spec = { cause: "NodePressure", requestedBy: "kubelet: Evicted", pod: { name, uid } };
    expect(created?.evacuation.spec).toMatchObject(spec);
  });

  test("is marked once for several Events, and counts toward the limit", () => {
    const signals = [signal, { ...signal, reason: "Preempting" }];
    const once = ["CreateEvacuation", "CreateBudget", "Label", "Mark", "Event"];
    expect(verbs(planPressure(pressureWorld([], { ...none, signals })).chains.flat())).toEqual(once);
    expect(leaving(abc, { signals: abc.slice(0, 1).map((a) => ({ ...signal, ...a })) })).toEqual(["a", "b"]);
  });

  // prettier-ignore
  test.each([
    // the kubelet's reason      a sound node  under pressure  not ready  both   no node
    ["Evicted",                true,         true,           true,      true,  true ],
    ["Preempting",             true,         true,           true,      true,  true ],
    ["Killing",                false,        true,           false,     false, false],
    ["TerminationByKubelet",   false,        true,           false,     false, false],
    ["Whatever",               false,        true,           false,     false, false],
  ] as const)("with reason %s moves from a sound node: %s, under pressure: %s, not ready: %s, both: %s, no node: %s", (reason, ...expected) => {
    const pressures = ["MemoryPressure"];
    const nodes = [node(), node({ pressures }), node({ ready: false }), node({ ready: false, pressures }), undefined];
    const moved = nodes.map((one) => leaving([], { ...none, signals: [{ ...signal, reason, node: one }] }).length > 0);
    expect(moved).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    ["is already marked",                            { vmi: marked() }],
    ["cannot migrate",                       { vmi: vmi(PINNED) }],
    ["is paused by an I/O error", { vmi: vmi({ pausedByIoError: true }) }],
    ["is named by its migration's target pod",  { pod: pod({ uid: "target" }), vmi: vmi({ activePods: { [pod().uid]: NODE, target: "node02" } }) }],
  ])("is not marked if it %s", (_, tweak) => {
    expect(planPressure(pressureWorld([], { ...none, signals: [{ ...signal, ...tweak }] })).chains).toEqual([]);
  });

  test("is marked before KubeVirt has recorded the VM's active pods", () => {
    expect(leaving([], { ...none, signals: [{ ...signal, vmi: vmi({ activePods: {} }) }] })).toEqual([vmi().name]);
  });

  test("is not marked if it has an Evacuation", () => {
    expect(leaving([], { ...none, signals: [signal], evacuations: [newborn()] })).toEqual([]);
  });

  test("is not marked if the feature is off", () => {
    const world = pressureWorld(abc, { settings: relieving({ featureGates: [] }), signals: [signal] });
    expect(planPressure(world)).toMatchObject({ chains: [] });
  });
});
