/**
 * Tests which VMs leave a node under pressure before its kubelet evicts them, and which nodes they move to. A marked VM
 * has an evacuationNodeName.
 */
import { describe, expect, test } from "vitest";
import { VENDOR } from "../../../shared/preflight/host-cpu.ts";
import type { FitNode } from "../../../shared/preflight/fit.ts";
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

const INTEL = { [`${VENDOR}Intel`]: "true" };
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

describe("before the kubelet evicts, VMs leave a node under pressure", () => {
  test("as many at once as the KubeVirt CR's limit allows", () => {
    expect(leaving(abc)).toEqual(["a", "b"]);
    expect(leaving(abc, allowing(1))).toEqual(["a"]);
    expect(planPressure(pressureWorld(abc)).again).toBe(true);
  });

  test("with an urgent Evacuation and an Event that name the node's conditions", () => {
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

  test("fewer at once if marked VMs already leave, and none under the drain taint", () => {
    const [x, y] = ["x", "y"].map((uid) => ({ vmi: marked({ uid }), pod: { ...pod(), ...asking(GIB) } }));
    expect(leaving([...(x ? [x] : []), ...abc])).toEqual(["a"]);
    expect(leaving([...(x && y ? [x, y] : []), ...abc])).toEqual([]);
    const tainted = { ...PRESSURED, taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] };
    expect(leaving([], pressing(tainted))).toEqual([]);
  });

  // prettier-ignore
  test.each<[Phase, string, readonly string[]]>([
    ["Pending",                      "counts toward the limit", ["a"]],
    ["BackingOff",                   "does not count",          ["a", "b"]],
    ["Blocked",                      "does not count",          ["a", "b"]],
    ["WaitingForExternalController", "does not count",          ["a", "b"]],
    ["Withdrawn",                    "counts toward the limit", ["a"]],
  ])("a marked VM whose Evacuation is %s %s", (phase, _, expected) => {
    const going = vmOnNode("x", {}, { evacuationNodeName: NODE });
    const evacuations = [evacuationOf("x", { status: { phase } })];
    expect(leaving([going, ...abc], { evacuations })).toEqual(expected);
  });

  test("fewer at once if an owner or user already migrates a VM", () => {
    const byOwner = vmOnNode("x", {}, { evacuationNodeName: NODE, isMigrating: true, ...EXTERNAL });
    expect(leaving([byOwner, ...abc])).toEqual(["a"]);
    expect(leaving([vmOnNode("x", {}, { isMigrating: true }), ...abc])).toEqual(["a"]);
  });

  // prettier-ignore
  test.each<[string, Partial<VmiFacts>]>([
    ["with an Evacuation and without an evacuationNodeName",           {}],
    ["that its owner has to move, and that has an evacuationNodeName", { evacuationNodeName: NODE, ...EXTERNAL }],
  ])("except a VM %s, which does not count toward the limit", (_, staying) => {
    const vmsOnNode = [vmOnNode("x", {}, staying), vmOnNode("y", {}, staying), ...abc];
    const evacuations = [evacuationOf("x"), evacuationOf("y")];
    expect(leaving([], { pressured: [{ node: PRESSURED, labels: {}, vmsOnNode, evacuations }] })).toEqual(["a", "b"]);
  });

  test("by lowest priority, then by memory above the request", () => {
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
    ["External and paused by an I/O error",            { pausedByIoError: true, ...EXTERNAL }],
    ["crashed",               { phase: "Failed" }],
    ["being deleted",         { deleting: true }],
    ["not running yet",       { phase: "Scheduled" }],
    ["elsewhere",             { nodeName: "node02" }],
  ])("except a VM that is %s", (_, tweak) => expect(leaving([vmOnNode("x", {}, tweak)])).toEqual([]));

  // prettier-ignore
  test.each<[EndPhase, number, readonly string[]]>([
    ["Abandoned",  60, []],
    ["Abandoned",  -1, ["x"]],
  ])("again after an evacuation was %s and its back-off ends in %d s: %j", (phase, seconds, expected) => {
    const evacuations = [evacuationOf("x", { status: { phase, nextAttemptTime: time(seconds) } })];
    const vmsOnNode = [vmOnNode("x")];
    expect(leaving(vmsOnNode, { pressured: [{ node: PRESSURED, labels: {}, vmsOnNode, evacuations }] })).toEqual(expected);
  });

  // prettier-ignore
  test.each<[string, readonly string[], readonly string[]]>([
    ["after other VMs",                                  ["a"],            ["b", "c"]],
    ["as the cheapest, if no other VM can leave",        ["a", "b", "c"],  ["a"]],
  ])("if they have just moved, %s", (_, moved, expected) => {
    const vmsOnNode = abc.map((one) => (moved.includes(one.vmi.name) ? vmOnNode(one.vmi.name, {}, JUST_MOVED) : one));
    expect(leaving(vmsOnNode)).toEqual(expected);
  });

  test("if they have just moved, after VMs that already leave, and before VMs that fit no node", () => {
    const going = { vmi: marked({ uid: "x" }), pod: { ...pod(), ...asking(GIB) } };
    const last = vmOnNode("last", {}, JUST_MOVED);
    expect(leaving([going, last])).toEqual([]);
    expect(leaving([vmOnNode("large", { request: 9, guest: 12 }), last])).toEqual(["last"]);
    const reported = only("Event", planPressure(pressureWorld([last])).chains.flat());
    expect(reported.map(({ message }) => message).join()).toContain("the VM has just moved");
  });

  describe("if they are External:", () => {
    const [x, y, z] = [external("x"), external("y"), external("z")];
    const full = { candidateNodes: [candidateNode("node02", 0)] };

    // prettier-ignore
    test.each<[string, readonly VmOnNode[], Partial<PressureWorld>, readonly string[]]>([
      ["with only a mark, even without room elsewhere, because their controllers know more than Lifeboat", [x, y], full,          ["x", "y"]],
      ["with only a mark, even if they cannot migrate, because their controllers might stop them",  [external("x", PINNED)],                 {},            ["x"]],
      ["as many at once as may leave a node",            [x, y, z],                            {},            ["x", "y"]],
      ["beside the VMs that KubeVirt moves",         [x, ...abc],                          {},            ["x", "a", "b"]],
      ["fewer at once if their controllers already migrate one", [external("w", { isMigrating: true }), x, y], {}, ["x"]],
      ["fewer at once if one was marked a minute ago",         [x, y, z],                            { evacuations: [evacuationOf("x")] }, ["y"]],
      ["others if one was marked three minutes ago without effect",      [x, y, z],                            { evacuations: [evacuationOf("x", { createdAt: at(-180).getTime() })] }, ["y", "z"]],
    ])("%s", (_, vmsOnNode, tweak, expected) => expect(leaving(vmsOnNode, tweak)).toEqual(expected));
  });

  test("except terminating pods", () => {
    expect(leaving(abc.map((one) => ({ ...one, pod: { ...one.pod, deleting: true } })))).toEqual([]);
  });
});

describe("VMs of a node under pressure move to a node", () => {
  // prettier-ignore
  test.each([
    ["with a PreferNoSchedule taint",         { taints: [{ key: "x", effect: "PreferNoSchedule" }] },      true],
    ["that is not ready",                     { ready: false },                                            false],
    ["that is short of memory",               { pressures: ["MemoryPressure"] },                           false],
  ])("%s: %s", (_, tweak, takes) => {
    const other = candidateNode("node02", 8 * GIB, tweak);
    expect(abc.map(({ pod: one }) => canTake({ node: other.node }, { pod: one, cpu: {} }))).toEqual(abc.map(() => takes));
    expect(leaving(abc, { candidateNodes: [other] })).toEqual(takes ? ["a", "b"] : []);
  });

  test("unless no other node exists", () => {
    expect(leaving(abc, { candidateNodes: [] })).toEqual([]);
    expect(leaving(abc, { candidateNodes: [candidateNode(NODE, 99 * GIB)] })).toEqual([]);
  });

  test("whose room is reserved for each VM, across several nodes under pressure", () => {
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

  test("that the VM selects, as the scheduler would choose", () => {
    const asks = { ...PLAIN, nodeSelector: { disk: "fast" } };
    const picky = abc.map((one) => ({ ...one, vmi: { ...one.vmi, asks } }));
    const fast = candidateNode("node02", 8 * GIB, { labels: { disk: "fast" } });
    expect(leaving(picky)).toEqual([]);
    expect(leaving(picky, { candidateNodes: [fast] })).toEqual(["a", "b"]);
  });

  // prettier-ignore
  test.each<[string, Partial<FitNode>, readonly string[]]>([
    ["with the CPU vendor of the current node",    { labels: INTEL }, ["a", "b"]],
    ["unless its CPU is of another vendor",        {},                               []],
  ])("%s", (_, tweak, expected) => {
    const pressured = [{ node: PRESSURED, labels: INTEL, vmsOnNode: abc, evacuations: [] }];
    expect(leaving([], { pressured, candidateNodes: [candidateNode("node02", 8 * GIB, tweak)] })).toEqual(expected);
  });

  test("if the smallest pod that KubeVirt can create for the VM fits", () => {
    const placement = { nodeSelector: { "example.com/added": "by-a-webhook" } };
    expect(leaving(abc.map((one) => ({ ...one, pod: { ...one.pod, placement } })))).toEqual(["a", "b"]);
  });

  test("even if the last migration added the current node's hostname to the pod's nodeSelector", () => {
    const placement = { nodeSelector: { "kubernetes.io/hostname": NODE } };
    const sent = abc.map((one) => ({ ...one, pod: { ...one.pod, placement } }));
    expect(leaving(sent)).toEqual(["a", "b"]);
  });

  test("unless it is under pressure, even if the pod tolerates its taint", () => {
    const tolerant = abc.map((one) => ({ ...one, pod: { ...one.pod, tolerations: [{ operator: "Exists" }] } }));
    const pressured = candidateNode("node02", 8 * GIB, { pressures: ["MemoryPressure"] });
    expect(leaving(tolerant, { candidateNodes: [pressured] })).toEqual([]);
  });

  test("and the plan does not change its input", () => {
    const w = pressureWorld(abc);
    expect(planPressure(w)).toEqual(planPressure(w));
    expect(ROOM.room.get("memory")).toBe(8 * GIB);
  });
});
