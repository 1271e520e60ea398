/** Guests that are being ended by a kubelet, or shut down: who moves instead, and is marked at once. */
import { describe, expect, test } from "vitest";
import { planPressure, shouldEvacuate } from "../../../shared/policy/pressure/pressure.ts";
import { EVICTION_STRATEGIES } from "../../../shared/policy/eviction/eviction-table.ts";
import { EXTERNAL, marked, MOBILITY, newborn, NODE, NOW, only, PINNED, pod, verbs, vmi, without } from "../fixtures.ts";
import { ALIVE, leaving, pressureWorld, relieving, resident } from "./pressed.ts";

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
      shouldEvacuate(vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] }), ALIVE, relieving()),
    );
    expect(asked).toEqual([migratable, pinned]);
  });

  // prettier-ignore
  test.each([
    ["Running", true], ["Paused", true], ["Blocked", true], ["ShuttingDown", true], ["PMSuspended", true],
    ["Shutoff", false], ["Crashed", false], ["NoState", false], ["Unknown", false], ["", false],
  ])("domain %j: %s", (status, expected) => {
    for (const evictionStrategy of EVICTION_STRATEGIES.filter((s) => s !== "None")) {
      expect(shouldEvacuate(vmi({ evictionStrategy }), { ...ALIVE, status }, relieving())).toBe(expected);
    }
  });

  // prettier-ignore
  test.each([
    ["the launcher has signalled nothing",   vmi(),                              { ...ALIVE, gracefulShutdown: false }],
    ["the VM is being deleted",              vmi({ deleting: true }),            ALIVE],
    ["the VM is scheduled",                  vmi({ phase: "Scheduled" }),        ALIVE],
    ["the VM has succeeded",                 vmi({ phase: "Succeeded" }),        ALIVE],
    ["the VM has failed",                    vmi({ phase: "Failed" }),           ALIVE],
    ["the VM is on no node",                 without(vmi(), "nodeName"),         ALIVE],
    ["a strategy that KubeVirt does not know", vmi({ evictionStrategy: "Odd" }),   ALIVE],
  ])("%s: no", (_, subject, domain) => expect(shouldEvacuate(subject, domain, relieving())).toBe(false));

  test("the KubeVirt CR's strategy counts where the VM has none", () => {
    const silent = without(vmi(), "evictionStrategy");
    expect(shouldEvacuate(silent, ALIVE, relieving())).toBe(false);
    expect(shouldEvacuate(silent, ALIVE, { ...relieving(), clusterStrategy: "LiveMigrate" })).toBe(true);
  });
});

const abc = ["a", "b", "c"].map((name) => resident(name));

describe("while a guest is being ended", () => {
  const signal = { vmi: vmi(), pod: pod(), domain: ALIVE, by: "kubelet: Killing" };
  const none = { pressured: [], takers: [] };

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
    const signals = [signal, { ...without(signal, "pod"), by: "domain shutdown" }];
    const once = ["CreateEvacuation", "GrowBudget", "Mark", "Event"];
    expect(verbs(planPressure(pressureWorld([], { ...none, signals })).chains.flat())).toEqual(once);
    expect(leaving(abc, { signals: abc.slice(0, 1).map((a) => ({ ...signal, ...a })) })).toEqual(["a", "b"]);
  });

  test("External is marked too, pinned or not", () => {
    const external = { ...signal, vmi: vmi({ ...EXTERNAL, ...PINNED }) };
    expect(leaving([], { ...none, signals: [external] })).toEqual(["web"]);
  });

  // prettier-ignore
  test.each([
    ["it is marked",                            { vmi: marked() }],
    ["its domain is off",                       { domain: { ...ALIVE, status: "Shutoff" } }],
    ["it cannot migrate",                       { vmi: vmi(PINNED) }],
    ["the pod is the target of its migration",  { pod: pod({ uid: "target" }), vmi: vmi({ activePods: { [pod().uid]: NODE, target: "node02" } }) }],
    ["the pod is none of its own",              { pod: pod({ uid: "other" }) }],
  ])("%s: nothing", (_, tweak) => {
    expect(planPressure(pressureWorld([], { ...none, signals: [{ ...signal, ...tweak }] })).chains).toEqual([]);
  });

  test("it has an Evacuation already: nothing", () => {
    expect(leaving([], { ...none, signals: [signal], evacuations: [newborn()] })).toEqual([]);
  });

  test.each([{ featureGates: [] }, { reconcilers: { pressure: false } }])("switched off by %j: nothing", (off) => {
    const world = pressureWorld(abc, { settings: relieving(off), signals: [signal] });
    expect(planPressure(world)).toMatchObject({ chains: [] });
  });
});
