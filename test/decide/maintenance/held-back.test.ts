/**
 * Tests that a drain which cannot succeed shuts down no guest. Restarts, stops and shutdowns wait until nothing else
 * blocks the node.
 */
import { expect, test } from "vitest";
import { viewsOf } from "../../../shared/maintenance/held-back.ts";
import { node, time } from "../../support/fixtures.ts";
import { foreignBudget, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import { nextOf, nodeWorld, own, pinnedVm, type Situation, started } from "../../support/maintenance/worlds.ts";

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
const restarting = (name: string, seconds: number) =>
  own(name, { spec: { by: "Restart" }, status: { phase: "Restarting", startTime: time(-seconds) } });

// prettier-ignore
const ROWS: readonly (readonly [when: string, world: Situation, isHeld: boolean])[] = [
  ["no other VM or pod is on the node",                      {},                                                                         false],
  ["another VM migrates",                              { vmis: [...ENDING, { ...WEB, isMigrating: true }] },                       true],
  ["another VM waits for its turn",                  { vmis: [...ENDING, WEB] },                                                 true],
  ["another VM cannot leave",                          { vmis: [...ENDING, STUCK], vms: { ...vms, "apps/stuck": { runStrategy: "Once" } } }, true],
  ["an owner keeps another VM for an hour",           { vmis: [...ENDING, WEB], vms: { ...vms, "apps/web": { notBefore: time(3600) } } }, true],
  ["another restart found no room",     { vmis: [...ENDING, STUCK], vms: { ...vms, "apps/stuck": {} }, ne: asking(false, noRoom) }, true],
  ["another restart is in progress",                   { vmis: [...ENDING, STUCK], evacuations: [restarting("stuck", 9)] },        true],
  ["a restarted VM does not start again",        { evacuations: [restarting("other", 300)] },                                true],
  ["a pod has no controller",                    { left: onNode({ pods: [lone] }) },                                     true],
  ["a pod has no controller and other pods are left",                      { left: onNode({ pods: [lone] }), ne: { ...asking(false), spec: { ...asking(false).spec, otherPods: "Leave" } } }, false],
  ["a budget keeps a pod",                       { left: onNode({ pods: [guarded], budgets: [foreignBudget("b", "guarded")] }) }, true],
  ["a pod is about to leave",                    { left: onNode({ pods: [cart] }) },                                     false],
  ["a pod and a VM block and forceShutdowns is set", { ne: asking(true), vmis: [...ENDING, WEB], left: onNode({ pods: [lone] }) }, false],
];

test.each(ROWS)("when %s, guests that would end wait: $2", (_, world, isHeld) => {
  const w = nodeWorld({ node: node(), ne: asking(false), vmis: ENDING, vms, left: onNode(), ...world });
  const fates = viewsOf(w)
    .filter(({ vmi }) => ENDING.includes(vmi))
    .map(({ fate }) => fate);
  expect(fates).toEqual(isHeld ? ["Waits", "Waits"] : ["ShutsDown", "Goes"]);
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
