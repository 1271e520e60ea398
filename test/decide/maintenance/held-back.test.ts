/** A drain that cannot succeed ends no guest: restarts, stops and shutdowns wait until nothing else blocks the node. */
import { expect, test } from "vitest";
import { viewsOf } from "../../../shared/maintenance/held-back.ts";
import type { NodeWorld } from "../../../shared/maintenance/world.ts";
import { subjectsOf } from "../../../shared/preflight/progress.ts";
import { time } from "../../support/fixtures.ts";
import { facts, foreignBudget, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import { nextOf, nodeWorld, own, pinnedVm, started } from "../../support/maintenance/worlds.ts";

const [DB, NONE, WEB] = [pinnedVm("db"), vmiOf("none", { evictionStrategy: "None" }), vmiOf("web")];
const STUCK = pinnedVm("stuck");
const ENDING = [DB, NONE];
const PODS = [launcher("db"), launcher("none")];
const vms: NodeWorld["vms"] = new Map(
  ["db", "none"].map((name) => [`apps/${name}`, { runStrategy: "Always" }] as const),
);
const blockers = [
  { namespace: "apps", name: "db", uid: DB.uid, reason: "NotMigratable", message: "", since: time(-90) },
];
const asking = (forceShutdowns: boolean) =>
  started({ spec: { forceShutdowns, virtualMachines: { whenBlocked: "Restart" } }, status: { blockers } });

const onNode = (f: Parameters<typeof facts>[0] = {}) =>
  subjectsOf(facts({ ...f, pods: [...PODS, ...(f.pods ?? [])], vmis: ENDING }));
const lone = plainPod("lone", { owners: [] });
const cart = plainPod("cart");
const guarded = plainPod("guarded");
const restarting = (name: string, seconds: number) =>
  own(name, { spec: { by: "Restart" }, status: { phase: "Restarting", startTime: time(-seconds) } });

// prettier-ignore
const ROWS: readonly (readonly [when: string, world: Partial<NodeWorld>, isHeld: boolean])[] = [
  ["nothing else is there",                      {},                                                                         false],
  ["a VM migrates",                              { vmis: [...ENDING, { ...WEB, isMigrating: true }] },                       true],
  ["a VM has not had its turn",                  { vmis: [...ENDING, WEB] },                                                 true],
  ["a VM cannot leave",                          { vmis: [...ENDING, STUCK], vms: new Map([...vms, ["apps/stuck", { runStrategy: "Once" }]]) }, true],
  ["its owner keeps a VM for an hour",           { vmis: [...ENDING, WEB], vms: new Map([...vms, ["apps/web", { runStrategy: "Always", notBefore: time(3600) }]]) }, true],
  ["a restart has no room",                      { vmis: [...ENDING, STUCK], vms: new Map([...vms, ["apps/stuck", { runStrategy: "Always" }]]), obstacles: new Map([["apps/stuck", "no room"]]) }, true],
  ["a restart is in progress",                   { vmis: [...ENDING, STUCK], evacuations: [restarting("stuck", 9)] },        false],
  ["a restarted VM does not start again",        { evacuations: [restarting("other", 300)] },                                true],
  ["a pod has no controller",                    { subjects: onNode({ pods: [lone] }) },                                     true],
  ["… and other pods stay",                      { subjects: onNode({ pods: [lone] }), ne: { ...asking(false), spec: { ...asking(false).spec, otherPods: "Leave" } } }, false],
  ["a budget keeps a pod",                       { subjects: onNode({ pods: [guarded], budgets: [foreignBudget("b", "guarded")] }) }, true],
  ["a pod is about to leave",                    { subjects: onNode({ pods: [cart] }) },                                     false],
  ["the pods of the node are not read",          { subjects: undefined },                                                    true],
  ["something blocks, and forceShutdowns is set", { ne: asking(true), vmis: [...ENDING, WEB], subjects: onNode({ pods: [lone] }) }, false],
];

test.each(ROWS)("when %s, guests that would end wait or not", (_, world, isHeld) => {
  const w = nodeWorld({ ne: asking(false), vmis: ENDING, vms, subjects: onNode(), ...world });
  const fates = viewsOf(w)
    .filter(({ vmi }) => ENDING.includes(vmi))
    .map(({ fate }) => fate);
  expect(fates).toEqual(isHeld ? ["Waits", "Waits"] : ["ShutsDown", "Goes"]);
});

test("what blocks is named first; a guest that waits says what it waits for", () => {
  const next = nextOf({ ne: asking(false), vmis: ENDING, vms, subjects: onNode({ pods: [lone] }) });
  expect(next.phase).toBe("Blocked");
  expect(next.message).toMatch(/^1 cannot leave; first: apps\/lone/);
  const said = next.more?.blockers?.map(({ name, message }) => [name, message]);
  expect(said).toContainEqual(["none", expect.stringContaining("once nothing else blocks the node")]);
  expect(next.more?.blockers?.find(({ name }) => name === "db")?.since).toBe(time(-90));
  expect(next.chains?.flat()).toEqual([]);
});
