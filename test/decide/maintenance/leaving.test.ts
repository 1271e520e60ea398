/**
 * Tests the evacuation of a node: when ordinary pods leave, the message about VMs that do not start again, and the
 * estimated end.
 */
import { describe, expect, test } from "vitest";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import type { VirtualMachineFacts } from "../../../shared/kube/node-evacuation.ts";
import { at, owner, time } from "../../support/fixtures.ts";
import { foreignBudget, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import {
  inShort,
  nextOf,
  nodeWorld,
  own,
  pinnedVm,
  type Situation,
  started,
} from "../../support/maintenance/worlds.ts";

const web = vmiOf("web");
const pinned = pinnedVm("web");
const vm = (tweak: Partial<VirtualMachineFacts> = {}): Situation => ({ vms: { [keyOf(web)]: tweak } });
const EVACUATIONS_OF_WEB = { "evacuations in apps where spec.virtualMachineInstance.name=web": [] };

describe("other pods", () => {
  const cart = plainPod("cart");
  const owners = [owner({ kind: "InstanceManager", name: "im-1", uid: "im" })];
  const engine = plainPod("im-1", { owners, labels: { app: "im" } });
  const lone = plainPod("lone", { owners: [] });
  const done = plainPod("done", { owners: [], phase: "Failed", localStorage: true });
  const left = launcher("moved", { phase: "Succeeded" });
  const guarded = plainPod("guarded");
  const ending = (seconds: number) => ({ ...cart, deleting: true, goneBy: at(seconds).getTime() });
  const none = vmiOf("web", { evictionStrategy: "None" });

  const budgets = [foreignBudget("b", "guarded")];
  const { nodeName: _, ...unbound } = web;
  const starting = { ...unbound, phase: "Scheduling", activePods: {} };
  const hanging = { ...launcher("web"), deleting: true, goneBy: 0, finalizers: ["example.com/keep"] };

  // prettier-ignore
  test.each<readonly [string, Situation, string, readonly string[]]>([
    ["are evicted when no VM moves",           { left: { pods: [cart] } },                                "Evacuating EvictPod", []],
    ["are not evicted while VMs move",                     { vmis: [web], ...vm(), left: { pods: [cart] }, more: EVACUATIONS_OF_WEB }, "Evacuating CreateEvacuation", []],
    ["are evicted beside VMs that cannot move",         { vmis: [pinned], ...vm(), left: { pods: [cart, launcher("web")], vmis: [pinned] } }, "Evacuating EvictPod", ["NotMigratable"]],
    ["without a controller block",       { left: { pods: [lone] } },                                "Blocked",             ["Unmanaged"]],
    ["behind a budget wait",             { left: { pods: [guarded], budgets } },                    "Evacuating",          ["BudgetExhausted"]],
    ["behind a storage engine's budget wait", { left: { pods: [engine], budgets: [foreignBudget("im-1", "im")] } }, "Evacuating",          ["BudgetOfController"]],
    ["that terminate are waited for",          { left: { pods: [{ ...cart, deleting: true }] } },         "Evacuating",          []],
    ["that have ended are evicted",      { left: { pods: [done] } },             "Evacuating EvictPod", []],
    ["that are launcher pods left by a migration are evicted", { left: { pods: [left] } },                                "Evacuating EvictPod", []],
    ["that are launcher pods left by a migration are evicted once",                           { left: { pods: [{ ...left, deleting: true }] } },         "Evacuating",          []],
    ["that have ended are evicted even with otherPods Leave",   { ne: started({ spec: { otherPods: "Leave" } }), left: { pods: [done, left] } }, "Evacuating EvictPod", []],
    ["stay with otherPods Leave",                             { ne: started({ spec: { otherPods: "Leave" } }), left: { pods: [cart, lone, engine], budgets: [foreignBudget("im-1", "im")] } }, "Evacuated Uncordon", []],
    ["wait for a VM that its strategy shuts down, which is evicted", { vmis: [none], ...vm(), left: { pods: [launcher("web")], vmis: [none] } }, "Evacuating Event EvictPod", []],
    ["wait for a VM that its strategy shuts down and a budget keeps",          { vmis: [none], ...vm(), left: { pods: [launcher("web", { labels: { ...launcher("web").labels, app: "guarded" } })], vmis: [none], budgets } }, "Evacuating", ["BudgetExhausted"]],
    ["wait for a launcher pod that does not start",   { left: { pods: [launcher("web")], vmis: [starting] } },   "Evacuating",          ["NotScheduled"]],
    ["block if their kubelet leaves them a minute after their end", { left: { pods: [ending(-60)] } },                        "Blocked",             ["Terminating"]],
    ["do not block before that minute is over",                        { left: { pods: [ending(-59)] } },                         "Evacuating",          []],
    ["block if they can take an hour or more to end",    { left: { pods: [ending(3600)] } },                        "Blocked",             ["Terminating"]],
    ["block if they are a guest that can take an hour or more to end",                      { vmis: [{ ...none, deleting: true }], ...vm(), left: { pods: [{ ...launcher("web"), deleting: true, goneBy: at(86_400).getTime() }], vmis: [{ ...none, deleting: true }] } }, "Blocked", ["Terminating"]],
    ["do not block if they take less than an hour",                      { left: { pods: [ending(3599)] } },                        "Evacuating",          []],
    ["wait for a launcher pod whose finalizer keeps it, which blocks",                   { left: { pods: [hanging] } },                             "Blocked",             ["Finalizers"]],
  ])("%s", (_, world, expected, reasons) => {
    const next = nextOf(world);
    expect(inShort(next)).toBe(expected);
    expect(next.more?.blockers?.map(({ reason }) => reason)).toEqual(reasons);
  });

  test("block after a budget has kept them for a minute", () => {
    const blockers = [
      {
        namespace: "apps",
        name: "guarded",
        uid: guarded.uid,
        reason: "BudgetExhausted",
        message: "",
        since: time(-60),
      },
    ];
    const next = nextOf({ ne: started({ status: { blockers } }), left: { pods: [guarded], budgets } });
    expect(next.phase).toBe("Blocked");
  });
});

test("the estimate follows from the VMs that have left so far", () => {
  const gone = [own("a", { status: { phase: "Moved" } }), own("b", { status: { phase: "Moved" } })];
  const outcomes = ["a", "b"].map((name) => ({ namespace: "apps", name, uid: `vmi-${name}` }));
  const ne = started({ status: { outcomes } });
  const next = nextOf({
    ne,
    vmis: [vmiOf("web")],
    evacuations: [...gone, own("web", { status: { phase: "Migrating" } })],
  });
  // Two VMs left the node in five minutes, and one VM is still on the node.
  expect(next.more).toMatchObject({
    virtualMachines: { total: 3, left: 1, moving: 1, moved: 2 },
    estimatedCompletionTime: time(150),
  });
  expect(nodeWorld().ne.status.startTime).toBe(time(-300));
});

const restartedFor = (seconds: number) =>
  own("db", { spec: { by: "Restart" }, status: { phase: "Restarting", startTime: time(-seconds) } });

describe("a restarted VM that does not run again", () => {
  const vms = { "apps/web": {}, "apps/db": {} };
  const blockers = [{ namespace: "apps", name: "db", reason: "NotRunningAgain", message: "", since: time(-1) }];

  test("is reported after five minutes", () => {
    expect(nextOf({ evacuations: [restartedFor(299)], vms })).toMatchObject({
      phase: "Evacuating",
      more: { blockers: [] },
    });
    const late = nextOf({ evacuations: [restartedFor(300)], vms });
    expect(late).toMatchObject({ phase: "Blocked", more: { blockers: [{ name: "db", reason: "NotRunningAgain" }] } });
  });

  test("is not withdrawn while its VirtualMachine cannot be read, unlike a VM whose owner has deleted it", () => {
    const evacuations = [restartedFor(300)];
    const odd = new ClusterError({ reason: "Unintelligible", request: "GET db", issue: "x: too large", odd: true });
    const unread = nextOf({ evacuations, more: { "virtualmachines apps/db": odd } });
    expect([inShort(unread), unread.more?.blockers?.map(({ name }) => name)]).toEqual(["Blocked", ["db"]]);
    const deleted = nextOf({ evacuations, vms: { "apps/db": undefined } });
    expect(inShort(deleted)).toBe("Evacuating WithdrawEvacuation");
  });

  test("is reported while the next restart waits for the VM", () => {
    const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } }, status: { blockers } });
    const next = nextOf({ ne, vms, vmis: [pinnedVm("web")], evacuations: [restartedFor(300)] });
    expect(next.phase).toBe("Blocked");
    expect(next.more?.blockers?.map(({ name }) => name)).toEqual(["db", "web"]);
  });
});

test("the total includes VMs whose guests ended without an Evacuation, and a VM that waits for its controller is blocked", () => {
  const waits = own("web", { status: { phase: "WaitingForExternalController", message: "its controller moves it" } });
  const before = started({
    status: {
      virtualMachines: {
        total: 3,
        left: 3,
        moving: 0,
        waiting: 0,
        blocked: 0,
        restarted: 0,
        stopped: 0,
        shutDown: 0,
        moved: 0,
        abandoned: 0,
        leftBehind: 0,
      },
    },
  });
  const next = nextOf({ ne: before, vmis: [vmiOf("web", { evictionStrategy: "External" })], evacuations: [waits] });
  expect(next.more).toMatchObject({
    virtualMachines: { total: 3, left: 1, moving: 0, waiting: 0, blocked: 1 },
    estimatedCompletionTime: undefined,
  });
});

test.each([undefined, "node-2"])(
  "a new VMI that was never on the node has no outcome (its source node: %s)",
  (node) => {
    const status = { phase: "Moved", virtualMachineInstanceUID: "new", sourceNode: node };
    expect(nextOf({ ne: started(), evacuations: [own("web", { status })] })).toMatchObject({ more: { outcomes: [] } });
  },
);
