/** Node pressure: who leaves a node before its kubelet kills, and who takes them. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { isTaker, planPressure } from "../../shared/policy/pressure.ts";
import { guarded, node } from "./disruptions.ts";
import { marked, MOBILITY, NODE, pod, record, time, vmi } from "./fixtures.ts";
import { GIB, leaving, PRESSED, pressureWorld, resident, ROOM } from "./pressed.ts";

const ALIVE = { status: "Running", gracefulShutdown: true } as const;

const abc = ["a", "b", "c"].map((name) => resident(name));

describe("before the kubelet kills", () => {
  test("as many leave a node at once as may, and it is looked at again at once", () => {
    expect(leaving(abc)).toEqual(["a", "b"]);
    expect(planPressure(pressureWorld(abc)).requeueAfterSeconds).toBe(0);
  });

  test("marked as urgent, for the node's condition, and said", () => {
    const both = { ...PRESSED, pressures: ["MemoryPressure", "DiskPressure"] };
    const [chain = []] = planPressure(pressureWorld(abc, { pressured: [{ node: both, residents: abc }] })).chains;
    const by = "node condition MemoryPressure, DiskPressure";
    const begun = { cause: "NodePressure", requestedBy: by, node: NODE, podUID: "pod-a", since: time(0), attempts: 0 };
    expect(chain.slice(0, 2)).toMatchObject([
      { verb: "GrowBudget" },
      { verb: "Mark", urgency: "urgent", record: begun },
    ]);
    expect(chain[2]).toMatchObject({ reason: "NodeUnderPressure", message: `${by}: moving the VM off node node01` });
  });

  // prettier-ignore
  test.each([
    ["marked",                      marked({ name: "x", uid: "x" })],
    ["marked, without a record",    vmi({ name: "x", uid: "x", evacuationNodeName: NODE })],
  ])("who already leaves counts: %s", (_, going) => {
    expect(leaving([{ vmi: going, pod: pod() }, ...abc])).toEqual(["a"]);
    expect(leaving([{ vmi: going, pod: pod() }, { ...abc[0], vmi: { ...going, uid: "y" }, pod: pod() }, ...abc])).toEqual([]);
  });

  test("on a node with the drain taint all leave as it is", () => {
    const tainted = { ...PRESSED, taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] };
    expect(leaving(abc, { pressured: [{ node: tainted, residents: abc }] })).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["who only says so in a record",         vmi({ record: record() })],
    ["… and names the drain taint",          vmi({ record: record({ cause: "DrainTaint" }) })],
    ["External, marked: its owner moves it", marked({ evictionStrategy: "External" })],
    ["marked, but cannot move",              marked({ liveMigratable: MOBILITY.pinned })],
  ])("%s takes nobody's place", (_, staying) => {
    const two = ["x", "y"].map((name) => ({ vmi: { ...staying, name, uid: name }, pod: pod() }));
    expect(leaving([...two, ...abc])).toEqual(["a", "b"]);
  });

  test.each([
    [1, ["a"]],
    [2, []],
  ])("who has moved counts until its pod is gone: %d", (departing, expected) => {
    expect(leaving(abc, { pressured: [{ node: PRESSED, residents: abc, departing }] })).toEqual(expected);
  });

  test("the limit is the KubeVirt CR's", () => {
    const limits = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 1 };
    expect(leaving(abc, { settings: guarded({}, { limits }) })).toEqual(["a"]);
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
    const settings = guarded({}, { limits });
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
    ["resting",               { record: record({ cause: "NodePressure", outcome: "Abandoned", notBefore: time(60) }) }],
  ])("left alone: %s", (_, tweak) => expect(leaving([resident("x", {}, tweak)])).toEqual([]));

  test("a terminating pod is left alone, a rested VM is not", () => {
    const [a] = abc;
    expect(a && leaving([{ ...a, pod: { ...a.pod, deleting: true } }])).toEqual([]);
    expect(leaving([resident("x", {}, { record: record({ outcome: "Abandoned", notBefore: time(-1) }) })])).toEqual([
      "x",
    ]);
  });

  test("while somebody could still leave, it is looked at again; where nobody can, it is not", () => {
    expect(planPressure(pressureWorld(abc, { takers: [] }))).toEqual({ chains: [], requeueAfterSeconds: 5 });
    expect(planPressure(pressureWorld([resident("x", {}, { evictionStrategy: "None" })]))).toEqual({ chains: [] });
    expect(planPressure(pressureWorld(abc, { pressured: [] }))).toEqual({ chains: [] });
  });

  test.each([{ featureGates: [] }, { reconcilers: { pressure: false } }])("switched off by %j: nothing", (off) => {
    const signals = abc.map(({ vmi: subject }) => ({ vmi: subject, domain: ALIVE, by: "kubelet: Killing" }));
    expect(planPressure(pressureWorld(abc, { settings: guarded({}, off), signals }))).toEqual({ chains: [] });
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
      node: node({ name: "node03", pressures: ["DiskPressure"] }),
      residents: [resident("z", {}, { nodeName: "node03" })],
    };
    const there = other.residents.map((r) => ({ ...r, pod: { ...r.pod, nodeName: "node03" } }));
    const pressured = [
      { node: PRESSED, residents: abc },
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
