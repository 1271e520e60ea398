/** Node pressure: who leaves a node before its kubelet kills, and who takes them. */
import { describe, expect, test } from "vitest";
import { PLAIN } from "../../../shared/kube/guest.ts";
import type { NodeFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EndPhase, Phase } from "../../../shared/kube/evacuation.ts";
import { canTake, planPressure, type PressureWorld, type VmOnNode } from "../../../shared/pressure/pressure.ts";
import { at, EXTERNAL, marked, NODE, only, PINNED, pod, time } from "../../support/fixtures.ts";
import {
  asking,
  evacuationOf,
  GIB,
  leaving,
  PRESSURED,
  pressureWorld,
  relieving,
  vmOnNode,
  ROOM,
  candidateNode,
} from "../../support/pressure/pressured.ts";

const JUST_MOVED = { movedAt: at(-60).getTime() };
const abc = ["a", "b", "c"].map((name) => vmOnNode(name));

function external(name: string, tweak: Partial<VmiFacts> = {}): VmOnNode {
  return vmOnNode(name, {}, { ...EXTERNAL, ...tweak });
}

function pressing(of: NodeFacts): Partial<PressureWorld> {
  return { pressured: [{ node: of, labels: {}, vmsOnNode: abc, evacuations: [] }] };
}

function allowing(parallelOutboundMigrationsPerNode: number): Partial<PressureWorld> {
  return { settings: relieving({ limits: { parallelOutboundMigrationsPerNode } }) };
}

describe("before the kubelet kills", () => {
  test("as many leave a node at once as may, by the KubeVirt CR's limit", () => {
    expect(leaving(abc)).toEqual(["a", "b"]);
    expect(leaving(abc, allowing(1))).toEqual(["a"]);
    expect(planPressure(pressureWorld(abc)).again).toBe(true);
  });

  test("with an Evacuation, marked as urgent, for the node's condition, and said", () => {
    const both = { ...PRESSURED, pressures: ["MemoryPressure", "DiskPressure"] };
    const [chain = []] = planPressure(pressureWorld([], pressing(both))).chains;
    const by = "node condition MemoryPressure, DiskPressure";
    const spec = { vmiName: "a", cause: "NodePressure", requestedBy: by, pod: { uid: "pod-a" } };
    expect(chain).toMatchObject([
      { verb: "CreateEvacuation", evacuation: { namespace: "apps", spec } },
      { verb: "CreateBudget" },
      { verb: "Label", urgency: "urgent" },
      { verb: "Mark" },
      { reason: "NodeUnderPressure", message: `${by}: moving the VM off node node01` },
    ]);
  });

  test("who is marked counts among those who leave; on a node with the drain taint that is every VM", () => {
    const [x, y] = ["x", "y"].map((uid) => ({ vmi: marked({ uid }), pod: { ...pod(), ...asking(GIB) } }));
    expect(leaving([...(x ? [x] : []), ...abc])).toEqual(["a"]);
    expect(leaving([...(x && y ? [x, y] : []), ...abc])).toEqual([]);
    const tainted = { ...PRESSURED, taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] };
    expect(leaving([], pressing(tainted))).toEqual([]);
  });

  // prettier-ignore
  test.each<[Phase, string, readonly string[]]>([
    ["Pending",         "takes a place",  ["a"]],
    ["BackingOff",      "takes none",     ["a", "b"]],
    ["Blocked",         "takes none",     ["a", "b"]],
    ["WaitingForExternalController", "takes none",     ["a", "b"]],
    ["Withdrawn",       "takes a place",  ["a"]],
  ])("a marked VM whose Evacuation is %s %s", (phase, _, expected) => {
    const going = vmOnNode("x", {}, { evacuationNodeName: NODE });
    const evacuations = [evacuationOf("x", { status: { phase } })];
    expect(leaving([going, ...abc], { evacuations })).toEqual(expected);
  });

  test("a VM that its owner, or a user, migrates takes a place", () => {
    const byOwner = vmOnNode("x", {}, { evacuationNodeName: NODE, isMigrating: true, ...EXTERNAL });
    expect(leaving([byOwner, ...abc])).toEqual(["a"]);
    expect(leaving([vmOnNode("x", {}, { isMigrating: true }), ...abc])).toEqual(["a"]);
  });

  // prettier-ignore
  test.each<[string, Partial<VmiFacts>]>([
    ["with an Evacuation, but no mark",      {}],
    ["External, marked: its owner moves it", { evacuationNodeName: NODE, ...EXTERNAL }],
  ])("%s: takes no place, and is not chosen", (_, staying) => {
    const vmsOnNode = [vmOnNode("x", {}, staying), vmOnNode("y", {}, staying), ...abc];
    const evacuations = [evacuationOf("x"), evacuationOf("y")];
    expect(leaving([], { pressured: [{ node: PRESSURED, labels: {}, vmsOnNode, evacuations }] })).toEqual(["a", "b"]);
  });

  test("the cheapest first: priority, then memory over request", () => {
    const many = [
      vmOnNode("dear", { priority: 1000, guest: 9 }),
      vmOnNode("plain", { guest: 1 }),
      vmOnNode("greedy", { guest: 3 }),
      vmOnNode("humble", { request: 4, guest: 4.5 }),
      vmOnNode("cheap", { priority: -1 }),
    ];
    const order = ["cheap", "greedy", "humble", "plain", "dear"];
    expect(leaving(many, { ...allowing(9), candidateNodes: [candidateNode("node02", 64 * GIB)] })).toEqual(order);
  });

  // prettier-ignore
  test.each<[string, Partial<VmiFacts>]>([
    ["pinned",                PINNED],
    ["paused by an I/O error", { pausedByIoError: true }],
    ["… External",            { pausedByIoError: true, ...EXTERNAL }],
    ["crashed",               { phase: "Failed" }],
    ["being deleted",         { deleting: true }],
    ["not running yet",       { phase: "Scheduled" }],
    ["elsewhere",             { nodeName: "node02" }],
  ])("left alone: %s", (_, tweak) => expect(leaving([vmOnNode("x", {}, tweak)])).toEqual([]));

  // prettier-ignore
  test.each<[EndPhase, number, readonly string[]]>([
    ["Abandoned",  60, []],
    ["Abandoned",  -1, ["x"]],
  ])("%s, its back-off over in %d s: %j", (phase, seconds, expected) => {
    const evacuations = [evacuationOf("x", { status: { phase, nextAttemptTime: time(seconds) } })];
    const vmsOnNode = [vmOnNode("x")];
    expect(leaving(vmsOnNode, { pressured: [{ node: PRESSURED, labels: {}, vmsOnNode, evacuations }] })).toEqual(expected);
  });

  // prettier-ignore
  test.each<[string, readonly string[], readonly string[]]>([
    ["others go first",                                          ["a"],            ["b", "c"]],
    ["where nothing else leaves, one goes, the cheapest",        ["a", "b", "c"],  ["a"]],
  ])("just moved: %s", (_, moved, expected) => {
    const vmsOnNode = abc.map((one) => (moved.includes(one.vmi.name) ? vmOnNode(one.vmi.name, {}, JUST_MOVED) : one));
    expect(leaving(vmsOnNode)).toEqual(expected);
  });

  test("just moved: it waits for one that already leaves, and not for one that no node can take", () => {
    const going = { vmi: marked({ uid: "x" }), pod: { ...pod(), ...asking(GIB) } };
    const last = vmOnNode("last", {}, JUST_MOVED);
    expect(leaving([going, last])).toEqual([]);
    expect(leaving([vmOnNode("large", { request: 9, guest: 12 }), last])).toEqual(["last"]);
    const reported = only("Event", planPressure(pressureWorld([last])).chains.flat());
    expect(reported.map(({ message }) => message).join()).toContain("although it has just moved");
  });

  describe("External VMs", () => {
    const [x, y, z] = [external("x"), external("y"), external("z")];
    const full = { candidateNodes: [candidateNode("node02", 0)] };

    // prettier-ignore
    test.each<[string, readonly VmOnNode[], Partial<PressureWorld>, readonly string[]]>([
      ["are marked, also where no other node has room: their controllers know where to", [x, y], full,          ["x", "y"]],
      ["cannot migrate: their controllers may stop them",  [external("x", PINNED)],                 {},            ["x"]],
      ["as many at a time as may leave a node",            [x, y, z],                            {},            ["x", "y"]],
      ["take no place of VMs that KubeVirt moves",         [x, ...abc],                          {},            ["x", "a", "b"]],
      ["one that its controller migrates takes a place of theirs", [external("w", { isMigrating: true }), x, y], {}, ["x"]],
      ["one that was asked a minute ago has time",         [x, y, z],                            { evacuations: [evacuationOf("x")] }, ["y"]],
      ["… three minutes ago: others are marked, too",      [x, y, z],                            { evacuations: [evacuationOf("x", { createdAt: at(-180).getTime() })] }, ["y", "z"]],
    ])("%s", (_, vmsOnNode, tweak, expected) => expect(leaving(vmsOnNode, tweak)).toEqual(expected));
  });

  test("a terminating pod is left alone", () => {
    expect(leaving(abc.map((one) => ({ ...one, pod: { ...one.pod, deleting: true } })))).toEqual([]);
  });
});

describe("who takes them", () => {
  // prettier-ignore
  test.each([
    ["one to be avoided",         { taints: [{ key: "x", effect: "PreferNoSchedule" }] },      true],
    ["not ready",                 { ready: false },                                            false],
    ["short of memory",           { pressures: ["MemoryPressure"] },                           false],
  ])("%s: %s", (_, tweak, takes) => {
    const other = candidateNode("node02", 8 * GIB, tweak);
    expect(abc.map(({ pod: one }) => canTake({ node: other.node }, { pod: one, cpu: {} }))).toEqual(abc.map(() => takes));
    expect(leaving(abc, { candidateNodes: [other] })).toEqual(takes ? ["a", "b"] : []);
  });

  test("none, or the node itself: nothing moves", () => {
    expect(leaving(abc, { candidateNodes: [] })).toEqual([]);
    expect(leaving(abc, { candidateNodes: [candidateNode(NODE, 99 * GIB)] })).toEqual([]);
  });

  test("what is promised to one is not there for the next, on whichever node", () => {
    expect(leaving(abc, { candidateNodes: [candidateNode("node02", 1.5 * GIB)] })).toEqual(["a"]);
    const z = vmOnNode("z", {}, { nodeName: "node03" });
    const there = {
      node: { ...PRESSURED, name: "node03" },
      labels: {},
      vmsOnNode: [{ ...z, pod: { ...z.pod, nodeName: "node03" } }],
    };
    const pressured = [...(pressing(PRESSURED).pressured ?? []), { ...there, evacuations: [] }];
    expect(leaving([], { pressured, candidateNodes: [candidateNode("node02", 2 * GIB)] })).toEqual(["a", "b"]);
    expect(leaving([], { pressured, candidateNodes: [candidateNode("node02", 3 * GIB)] })).toEqual(["a", "b", "z"]);
  });

  test("a VM that asks for other nodes: one as the scheduler sees it", () => {
    const asks = { ...PLAIN, nodeSelector: { disk: "fast" } };
    const picky = abc.map((one) => ({ ...one, vmi: { ...one.vmi, asks } }));
    const fast = candidateNode("node02", 8 * GIB, { labels: { disk: "fast" } });
    expect(leaving(picky)).toEqual([]);
    expect(leaving(picky, { candidateNodes: [fast] })).toEqual(["a", "b"]);
  });

  test("a hostname that its last migration has added does not keep a VM there", () => {
    const placement = { nodeSelector: { "kubernetes.io/hostname": NODE } };
    const sent = abc.map((one) => ({ ...one, pod: { ...one.pod, placement } }));
    expect(leaving(sent)).toEqual(["a", "b"]);
  });

  test("a node under pressure takes no pod, though it tolerates the taint", () => {
    const tolerant = abc.map((one) => ({ ...one, pod: { ...one.pod, tolerations: [{ operator: "Exists" }] } }));
    const pressured = candidateNode("node02", 8 * GIB, { pressures: ["MemoryPressure"] });
    expect(leaving(tolerant, { candidateNodes: [pressured] })).toEqual([]);
  });

  test("the world is not touched", () => {
    const w = pressureWorld(abc);
    expect(planPressure(w)).toEqual(planPressure(w));
    expect(ROOM.room.get("memory")).toBe(8 * GIB);
  });
});
