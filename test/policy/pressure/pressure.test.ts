/** Node pressure: who leaves a node before its kubelet kills, and who takes them. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import type { EndPhase, Phase } from "../../../shared/policy/evacuation/phase.ts";
import { isTaker, planPressure } from "../../../shared/policy/pressure/pressure.ts";
import { marked, MOBILITY, node, NODE, pod, time, vmi, without } from "../fixtures.ts";
import { evacuationOf, GIB, leaving, PRESSED, pressureWorld, relieving, resident, ROOM } from "./pressed.ts";

const ALIVE = { status: "Running", gracefulShutdown: true } as const;

const abc = ["a", "b", "c"].map((name) => resident(name));

describe("before the kubelet kills", () => {
  test("as many leave a node at once as may", () => {
    expect(leaving(abc)).toEqual(["a", "b"]);
    expect(planPressure(pressureWorld(abc)).again).toBe(true);
  });

  test("with an Evacuation, marked as urgent, for the node's condition, and said", () => {
    const both = { ...PRESSED, pressures: ["MemoryPressure", "DiskPressure"] };
    const pressured = [{ node: both, residents: abc, evacuations: [] }];
    const [chain = []] = planPressure(pressureWorld(abc, { pressured })).chains;
    const by = "node condition MemoryPressure, DiskPressure";
    const spec = { vmiName: "a", cause: "NodePressure", requestedBy: by, pod: { uid: "pod-a" } };
    expect(chain).toMatchObject([
      { verb: "CreateEvacuation", evacuation: { namespace: "apps", spec } },
      { verb: "GrowBudget" },
      { verb: "Mark", urgency: "urgent" },
      { reason: "NodeUnderPressure", message: `${by}: moving the VM off node node01` },
    ]);
  });

  test("who is marked counts among those who leave", () => {
    const going = marked({ name: "x", uid: "x" });
    expect(leaving([{ vmi: going, pod: pod() }, ...abc])).toEqual(["a"]);
    expect(leaving([{ vmi: going, pod: pod() }, { vmi: { ...going, uid: "y" }, pod: pod() }, ...abc])).toEqual([]);
  });

  test("on a node with the drain taint all leave as it is", () => {
    const tainted = { ...PRESSED, taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] };
    expect(leaving(abc, { pressured: [{ node: tainted, residents: abc, evacuations: [] }] })).toEqual([]);
  });

  // prettier-ignore
  test.each<[Phase, string, readonly string[]]>([
    ["Pending",         "takes a place",  ["a"]],
    ["Migrating",       "takes a place",  ["a"]],
    ["BackingOff",      "takes none",     ["a", "b"]],
    ["Blocked",         "takes none",     ["a", "b"]],
    ["WaitingForOwner", "takes none",     ["a", "b"]],
    ["Withdrawn",       "takes a place",  ["a"]],
  ])("a marked VM whose Evacuation is %s %s", (phase, _, expected) => {
    const going = resident("x", {}, { evacuationNodeName: NODE });
    const evacuations = [evacuationOf("x", { status: { phase } })];
    expect(leaving([going, ...abc], { evacuations })).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    ["with an Evacuation, but no mark",      vmi()],
    ["External, marked: its owner moves it", marked({ evictionStrategy: "External" })],
    ["marked, but cannot move",              marked({ liveMigratable: MOBILITY.pinned })],
  ])("%s: takes no place, and is not chosen", (_, { evacuationNodeName, ...staying }) => {
    const mark = evacuationNodeName === undefined ? {} : { evacuationNodeName };
    const two = ["x", "y"].map((name) => resident(name, {}, { ...without(staying, "name", "uid", "activePods"), ...mark }));
    const evacuations = ["x", "y"].map((name) => evacuationOf(name));
    const pressured = [{ node: PRESSED, residents: [...two, ...abc], evacuations }];
    expect(leaving([], { pressured })).toEqual(["a", "b"]);
  });

  test("the limit is the KubeVirt CR's", () => {
    const limits = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 1 };
    expect(leaving(abc, { settings: relieving({ limits }) })).toEqual(["a"]);
  });

  test("the cheapest first: priority, then memory over request", () => {
    const many = [
      resident("dear", { priority: 1000, guest: 9 }),
      resident("plain", { guest: 1 }),
      resident("greedy", { guest: 3 }),
      resident("humble", { request: 4, guest: 4.5 }),
      resident("cheap", { priority: -1 }),
    ];
    const limits = { parallelMigrationsPerCluster: 9, parallelOutboundMigrationsPerNode: 9 };
    const settings = relieving({ limits });
    expect(leaving(many, { settings, takers: [{ ...ROOM, freeMemory: 64 * GIB }] })).toEqual([
      "cheap",
      "greedy",
      "humble",
      "plain",
      "dear",
    ]);
  });

  // prettier-ignore
  test.each<[string, Partial<VmiFacts>]>([
    ["pinned",                { liveMigratable: MOBILITY.pinned }],
    ["External",              { evictionStrategy: "External" }],
    ["None",                  { evictionStrategy: "None" }],
    ["odd",                   { evictionStrategy: "Odd" }],
    ["being deleted",         { deleting: true }],
    ["ended",                 { phase: "Failed" }],
    ["not running yet",       { phase: "Scheduled" }],
    ["elsewhere",             { nodeName: "node02" }],
  ])("left alone: %s", (_, tweak) => expect(leaving([resident("x", {}, tweak)])).toEqual([]));

  // prettier-ignore
  test.each<[EndPhase, number, readonly string[]]>([
    ["Abandoned",  60, []],
    ["Withdrawn",  60, []],
    ["Abandoned",  -1, ["x"]],
  ])("%s, its back-off over in %d s: %j", (phase, seconds, expected) => {
    const evacuations = [evacuationOf("x", { status: { phase, nextAttemptTime: time(seconds) } })];
    const residents = [resident("x")];
    expect(leaving(residents, { pressured: [{ node: PRESSED, residents, evacuations }] })).toEqual(expected);
  });

  test("a terminating pod is left alone", () => {
    expect(leaving(abc.map((one) => ({ ...one, pod: { ...one.pod, deleting: true } })))).toEqual([]);
  });

  test.each([{ featureGates: [] }, { reconcilers: { pressure: false } }])("switched off by %j: nothing", (off) => {
    const signals = abc.map(({ vmi: subject }) => ({ vmi: subject, domain: ALIVE, by: "kubelet: Killing" }));
    expect(planPressure(pressureWorld(abc, { settings: relieving(off), signals }))).toMatchObject({ chains: [] });
  });
});

describe("who takes them", () => {
  // prettier-ignore
  test.each([
    ["a free node",               {},                                                          true],
    ["one to be avoided",         { taints: [{ key: "x", effect: "PreferNoSchedule" }] },      true],
    ["not ready",                 { ready: false },                                            false],
    ["cordoned",                  { unschedulable: true },                                     false],
    ["tainted NoSchedule",        { taints: [{ key: "x", effect: "NoSchedule" }] },            false],
    ["tainted NoExecute",         { taints: [{ key: "x", effect: "NoExecute" }] },             false],
    ["short of memory",           { pressures: ["MemoryPressure"] },                           false],
    ["short of disk",             { pressures: ["DiskPressure"] },                             false],
    ["short of processes",        { pressures: ["PIDPressure"] },                              false],
  ])("%s: %s", (_, tweak, takes) => {
    const taker = node({ name: "node02", ...tweak });
    expect(isTaker(taker)).toBe(takes);
    expect(leaving(abc, { takers: [{ ...ROOM, node: taker }] })).toEqual(takes ? ["a", "b"] : []);
  });

  test("nobody: nothing moves", () => expect(leaving(abc, { takers: [] })).toEqual([]));

  test("not the node itself", () => {
    expect(leaving(abc, { takers: [{ node: node(), freeMemory: 99 * GIB }] })).toEqual([]);
  });

  test("what is promised to one is not there for the next, on whichever node", () => {
    expect(leaving(abc, { takers: [{ ...ROOM, freeMemory: 1.5 * GIB }] })).toEqual(["a"]);
    const other = {
      evacuations: [],
      node: node({ name: "node03", pressures: ["DiskPressure"] }),
      residents: [resident("z", {}, { nodeName: "node03" })],
    };
    const there = other.residents.map((r) => ({ ...r, pod: { ...r.pod, nodeName: "node03" } }));
    const pressured = [
      { node: PRESSED, residents: abc, evacuations: [] },
      { ...other, residents: there },
    ];
    expect(leaving([], { pressured, takers: [{ ...ROOM, freeMemory: 2 * GIB }] })).toEqual(["a", "b"]);
    expect(leaving([], { pressured, takers: [{ ...ROOM, freeMemory: 3 * GIB }] })).toEqual(["a", "b", "z"]);
  });

  test("one that is too large does not keep a smaller one", () => {
    expect(leaving([resident("large", { request: 9, guest: 12 }), resident("small")])).toEqual(["small"]);
  });

  test("the world is not touched", () => {
    const w = pressureWorld(abc);
    expect(planPressure(w)).toEqual(planPressure(w));
    expect(ROOM.freeMemory).toBe(8 * GIB);
  });
});
