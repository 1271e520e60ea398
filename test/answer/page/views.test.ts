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
  fleet: (visit: FakeVisit) => look(fleetPage({ visits: [visit], more: 0 }), visit),
  cluster: (visit: FakeVisit) => look(clusterPage(visit), visit),
  node: (visit: FakeVisit) => look(nodePage(visit, NODE), visit),
  vm: (visit: FakeVisit) => look(vmPage(visit, { namespace: "apps", name: "web" }), visit),
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
    of("router", { phase: "WaitingForOwner", message: "eviction strategy External: its external controller has to move it" }),
  ],
};
const IDLE: Scene = { vms: [VM] };
const BLOCKED: Scene = { vms: [VM], evacuations: [of("web", { phase: "Blocked", reason: "NotMigratable" })] };

// prettier-ignore
const SAID: readonly (readonly [view: View, what: string, scene: Scene, says: string])[] = [
  ["fleet",   "nothing happens",           IDLE, "prod Nothing to do In progress nothing VMs that run 1"],
  ["fleet",   "a VM moves",                { vms: [VM], evacuations: [of("web")] }, "prod VMs are moving In progress 1 Pending VMs are leaving node01 (1 VM)"],
  ["fleet",   "a VM is blocked",           BLOCKED, "1 VM waits for a person. prod Needs a person"],
  ["fleet",   "an attempt has failed",     { evacuations: [of("web", { phase: "BackingOff" })] }, "prod Tries again In progress 1 BackingOff"],
  ["fleet",   "the webhook is missing",    { conditions: [{ type: "WebhookCalled", status: "False" }] }, "Lifeboat has a problem The API server does not ask Lifeboat about evictions. as the condition says"],
  ["cluster", "all is quiet",              IDLE, "All is quiet: 1 VM on 2 nodes."],
  ["cluster", "what a drain would meet",   IDLE, "node01 Ready 1 VMs can move node02 Ready 0"],
  ["cluster", "a drain, in a line",        DRAIN, "2 VMs need attention, 1 node is being emptied, 1 node is blocked, 1 VM is on the move. 4 VMs on 2 nodes."],
  ["cluster", "a drain, in its row",       DRAIN, "node01 Being emptied Cordoned 2 of 6 gone 2 VMs block it an eviction (kubectl drain) asked by admin 60s ago"],
  ["cluster", "who can change it",         DRAIN, "Who can change it: its external controller, which acts on evictionStrategy External"],
  ["cluster", "the next attempt",          DRAIN, "2, next in 90s"],
  ["cluster", "where it went, how long",   DRAIN, "apps/web-1 Moved node01 → node02 an eviction (kubectl drain) asked by admin 30s ago , took 30s"],
  ["cluster", "the drain taint",           { its: { taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] } }, "node01 Drain taint 0"],
  ["node",    "how many have gone",        DRAIN, "Being emptied, blocked 2 of 6 VMs have left this node: 1 moving, 1 waiting, 2 blocked."],
  ["node",    "why, and who asked",        DRAIN, "Because of an eviction (kubectl drain) Asked by admin"],
  ["node",    "where a VM moves",          DRAIN, "apps/moves Moving node01 → node02"],
  ["node",    "what blocks",               DRAIN, "Blocks NotMigratable: VM apps/ledger apps/ledger"],
  ["node",    "who can change it",         DRAIN, "Who can change it: its owner: make the VM live-migratable, stop it, or set evictionStrategy LiveMigrateIfPossible."],
  ["node",    "which attempt, the next",   DRAIN, "3 of 5, next in 90s"],
  ["node",    "a healthy VM",              IDLE, "1 VM runs on this node. VMs on this node 1 VM State Strategy Act apps/web Running LiveMigrate Evacuate…"],
  ["node",    "would a drain succeed?",    IDLE, "Would a drain succeed? A drain will succeed"],
  ["node",    "what would be in its way",  { vms: [vmiOf("db", PINNED)] }, "What would be in the way of a drain 1 Blocks NotMigratable: VM apps/db"],
  ["node",    "another pod blocks",        { cordoned: true, vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating" })], pods: [plainPod("loner", { owners: [], ...ASKS_NOTHING })] }, "Blocks Unmanaged: pod apps/loner"],
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
const offered = (main: string) => [...main.matchAll(/href="\/fleet\/prod\/vms\/apps\/web">\w+[^<]*…</g)].length;

test.each(ACTS)("what can be done while %s, on the pages of the VM and of its node", async (_, scene, acts) => {
  const fake = () => clusterOf(scene);
  expect(acting(await PAGES.vm(visitTo(fake())))).toEqual(acts);
  const isListed = scene.vms?.[0]?.phase === "Running" && acts.length > 0;
  expect(offered(await PAGES.node(visitTo(fake())))).toBe(isListed ? 1 : 0);
  const looking = { visitor: { mayAct: false } };
  expect(acting(await PAGES.vm(visitTo(fake(), looking)))).toEqual([]);
  expect(offered(await PAGES.node(visitTo(fake(), looking)))).toBe(0);
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
  await expect(look(vmPage(visit, key), visit)).rejects.toMatchObject({ reason: "VmNotFound" });
  const line = shellLine("kubectl", "describe", "vmi", key.name, "-n", "<script>");
  expect(line).toBe(String.raw`kubectl describe vmi '; rm -rf / '\''' -n '<script>'`);
});
