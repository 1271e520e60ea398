/** The page of a node: what is said first, what is in the way, what each VM does, and what it costs. */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ASSETS } from "../../functions/page/assets/assets.ts";
import { layout } from "../../functions/page/layout.ts";
import type { Forecast } from "../../functions/page/node-reads.ts";
import { RecentReads } from "../../functions/page/recent.ts";
import { nodePage } from "../../functions/page/views/node.ts";
import type { EvacuationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { failing } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { endedEvacuation, evacuation, EXTERNAL, migration, NODE, PINNED, time } from "../policy/fixtures.ts";
import { launcher, node, plainPod, vmiOf } from "../policy/preflight/fixtures.ts";
import { HOSTILE, isEscaped, look, textOf, visitTo, words } from "./support/fake-visit.ts";

const MARKED = { evacuationNodeName: NODE };
const MOVING = { ...MARKED, isMigrating: true };

function of(vmiName: string, status: Partial<EvacuationFacts["status"]> = {}): EvacuationFacts {
  const spec = { vmiName, pod: { uid: `pod-${vmiName}` } };
  return evacuation({ name: `of-${vmiName}`, uid: `of-${vmiName}`, spec, status });
}

function left(vmiName: string): EvacuationFacts {
  const status = { targetNode: "node02", completionTime: time(-30) };
  return endedEvacuation("Moved", { name: `left-${vmiName}`, uid: `left-${vmiName}`, spec: { vmiName }, status });
}

interface Scene {
  readonly vms?: readonly VmiFacts[];
  readonly evacuations?: readonly EvacuationFacts[];
  readonly cordoned?: boolean;
  readonly pods?: readonly ReturnType<typeof plainPod>[];
}

/** The nodes of a fake cluster have room for pods, and nothing else. */
const ASKS_NOTHING = { requests: {} };

function migrationOf({ name }: VmiFacts) {
  const moving = { phase: "Running", sourceNode: NODE, targetNode: "node02", targetPod: `target-of-${name}` };
  return migration({ name: `migration-of-${name}`, uid: `migration-of-${name}`, vmiName: name, ...moving });
}

function clusterOf({ vms = [], evacuations = [], cordoned = true, pods = [] }: Scene): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(node(NODE, { unschedulable: cordoned }), node("node02"));
  fake.vmis.put(...vms);
  fake.pods.put(...vms.map(({ name }) => launcher(name, ASKS_NOTHING)), ...pods);
  fake.migrations.put(...vms.filter(({ isMigrating }) => isMigrating).map(migrationOf));
  fake.evacuations.put(...evacuations);
  return fake;
}

async function page(scene: Scene | FakeCluster, options: Parameters<typeof visitTo>[1] = {}): Promise<string> {
  const visit = visitTo(scene instanceof FakeCluster ? scene : clusterOf(scene), options);
  return await look(nodePage(visit, NODE, new RecentReads<Forecast>()), visit);
}

const seen = async (...asked: Parameters<typeof page>) => words(await page(...asked));

/** In the middle of a drain: two have gone, one moves, one backs off, one is pinned, one is its owner's. */
const BLOCKED: Scene = {
  vms: [
    vmiOf("moves", MOVING),
    vmiOf("fails", MARKED),
    vmiOf("ledger", PINNED),
    vmiOf("router", { ...EXTERNAL, ...MARKED }),
  ],
  evacuations: [
    left("web-1"),
    left("web-2"),
    of("moves", { phase: "Migrating" }),
    of("fails", { phase: "BackingOff", attempts: 2, nextAttemptTime: time(90), message: "no node has room" }),
    of("router", { phase: "WaitingForOwner", message: "eviction strategy External: the VM's owner has to move it" }),
  ],
};

// prettier-ignore
const SAID: readonly (readonly [what: string, scene: Scene, told: string])[] = [
  ["how many have gone, in one line",     BLOCKED, "2 of 6 VMs have left this node. 1 is moving, 1 waits. 2 cannot leave by themselves."],
  ["how many have gone, beside the bar",  BLOCKED, "2 of 6 gone"],
  ["why, and who asked",                  BLOCKED, "Because of an eviction (kubectl drain) Asked by admin"],
  ["where a VM moves",                    BLOCKED, "apps/moves Moving node01 → node02"],
  ["what blocks",                         BLOCKED, "Blocks VM apps/ledger cannot live-migrate, and its eviction strategy says that it must not be shut down."],
  ["who can change it",                   BLOCKED, "Who can change it: its owner: make the VM live-migratable, stop it, or set evictionStrategy LiveMigrateIfPossible."],
  ["the command that does",               BLOCKED, "virtctl stop ledger -n apps"],
  ["what is its owner's to move",         BLOCKED, "Blocks VM apps/router must be moved by the controller that owns it"],
  ["what waits, and why",                 BLOCKED, "Waits VM apps/fails could not be moved; Lifeboat tries again after a pause. apps/fails : no node has room"],
  ["which attempt, and the next",         BLOCKED, "3 of 5, next in 90s"],
  ["where those that left have gone",     BLOCKED, "apps/web-1 node01 → node02 30s ago"],
  ["nothing asks",                        { vms: [vmiOf("web")] }, "The node takes no new pods. Nothing asks its 1 VM to leave yet."],
  ["an ordinary node",                    { vms: [vmiOf("web")], cordoned: false }, "1 VM runs on this node. Nobody empties it."],
  ["would a drain succeed?",              { vms: [vmiOf("web")], cordoned: false }, "Would a drain succeed? A drain will succeed"],
  ["what would be in its way",            { vms: [vmiOf("web", PINNED)], cordoned: false }, "What would be in the way of a drain Blocks VM apps/web cannot live-migrate"],
  ["an empty node",                       { evacuations: [left("web-1")] }, "Every VM has left. When the work on the node is done, let it take pods again: $ kubectl uncordon node01".replace("$ ", "")],
  ["a node without VMs",                  { cordoned: false }, "No VM runs here."],
  ["a pod that blocks the drain is none of the VMs", { vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating" })], pods: [plainPod("loner", { owners: [], ...ASKS_NOTHING })] }, "Being emptied, blocked 0 of 1 VM have left this node. 1 is moving. 1 other pod blocks the drain."],
  ["a drain under way is not asked for", BLOCKED, "The whole drain"],
  ["one that was broken off can begin anew", { vms: [vmiOf("web")], evacuations: [left("web-1")] }, "Would a drain succeed? A drain will succeed"],
  ["… with this", { vms: [vmiOf("web")], evacuations: [left("web-1")] }, "lifeboat drain node01"],
  ["other pods are counted",              { ...BLOCKED, pods: [plainPod("cart", ASKS_NOTHING), plainPod("shop", ASKS_NOTHING)] }, "Other pods 2 pods to evict"],
];

test.each(SAID)("%s", async (_, scene, told) => {
  expect(await seen(scene)).toContain(told);
});

test("what blocks is told before the VMs, and VMs that block before those that move", async () => {
  const main = await seen(BLOCKED);
  const places = ["What is in the way", "Still here", "Have left lately", "The whole drain"].map((part) =>
    main.indexOf(part),
  );
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  const rows = main.slice(main.indexOf("Still here"));
  expect(rows.indexOf("apps/ledger")).toBeLessThan(rows.indexOf("apps/moves"));
});

const acts = (main: string) =>
  [...main.matchAll(/href="\/fleet\/prod\/vms\/apps\/(\w+)\/(\w+)"/g)].map(([, vm, act]) => `${act} ${vm}`);

test("acts are offered to those who may act", async () => {
  expect(acts(await page(BLOCKED))).toEqual(expect.arrayContaining(["cancel moves"]));
  expect(acts(await page(BLOCKED, { visitor: { mayAct: false } }))).toEqual([]);
});

test("what cannot be read is said, and hides nothing else", async () => {
  const main = await seen(BLOCKED, { before: failing(/listAllBudgets/) });
  expect(main).toContain("2 of 6 gone");
  expect(main).toContain("Could not be read, or is not looked at: disruption budgets");
});

test("other nodes' pods are read seldom; what happens on the node, each time", async () => {
  const asked: string[] = [];
  const visit = visitTo(clusterOf(BLOCKED), { before: (request) => void asked.push(request) });
  const shown = nodePage(visit, NODE, new RecentReads<Forecast>());
  await look(shown, visit);
  expect(asked).toContain("listNeighbours");
  asked.length = 0;
  visit.doors.pass(2);
  await look(shown, visit);
  expect(asked).not.toContain("listNeighbours");
  expect(asked).toContain("listPreflightPods");
  visit.doors.pass(31);
  await look(shown, visit);
  expect(asked).toContain("listNeighbours");
});

test("a node full of VMs that leave costs no more requests than one with a few", async () => {
  const asked: string[] = [];
  const names = Array.from({ length: 300 }, (_, i) => `vm-${i}`);
  const fake = clusterOf({ vms: names.map((name) => vmiOf(name, MARKED)) });
  const visit = visitTo(fake, { before: (request) => void asked.push(request) });
  const shown = nodePage(visit, NODE, new RecentReads<Forecast>());
  await look(shown, visit);
  asked.length = 0;
  visit.doors.pass(2);
  await look(shown, visit);
  expect(asked.length).toBeLessThanOrEqual(8);
});

test("hostile names and messages stay text, and one word of a shell", async () => {
  const name = "'; reboot '";
  const hostile = (tweak: Partial<VmiFacts>) => ({
    ...vmiOf(name, { ...PINNED, ...tweak }),
    evictionStrategy: "LiveMigrate",
  });
  const fake = clusterOf({
    vms: [hostile({ liveMigratable: { migratable: false, reason: HOSTILE, message: HOSTILE } })],
  });
  fake.evacuations.put({
    ...of(name, { message: HOSTILE, targetNode: HOSTILE }),
    spec: { ...of(name).spec, requestedBy: HOSTILE },
  });
  const main = await page(fake);
  expect(isEscaped(main)).toBe(true);
  expect(words(main)).toContain(String.raw`virtctl stop ''\''; reboot '\''' -n apps`);
});

/** Everything that a browser loads for it. */
async function weightOf(vms: number): Promise<number> {
  const names = Array.from({ length: vms }, (_, i) => `database-${i}`);
  const all = names.map((name, i) => vmiOf(name, i % 7 === 0 ? PINNED : MOVING));
  const evacuations = names.map((name) =>
    of(name, { phase: "Migrating", message: `migration kubevirt-evacuation-${name} moves the VM` }),
  );
  const main = await page({ vms: all, evacuations });
  const live = { path: "/fleet/prod/nodes/node01", ageSeconds: 1 };
  const html = await textOf(layout({ title: NODE, visitor: "operator", live, main }));
  return [html, ...Object.values(ASSETS).map(({ content }) => content)].reduce(
    (sum, text) => sum + gzipSync(text).length,
    0,
  );
}

test("with 50 VMs it weighs less than 60 KiB with everything, with 500 less than 100", async () => {
  expect(await weightOf(50)).toBeLessThan(60 * 1024);
  expect(await weightOf(500)).toBeLessThan(100 * 1024);
});

test("of 500 VMs fifty are shown, more are folded away, the rest is counted", async () => {
  const names = Array.from({ length: 500 }, (_, i) => `vm-${i}`);
  const main = await page({ vms: names.map((name) => vmiOf(name)) });
  expect(words(main)).toContain("150 more");
  expect(words(main)).toContain("300 more are not listed.");
  expect(main.indexOf("<details")).toBeGreaterThan(0);
});
