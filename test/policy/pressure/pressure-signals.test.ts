/** Guests that are being ended by a kubelet, or shut down: who moves instead, and is marked at once. */
import { describe, expect, test } from "vitest";
import { planPressure, shouldEvacuate } from "../../../shared/policy/pressure/pressure.ts";
import { EVICTION_STRATEGIES } from "../../../shared/policy/strategy.ts";
import { marked, MOBILITY, newborn, NODE, only, pod, POD_NAME, POD_UID, verbs, vmi, without } from "../fixtures.ts";
import { leaving, pressureWorld, relieving, resident } from "./pressed.ts";

const ALIVE = { status: "Running", gracefulShutdown: true } as const;

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
    ["a strategy that nobody knows",         vmi({ evictionStrategy: "Odd" }),   ALIVE],
  ])("%s: no", (_, subject, domain) => expect(shouldEvacuate(subject, domain, relieving())).toBe(false));

  test("the KubeVirt CR's strategy counts where the VM has none", () => {
    const silent = without(vmi(), "evictionStrategy");
    expect(shouldEvacuate(silent, ALIVE, relieving())).toBe(false);
    expect(shouldEvacuate(silent, ALIVE, { ...relieving(), clusterStrategy: "LiveMigrate" })).toBe(true);
  });
});

const abc = ["a", "b", "c"].map((name) => resident(name));

describe("while a guest is being ended", () => {
  const [a] = abc;
  const signal = { vmi: vmi(), pod: pod(), domain: ALIVE, by: "kubelet: Killing" };
  const none = { pressured: [], takers: [] };

  test("it is marked at once, whatever the limits and the room elsewhere", () => {
    const signals = ["a", "b", "c"].map((name) => ({
      ...signal,
      vmi: vmi({ name, uid: name }),
      by: "domain shutdown",
    }));
    expect(leaving([], { ...none, signals })).toEqual(["a", "b", "c"]);
    const [created] = only("CreateEvacuation", planPressure(pressureWorld([], { ...none, signals })).chains.flat());
    const spec = { cause: "NodePressure", requestedBy: "domain shutdown", pod: { name: POD_NAME, uid: POD_UID } };
    expect(created?.evacuation.spec).toMatchObject(spec);
  });

  test("once, however many say so, and counts among those who leave", () => {
    const twice = [signal, { ...without(signal, "pod"), by: "domain shutdown" }];
    expect(verbs(planPressure(pressureWorld([], { ...none, signals: twice })).chains.flat())).toEqual([
      "CreateEvacuation",
      "GrowBudget",
      "Mark",
      "Event",
    ]);
    const resident0 = a ? [{ ...signal, vmi: a.vmi, pod: a.pod }] : [];
    expect(leaving(abc, { signals: resident0 })).toEqual(["a", "b"]);
  });

  test("External is marked too, pinned or not", () => {
    const external = vmi({ evictionStrategy: "External", liveMigratable: MOBILITY.pinned });
    expect(leaving([], { ...none, signals: [{ ...signal, vmi: external }] })).toEqual(["web"]);
  });

  // prettier-ignore
  test.each([
    ["it is marked",                            { vmi: marked() }],
    ["its domain is off",                       { domain: { ...ALIVE, status: "Shutoff" } }],
    ["it cannot migrate",                       { vmi: vmi({ liveMigratable: MOBILITY.pinned }) }],
    ["the pod is the target of its migration",  { pod: pod({ uid: "target" }), vmi: vmi({ activePods: { [POD_UID]: NODE, target: "node02" } }) }],
    ["the pod is none of its own",              { pod: pod({ uid: "other" }) }],
  ])("%s: nothing", (_, tweak) => {
    expect(planPressure(pressureWorld([], { ...none, signals: [{ ...signal, ...tweak }] })).chains).toEqual([]);
  });

  test("it has an Evacuation already: nothing", () => {
    const world = { ...none, signals: [signal], evacuations: [newborn()] };
    expect(planPressure(pressureWorld([], world)).chains).toEqual([]);
  });
});
