/** What each page says of a cluster, a node, a VM, a fleet: one table; then order, acts, hostile words. */
import { expect, test } from "vitest";
import { shellLine } from "../../../functions/page/components.ts";
import { clusterPage } from "../../../functions/page/cluster.ts";
import { fleetPage } from "../../../functions/page/fleet.ts";
import { nodePage } from "../../../functions/page/node.ts";
import { vmPage } from "../../../functions/page/vm.ts";
import type { FakeCluster } from "../../support/fake-cluster.ts";
import { evacuation, EXTERNAL, marked, NODE, PINNED, time, vmi } from "../../support/fixtures.ts";
import { plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import { type FakeVisit, HOSTILE, isEscaped, look, visitTo, words } from "./support/fake-visit.ts";
import { ASKS_NOTHING, clusterOf, ended, of, type Scene } from "./support/scene.ts";

const PAGES = {
  fleet: (visit: FakeVisit) => look(fleetPage({ visits: [visit], more: 0 })),
  cluster: (visit: FakeVisit) => look(clusterPage(visit)),
  node: (visit: FakeVisit) => look(nodePage(visit, NODE, new Map())),
  vm: (visit: FakeVisit) => look(vmPage(visit, { namespace: "apps", name: "web" })),
} as const;
type View = keyof typeof PAGES;

const see = async (view: View, scene: Scene) => words(await PAGES[view](visitTo(clusterOf(scene))));

const MARKED = { evacuationNodeName: NODE };
const MOVING = { ...MARKED, isMigrating: true };
const GONE = { targetNode: "node02", completionTime: time(-30) };
const VM = vmi({ activePods: { "pod-web": NODE }, uid: "vmi-web" });
const ABANDONED = ended("web", "Abandoned", { message: "5 attempts have failed", attempts: 5 });

/** In the middle of a drain: two have gone, one moves, one backs off, one is pinned, one is its owner's. */
const DRAIN: Scene = {
  cordoned: true,
  vms: [
    vmiOf("moves", MOVING),
    vmiOf("fails", MARKED),
    vmiOf("ledger", PINNED),
    vmiOf("router", { ...EXTERNAL, ...MARKED }),
  ],
  evacuations: [
    ended("web-1", "Moved", GONE),
    ended("web-2", "Moved", GONE),
    of("moves", { phase: "Migrating" }),
    of("fails", { phase: "BackingOff", attempts: 2, nextAttemptTime: time(90), message: "no node has room" }),
    of("router", {
      phase: "WaitingForExternalController",
      message: "eviction strategy External: its external controller has to move it",
    }),
  ],
};
const IDLE: Scene = { vms: [VM] };
const BLOCKED: Scene = { vms: [VM], evacuations: [of("web", { phase: "Blocked", reason: "NotMigratable" })] };

// prettier-ignore
const SAID: readonly (readonly [view: View, what: string, scene: Scene, says: string])[] = [
  ["fleet",   "nothing happens",           IDLE, "prod Nothing to do"],
  ["fleet",   "a VM moves",                { vms: [VM], evacuations: [of("web")] }, "prod VMs are moving 1 Pending"],
  ["fleet",   "a VM is blocked",           BLOCKED, "1 VM waits for a person. prod Needs a person"],
  ["fleet",   "an attempt has failed",     { evacuations: [of("web", { phase: "BackingOff" })] }, "prod Tries again 1 BackingOff"],
  ["fleet",   "the webhook is missing",    { conditions: [{ type: "WebhookCalled", status: "False" }] }, "Lifeboat has a problem The API server does not ask Lifeboat about evictions. as the condition says"],
  ["cluster", "all is quiet",              IDLE, "All is quiet: 2 nodes."],
  ["cluster", "a drain, in a line",        DRAIN, "2 VMs need attention, 1 node is being emptied, 1 node is blocked, 1 VM is on the move. 2 nodes."],
  ["cluster", "a drain, in its row",       DRAIN, "node01 Being emptied Cordoned 2 of 6 gone 2 VMs block it"],
  ["cluster", "who can change it",         DRAIN, "Who can change it: its external controller, which acts on evictionStrategy External"],
  ["cluster", "the next attempt",          DRAIN, "2, next in 90s"],
  ["cluster", "where it went, how long",   DRAIN, "apps/web-1 Moved node01 → node02 an eviction (kubectl drain) asked by admin 30s ago , took 30s"],
  ["cluster", "the drain taint",           { its: { taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] } }, "node01 Drain taint"],
  ["node",    "how many have gone",        DRAIN, "Being emptied 2 of 6 VMs have left this node: 1 moving, 1 waiting, 2 blocked."],
  ["node",    "why, and who asked",        DRAIN, "Because of an eviction (kubectl drain) Asked by admin"],
  ["node",    "where a VM moves",          DRAIN, "apps/moves Moving moves to node02"],
  ["node",    "what blocks",               DRAIN, "apps/ledger Blocked"],
  ["node",    "who can change it",         DRAIN, "Who can change it: its owner: stop it, set evictionStrategy LiveMigrateIfPossible, or change what keeps it from migrating."],
  ["node",    "which attempt, the next",   DRAIN, "apps/fails BackingOff 2, next in 90s"],
  ["node",    "a healthy VM",              IDLE, "1 VM runs on this node. VMs on this node 1 VM State apps/web Running"],
  ["node",    "would a drain succeed?",    IDLE, "Would a drain succeed? A drain will succeed"],
  ["node",    "what would be in its way",  { vms: [vmiOf("db", PINNED)] }, "apps/db Blocked VMI"],
  ["node",    "another pod blocks",        { cordoned: true, vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating" })], pods: [plainPod("loner", { owners: [], ...ASKS_NOTHING })] }, "Other pods in the way of a drain 1 Pod Message apps/loner No controller would make it anew"],
  ["node",    "one VM that a person evacuates", { cordoned: true, vms: [VM, vmiOf("db")], evacuations: [evacuation({ spec: { cause: "Operator" } })] }, "Cordoned The node takes no new pods."],
  ["vm",      "it moves if evicted",       IDLE, "The VM stays where it is. An eviction would move it to another node."],
  ["vm",      "it cannot move",            { vms: [vmi({ ...VM, ...PINNED })] }, "An eviction would be refused, and move nothing."],
  ["vm",      "it would be shut down",     { vms: [vmi({ ...VM, evictionStrategy: "None" })] }, "An eviction would be allowed: the guest is shut down."],
  ["vm",      "the answer",                IDLE, "What an eviction would get now Refused (429): EvacuationTriggered"],
  ["vm",      "what moves it",             { vms: [VM], evacuations: [of("web", { phase: "Migrating" })] }, "The VM moves to another node as soon as KubeVirt lets it. It has to leave its node because of an eviction (kubectl drain)."],
  ["vm",      "its deletion is refused",   { vms: [VM], evacuations: [evacuation({ spec: { cause: "Preemption", deadline: time(100) } })] }, "Its deletion is refused for 1"],
  ["vm",      "it is gone",                { evacuations: [ABANDONED] }, "The VM does not run. What is left is its past."],
];

test.each(SAID)("%s: %s", async (view, _, scene, says) => {
  expect(await see(view, scene)).toContain(says);
});

// prettier-ignore
const HIDDEN: readonly (readonly [view: View, what: string, scene: Scene, hidden: string])[] = [
  ["cluster", "what happens to no VM",     IDLE, "VMs that leave their node"],

  ["cluster", "an emptied node that is open again", { evacuations: [ended("web", "Moved")] }, "Being emptied"],
  ["cluster", "what was given up long ago", { evacuations: [ended("web", "Abandoned", { completionTime: time(-4000) })] }, "attention"],
  ["node",    "the next attempt while one continues", { vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating", attempts: 1, nextAttemptTime: time(60) })] }, "next in"],
  ["vm",      "evictions of one that has ended", { vms: [vmi({ ...VM, phase: "Failed" })] }, "eviction would"],
];

test.each(HIDDEN)("%s: nothing is said of %s", async (view, _, scene, hidden) => {
  expect(await see(view, scene)).not.toContain(hidden);
});

test("of a VM that was never there nothing is shown", async () => {
  await expect(see("vm", {})).rejects.toThrow("no such VMI");
});

// prettier-ignore
const ACTS: readonly (readonly [what: string, scene: Scene, acts: readonly string[]])[] = [
  ["nothing is in progress", IDLE,                                                             ["evacuate"]],
  ["it cannot move",         { vms: [vmi({ ...VM, ...PINNED })] },                              []],
  ["one is in progress",     { vms: [VM], evacuations: [of("web")] },                           ["cancel"]],
  ["one waits",              { vms: [VM], evacuations: [of("web", { phase: "BackingOff" })] },  ["retry", "cancel"]],
  ["one was given up",       { vms: [VM], evacuations: [ABANDONED] },                           ["retry"]],
  ["KubeVirt has marked it", { vms: [marked({ uid: "vmi-web" })] },                             ["cancel"]],
  ["the VM is gone",         { evacuations: [ABANDONED] },                                      []],
];

const acting = (main: string) =>
  [...main.matchAll(/action="\/fleet\/prod\/vms\/apps\/web\/(\w+)"/g)].map(([, act]) => act);

test.each(ACTS)("what can be done while %s", async (_, scene, acts) => {
  expect(acting(await PAGES.vm(visitTo(clusterOf(scene))))).toEqual(acts);
  expect(acting(await PAGES.vm(visitTo(clusterOf(scene), { visitor: { mayAct: false } })))).toEqual([]);
});

function hostileCluster(): FakeCluster {
  const liveMigratable = { migratable: false, reason: HOSTILE, message: HOSTILE };
  const more = { liveMigratable, evictionStrategy: HOSTILE, backup: HOSTILE };
  const status = { message: HOSTILE, targetNode: HOSTILE, attempts: 1, migration: { name: HOSTILE, uid: "" } };
  const fake = clusterOf({
    vms: [{ ...VM, ...more }],
    conditions: [{ type: "Ready", status: "False", reason: HOSTILE }],
  });
  const one = of("web", status);
  fake.evacuations.put({ ...one, spec: { ...one.spec, requestedBy: HOSTILE } });
  fake.evacuations.put(ended(HOSTILE, "Moved", { ...status, sourceNode: NODE }));
  return fake;
}

test.each(["fleet", "cluster", "node", "vm"] as const)("hostile words stay text on the page of a %s", async (view) => {
  const main = await PAGES[view](visitTo(hostileCluster(), { cluster: HOSTILE }));
  expect(isEscaped(main)).toBe(true);
});

test("a hostile name is no VM, and one word of a shell", async () => {
  const key = { namespace: HOSTILE, name: "; rm -rf / '" };
  const visit = visitTo(clusterOf({}));
  await expect(look(vmPage(visit, key))).rejects.toMatchObject({ reason: "VmNotFound" });
  const line = shellLine("kubectl", "describe", "vmi", key.name, "-n", "<script>");
  expect(line).toBe(String.raw`kubectl describe vmi '; rm -rf / '\''' -n '<script>'`);
});
