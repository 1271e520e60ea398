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

const refused = (name: string, reason: string, seconds: number) =>
  started({
    status: { blockers: [{ namespace: "apps", name, uid: name, reason, message: "", since: time(-seconds) }] },
  });

describe("other pods", () => {
  const cart = plainPod("cart");
  const owners = [owner({ kind: "InstanceManager", name: "im-1", uid: "im" })];
  const engine = plainPod("im-1", { owners, labels: { app: "im" } });
  const lone = plainPod("lone", { owners: [] });
  const done = plainPod("done", { owners: [], phase: "Failed", localStorage: true });
  const left = launcher("moved", { phase: "Succeeded" });
  const guarded = plainPod("guarded");
  const restart = { virtualMachines: { whenBlocked: "Restart" } } as const;
  const ending = (seconds: number) => ({ ...cart, deleting: true, goneBy: at(seconds).getTime() });
  const none = vmiOf("web", { evictionStrategy: "None" });
  const kept = { ...pinnedVm("db"), evictionStrategy: "LiveMigrateIfPossible" };

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
    ["wait for a VM that its strategy shuts down, and a VM that its owner keeps is not evicted", { ne: started({ spec: { forceShutdowns: true } }), vmis: [none, kept], vms: { "apps/web": {}, "apps/db": { whenBlocked: "Wait" } }, left: { pods: [launcher("web"), launcher("db")] } }, "Evacuating Event EvictPod", ["NotMigratable"]],
    ["with local data block",                                 { left: { pods: [plainPod("cart", { localStorage: true })] } }, "Blocked",             ["LocalStorage"]],
    ["with local data are evicted with EvictWithLocalData",   { ne: started({ spec: { otherPods: "EvictWithLocalData" } }), left: { pods: [plainPod("cart", { localStorage: true })] } }, "Evacuating EvictPod", []],
    ["are evicted before a VM is restarted",                  { ne: started({ spec: restart }), vmis: [pinned], ...vm(), left: { pods: [cart, launcher("web")] } }, "Evacuating EvictPod", ["NotMigratable"]],
    ["wait until a VM is restarted if forceShutdowns is set", { ne: started({ spec: { ...restart, forceShutdowns: true } }), vmis: [pinned], ...vm(), left: { pods: [cart, launcher("web")] } }, "Evacuating", ["NotMigratable"]],
    ["whose eviction was refused are named, and no others",   { ne: refused("cart", "EvictionRefused", 9), left: { pods: [cart, plainPod("other")] } }, "Evacuating EvictPod EvictPod", ["EvictionRefused"]],
    ["whose eviction was refused do not count as progress beside a pod that blocks", { ne: refused("cart", "EvictionRefused", 60), left: { pods: [lone, cart] } }, "Blocked EvictPod", ["Unmanaged", "EvictionRefused"]],
    ["that a budget kept are not named once the budget allows their eviction", { ne: refused("guarded", "BudgetExhausted", 9), left: { pods: [guarded] } }, "Evacuating EvictPod", []],
    ["that are terminating launcher pods without a VMI do not delay the end", { left: { pods: [{ ...launcher("web"), deleting: true }] } }, "Evacuated Uncordon", []],
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

  test("is not reported once it runs, and neither is a VM that has moved or migrates", () => {
    const evacuations = [
      own("db", { spec: { by: "Restart" }, status: { phase: "Restarted", startTime: time(-400) } }),
      own("mail", { status: { phase: "Moved", startTime: time(-400) } }),
      own("ledger", { status: { phase: "Migrating", startTime: time(-400) } }),
    ];
    expect(nextOf({ evacuations })).toMatchObject({ phase: "Evacuating", more: { blockers: [] } });
  });

  test("has its restart withdrawn only once", () => {
    const status = { phase: "Restarting", startTime: time(-300) };
    const evacuations = [own("db", { spec: { by: "Restart", intent: "Withdrawn" }, status })];
    expect(inShort(nextOf({ evacuations, vms: { "apps/db": undefined } }))).toBe("Blocked");
  });

  test("blocks the node with forceShutdowns, too, unless another VM can still leave", () => {
    const ne = started({
      spec: { forceShutdowns: true, virtualMachines: { whenBlocked: "Restart" } },
      status: { blockers },
    });
    const late = restartedFor(300);
    expect(nextOf({ ne, vms, vmis: [pinnedVm("web")], evacuations: [late] }).phase).toBe("Blocked");
    const backingOff = own("web", { status: { phase: "BackingOff" } });
    expect(nextOf({ ne, vms, vmis: [web], evacuations: [late, backingOff] }).phase).toBe("Evacuating");
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

test("the outcome of a VM follows neither from the Evacuation of an earlier VMI nor from that of another VM", () => {
  const evacuations = [
    own("web", { spec: { by: "Restart" }, status: { phase: "Restarted", virtualMachineInstanceUID: "earlier" } }),
    own("db", { status: { phase: undefined, virtualMachineInstanceUID: undefined } }),
  ];
  const next = nextOf({
    ne: started({ status: { outcomes: [{ namespace: "apps", name: "web", uid: web.uid }] } }),
    evacuations,
    more: { "virtualmachineinstances apps/web": { ...web, nodeName: "node02" } },
  });
  expect(next.more?.outcomes).toMatchObject([
    { uid: web.uid, outcome: "Moved", reason: "ByOthers" },
    { uid: "earlier", outcome: "Restarted" },
  ]);
});
