/**
 * Tests that a drain which cannot succeed shuts down no guest. Restarts, stops and shutdowns wait until nothing else
 * blocks the node.
 */
import { expect, test } from "vitest";
import { viewsOf } from "../../../shared/maintenance/held-back.ts";
import { type Kind, textOf } from "../../../shared/facts/facts.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import type { Selection } from "../../../shared/kube/selection.ts";
import { selectEvacuationsFor, selectPodsOn, selectVmisOn } from "../../../shared/kube/selections.ts";
import { PREFLIGHT_PODS } from "../../../shared/preflight/views.ts";
import { type FactMap, OddList } from "../../support/facts.ts";
import { NODE, node, time } from "../../support/fixtures.ts";
import { foreignBudget, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import {
  CORDONED,
  nextOf,
  nodeWorld,
  own,
  pinnedVm,
  type Situation,
  started,
} from "../../support/maintenance/worlds.ts";

const [DB, NONE, WEB] = [pinnedVm("db"), vmiOf("none", { evictionStrategy: "None" }), vmiOf("web")];
const STUCK = pinnedVm("stuck");
const ENDING = [DB, NONE];
const PODS = [launcher("db"), launcher("none")];
const vms = { "apps/db": {}, "apps/none": {} };
const blockers = [
  { namespace: "apps", name: "db", uid: DB.uid, reason: "NotMigratable", message: "", since: time(-90) },
];
const asking = (forceShutdowns: boolean, more: typeof blockers = []) =>
  started({
    spec: { forceShutdowns, virtualMachines: { whenBlocked: "Restart" } },
    status: { blockers: [...blockers, ...more] },
  });
const noRoom = [{ namespace: "apps", name: "stuck", uid: STUCK.uid, reason: "NoRestart", message: "", since: time(0) }];

const onNode = (f: Situation["left"] = {}) => ({ ...f, pods: [...PODS, ...(f.pods ?? [])] });
const lone = plainPod("lone", { owners: [] });
const cart = plainPod("cart");
const guarded = plainPod("guarded");
const keptPod = launcher("stuck", { labels: { ...launcher("stuck").labels, app: "guarded" } });
const restarting = (name: string, seconds: number) =>
  own(name, { spec: { by: "Restart" }, status: { phase: "Restarting", startTime: time(-seconds) } });

const oddIn = (kind: Kind, selection: Selection, name: string, items: readonly object[] = []): Situation => ({
  more: { [textOf({ kind, selection })]: new OddList(items, `apps/${name}: spec.x: too large`) },
});
const oddVmi = new ClusterError({
  reason: "Unintelligible",
  request: "GET odd",
  issue: "spec.x: too large",
  odd: true,
});
const oddVm = (name: string): FactMap => ({ [`virtualmachines apps/${name}`]: oddVmi });
const unnamed: FactMap = { "virtualmachineinstances apps/odd": oddVmi };
const UNREADABLE = {
  vmi: oddIn("virtualmachineinstances", selectVmisOn(NODE), "odd", ENDING),
  launched: { left: onNode({ pods: [launcher("odd")] }), more: unnamed },
  pod: oddIn(PREFLIGHT_PODS, selectPodsOn(NODE), "odd", PODS),
  evacuation: oddIn("evacuations", selectEvacuationsFor("kernel"), "odd"),
} as const satisfies Record<string, Situation>;

// prettier-ignore
const ROWS: readonly (readonly [when: string, world: Situation, isHeld: boolean])[] = [
  ["no other VM or pod is on the node",                      {},                                                                         false],
  ["another VM migrates",                              { vmis: [...ENDING, { ...WEB, isMigrating: true }] },                       true],
  ["another VM waits for its turn",                  { vmis: [...ENDING, WEB] },                                                 true],
  ["another VM cannot leave",                          { vmis: [...ENDING, STUCK], vms: { ...vms, "apps/stuck": { runStrategy: "Once" } } }, true],
  ["the VirtualMachine of another VM cannot be read", { vmis: [...ENDING, STUCK], more: oddVm("stuck") },                        true],
  ["an owner keeps another VM for an hour",           { vmis: [...ENDING, WEB], vms: { ...vms, "apps/web": { notBefore: time(3600) } } }, true],
  ["another restart found no room",     { vmis: [...ENDING, STUCK], vms: { ...vms, "apps/stuck": {} }, ne: asking(false, noRoom) }, true],
  ["another restart is in progress",                   { vmis: [...ENDING, STUCK], evacuations: [restarting("stuck", 9)] },        true],
  ["a restarted VM does not start again",        { evacuations: [restarting("other", 300)] },                                true],
  ["a pod has no controller",                    { left: onNode({ pods: [lone] }) },                                     true],
  ["a pod has no controller and other pods are left",                      { left: onNode({ pods: [lone] }), ne: { ...asking(false), spec: { ...asking(false).spec, otherPods: "Leave" } } }, false],
  ["a budget keeps a pod",                       { left: onNode({ pods: [guarded], budgets: [foreignBudget("b", "guarded")] }) }, true],
  ["a budget only delays another restart",       { vmis: [...ENDING, STUCK], vms: { ...vms, "apps/stuck": {} }, left: onNode({ pods: [keptPod], budgets: [foreignBudget("b", "guarded")] }) }, false],
  ["a pod is about to leave",                    { left: onNode({ pods: [cart] }) },                                     false],
  ["a VMI of the node cannot be read",           UNREADABLE.vmi,                                                             true],
  ["only a launcher pod shows that a VMI cannot be read", UNREADABLE.launched,                                               true],
  ["a pod of the node cannot be read",           UNREADABLE.pod,                                                             true],
  ["a VMI cannot be read and forceShutdowns is set", { ...UNREADABLE.launched, ne: asking(true) },                           false],
  ["the VirtualMachine of another VM cannot be read and forceShutdowns is set", { ne: asking(true), vmis: [...ENDING, STUCK], more: oddVm("stuck") }, false],
  ["a pod and a VM block and forceShutdowns is set", { ne: asking(true), vmis: [...ENDING, WEB], left: onNode({ pods: [lone] }) }, false],
];

test.each(ROWS)("when %s, guests that would end wait: $2", (_, world, isHeld) => {
  const w = nodeWorld({ node: node(), ne: asking(false), vmis: ENDING, vms, left: onNode(), ...world });
  const fates = viewsOf(w)
    .filter(({ vmi }) => ENDING.includes(vmi))
    .map(({ fate }) => fate);
  expect(fates).toEqual(isHeld ? ["Waits", "Waits"] : ["ShutsDown", "Goes"]);
});

// prettier-ignore
test.each<[string, Situation, fates: readonly string[]]>([
  ["",                             {},                                                                           ["Blocked", "Waits"]],
  [" and forceShutdowns is set",   { ne: asking(true) },                                                         ["Blocked", "Goes"]],
  [" and a stop is requested, not a restart",  { ne: started({ spec: { forceShutdowns: true, virtualMachines: { whenBlocked: "ShutDown" } }, status: { blockers } }) }, ["Blocked", "Goes"]],
])("no restart or stop starts while an own Evacuation cannot be read%s, and the blocker says why", (_, world, fates) => {
  const situation = { node: node(), ne: asking(false), vmis: ENDING, vms, left: onNode(), ...UNREADABLE.evacuation, ...world };
  const views = viewsOf(nodeWorld(situation));
  expect(views.map(({ fate }) => fate)).toEqual(fates);
  expect(views[0]?.blocker?.message).toContain("Lifeboat cannot read Evacuation apps/odd: spec.x: too large");
  const verbs = nextOf({ ...situation, node: node(CORDONED) }).chains?.flat().map(({ verb }) => verb);
  expect(verbs).not.toContain("CreateEvacuation");
});

const moving = { evacuations: [own("odd", { status: { phase: "Migrating" } })] };

test("a VM whose VMI becomes unreadable during its migration does not count as moving, and the node is Blocked", () => {
  const next = nextOf({ ...moving, ...oddIn("virtualmachineinstances", selectVmisOn(NODE), "odd") });
  expect([next.phase, next.more?.virtualMachines?.moving]).toEqual(["Blocked", 0]);
  expect(next.message).toContain("apps/odd: Lifeboat cannot read this VMI");
  const elsewhere = nextOf({ ...moving, ...oddIn("virtualmachineinstances", selectVmisOn(NODE), "other") });
  expect([elsewhere.phase, elsewhere.more?.virtualMachines?.moving]).toEqual(["Evacuating", 1]);
});

test("the blocker is named first, and a guest that waits names its condition", () => {
  const next = nextOf({ ne: asking(false), vmis: ENDING, vms, left: onNode({ pods: [lone] }) });
  expect(next.phase).toBe("Blocked");
  expect(next.message).toMatch(/^VMs or pods that cannot leave: 1; the first: apps\/lone/);
  const said = next.more?.blockers?.map(({ name, message }) => [name, message]);
  expect(said).toContainEqual(["none", expect.stringContaining("once nothing else blocks the node")]);
  expect(next.more?.blockers?.find(({ name }) => name === "db")?.since).toBe(time(-90));
  expect(next.chains?.flat()).toEqual([]);
});

// prettier-ignore
test.each<[string, Situation, kind: string]>([
  ["a VMI",                                        oddIn("virtualmachineinstances", selectVmisOn(NODE), "odd"),   "VMI"],
  ["a VMI that only its launcher pod names",       { left: { pods: [launcher("odd")] }, more: unnamed },          "VMI"],
  ["a VMI that its launcher pod names, too",       { left: { pods: [launcher("odd")] }, more: { ...unnamed, ...oddIn("virtualmachineinstances", selectVmisOn(NODE), "odd").more } }, "VMI"],
  ["a pod",                                        oddIn(PREFLIGHT_PODS, selectPodsOn(NODE), "odd"),              "pod"],
  ["an own Evacuation",                            oddIn("evacuations", selectEvacuationsFor("kernel"), "odd"),   "Evacuation"],
])("a node is not empty while %s cannot be read, and the only blocker names the object", (_, world, kind) => {
  const next = nextOf(world);
  expect(next.phase).toBe("Blocked");
  expect(next.message).toContain("apps/odd");
  const whoCanFix = "the owner of the object: correct what the message names, or make the object smaller";
  const message = `Lifeboat cannot read this ${kind}: spec.x: too large`;
  expect(next.more?.blockers).toEqual([
    { namespace: "apps", name: "odd", reason: "Unreadable", message, whoCanFix, since: time(0) },
  ]);
});

test("a VM that the status lists has no outcome while its VMI cannot be read, and another VM still moves", () => {
  const web = { namespace: "apps", name: "odd", uid: "vmi-odd" };
  const next = nextOf({
    ne: started({ status: { outcomes: [web] } }),
    vmis: [{ ...WEB, isMigrating: true }],
    more: {
      ...unnamed,
      ...oddIn("virtualmachineinstances", selectVmisOn(NODE), "odd", [{ ...WEB, isMigrating: true }]).more,
    },
  });
  expect(next.phase).toBe("Evacuating");
  expect(next.more?.outcomes).toContainEqual(web);
  expect(next.more?.blockers?.map(({ name, reason }) => [name, reason])).toEqual([["odd", "Unreadable"]]);
});
