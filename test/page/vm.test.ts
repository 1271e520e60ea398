/** The page of a virtual machine: what is true of it now, what can be done, and its past. */
import { expect, test } from "vitest";
import { vmPage } from "../../functions/page/views/vm.ts";
import type { EvacuationFacts, MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { failing } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import {
  endedEvacuation,
  evacuation,
  EXTERNAL,
  marked,
  migration,
  PINNED,
  pod,
  time,
  vmi,
} from "../policy/fixtures.ts";
import { HOSTILE, isEscaped, look, visitTo, words } from "./support/fake-visit.ts";

const WEB = { namespace: "apps", name: "web" };

interface Scene {
  readonly vm?: VmiFacts;
  readonly evacuations?: readonly EvacuationFacts[];
  readonly migrations?: readonly MigrationFacts[];
}

function clusterOf({ vm, evacuations = [], migrations = [] }: Scene): FakeCluster {
  const fake = new FakeCluster();
  if (vm !== undefined) {
    fake.vmis.put(vm);
    fake.pods.put(pod());
  }
  fake.evacuations.put(...evacuations);
  fake.migrations.put(...migrations);
  return fake;
}

async function page(scene: Scene, options: Parameters<typeof visitTo>[1] = {}, key = WEB): Promise<string> {
  const visit = visitTo(clusterOf(scene), options);
  return await look(vmPage(visit, key), visit);
}

async function seen(scene: Scene, options: Parameters<typeof visitTo>[1] = {}): Promise<string> {
  return words(await page(scene, options));
}

const ABANDONED = endedEvacuation("Abandoned", { status: { message: "5 attempts have failed", attempts: 5 } });

// prettier-ignore
const SAID: readonly (readonly [what: string, scene: Scene, told: string])[] = [
  ["one that moves if evicted",  { vm: vmi() }, "The VM stays where it is. An eviction would move it to another node."],
  ["one that cannot move",       { vm: vmi(PINNED) }, "An eviction would be refused, and move nothing."],
  ["why it cannot",              { vm: vmi(PINNED) }, "Can migrate no: DisksNotLiveMigratable: the disk is not shared"],
  ["one that would be shut down", { vm: vmi({ evictionStrategy: "None" }) }, "An eviction would be allowed: the guest is shut down."],
  ["the answer",                 { vm: vmi() }, "What an eviction would get now Refused (429): EvacuationTriggered"],
  ["whose strategy it is",       { vm: vmi() }, "Eviction strategy LiveMigrate its own"],
  ["one of an owner",            { vm: vmi(EXTERNAL) }, "Eviction strategy External its own"],
  ["where it runs",              { vm: vmi() }, "Runs on node01"],
  ["that it has just moved",     { vm: vmi({ movedAt: Date.parse(time(-60)), movedInSeconds: 12 }) }, "Last moved 60s ago , took 12s"],
  ["what moves it",              { vm: vmi(), evacuations: [evacuation({ status: { phase: "Migrating", targetNode: "node02" } })] }, "The VM moves to another node as soon as KubeVirt lets it. It has to leave its node because of an eviction (kubectl drain)."],
  ["how often it has failed",    { vm: vmi(), evacuations: [evacuation({ status: { phase: "BackingOff", attempts: 2, nextAttemptTime: time(60) } })] }, "Failed attempts 2 of 5 Next attempt in 60s"],
  ["of several the oldest",      { vm: vmi(), evacuations: [evacuation({ name: "b", uid: "b", createdAt: 2, status: { message: "second" } }), evacuation({ name: "a", uid: "a", createdAt: 1, status: { message: "first" } })] }, "Under way Pending First."],
  ["how long a deletion waits",  { vm: vmi(), evacuations: [evacuation({ spec: { cause: "Preemption", deadline: time(100) } })] }, "Deletion refused for 1"],
  ["its conditions",             { vm: vmi(), evacuations: [evacuation()] }, "Marked True Marked 60s ago status.evacuationNodeName is node01"],
  ["what was given up",          { vm: vmi(), evacuations: [ABANDONED] }, "Abandoned node01 an eviction (kubectl drain) asked by admin 5 "],
  ["its migrations",             { vm: vmi(), migrations: [migration({ phase: "Failed", failureReason: "no room" })] }, "migration Failed node01 30s ago no room"],
  ["what a migration waits for", { vm: vmi(), migrations: [migration({ phase: "Pending", blockedBy: { type: "quota" } })] }, "waits: quota"],
  ["one that has ended",         { vm: vmi({ phase: "Failed" }) }, "The VM has ended."],
  ["one that is gone",           { evacuations: [ABANDONED] }, "The VM does not run. What is left is its past."],
];

test.each(SAID)("%s", async (_, scene, told) => {
  expect(await seen(scene)).toContain(told);
});

test("of a VM that was never there nothing is shown", async () => {
  await expect(page({})).rejects.toThrow("no such VMI");
});

test("the pod that an eviction would name is the one that the guest runs in", async () => {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  fake.pods.put(pod({ name: "virt-launcher-web-a", uid: "target", nodeName: "node02" }), pod());
  const visit = visitTo(fake);
  expect(words(await look(vmPage(visit, WEB), visit))).toContain(
    "lifeboat explain pod virt-launcher-web-x7k2p -n apps",
  );
});

test("of a VM that has ended no eviction is told", async () => {
  expect(await seen({ vm: vmi({ phase: "Failed" }) })).not.toContain("eviction would");
});

test("while an attempt goes on there is no next one", async () => {
  const status = { phase: "Migrating", attempts: 1, nextAttemptTime: time(60) } as const;
  expect(await seen({ vm: vmi(), evacuations: [evacuation({ status })] })).not.toContain("Next attempt");
});

test("newest first", async () => {
  const evacuations = [1, 3, 2].map((i) => {
    return evacuation({ name: `e-${i}`, uid: `${i}`, createdAt: i, status: { message: `no-${i}` } });
  });
  const main = await seen({ vm: vmi(), evacuations });
  const [, past = ""] = main.split("Newest first");
  const places = [3, 2, 1].map((i) => past.indexOf(`no-${i}`));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

const RETRYING = evacuation({ status: { phase: "BackingOff" } });
// prettier-ignore
const ACTS: readonly (readonly [what: string, scene: Scene, acts: readonly string[]])[] = [
  ["nothing is under way", { vm: vmi() },                                ["evacuate"]],
  ["one is under way",     { vm: vmi(), evacuations: [evacuation()] },   ["cancel"]],
  ["one waits",            { vm: vmi(), evacuations: [RETRYING] },       ["retry", "cancel"]],
  ["one was given up",     { vm: vmi(), evacuations: [ABANDONED] },      ["retry"]],
  ["one of a former pod was given up", { vm: vmi({ activePods: { another: "node01" } }), evacuations: [ABANDONED] }, ["evacuate"]],
  ["KubeVirt has marked it", { vm: marked() },                           ["cancel"]],
  ["the VM has ended",     { vm: vmi({ phase: "Succeeded" }) },          []],
  ["the VM is gone",       { evacuations: [ABANDONED] },                 []],
];

function linked(main: string): readonly (string | undefined)[] {
  return [...main.matchAll(/href="\/fleet\/prod\/vms\/apps\/web\/(\w+)"/g)].map(([, act]) => act);
}

test.each(ACTS)("what can be done while %s", async (_, scene, acts) => {
  expect(linked(await page(scene))).toEqual(acts);
  expect(linked(await page(scene, { visitor: { mayAct: false } }))).toEqual([]);
});

test("migrations that may not be read hide nothing else", async () => {
  const main = await seen({ vm: vmi() }, { before: failing(/listMigrations/) });
  expect(main).toContain("Runs on node01");
  expect(main).toContain("Lifeboat may not read them here.");
});

test("it takes four requests, however long its past is", async () => {
  const asked: string[] = [];
  const many = Array.from({ length: 80 }, (_, i) => evacuation({ name: `e-${i}`, uid: `${i}` }));
  const visit = visitTo(clusterOf({ vm: vmi(), evacuations: many }), { before: (request) => void asked.push(request) });
  await visit.target.settings(visit.target.connect(1));
  asked.length = 0;
  await look(vmPage(visit, WEB), visit);
  expect(asked.toSorted()).toEqual(["getVmi", "listEvacuations", "listMigrations", "listPodsOf"]);
});

test("hostile names and messages stay text, and one word of a shell", async () => {
  const key = { namespace: HOSTILE, name: "; rm -rf / '" };
  const vm = { liveMigratable: { migratable: false, reason: HOSTILE, message: HOSTILE } };
  const more = { nodeName: HOSTILE, evictionStrategy: HOSTILE, backup: HOSTILE, phase: HOSTILE };
  const status = { sourceNode: HOSTILE, targetNode: HOSTILE, message: HOSTILE, migration: { name: HOSTILE, uid: "" } };
  const evacuations = [evacuation({ ...key, spec: { vmiName: key.name, requestedBy: HOSTILE }, status })];
  const migrations = [migration({ ...key, vmiName: key.name, phase: HOSTILE, failureReason: HOSTILE })];
  const main = await page({ vm: vmi({ ...key, ...vm, ...more }), evacuations, migrations }, {}, key);
  expect(isEscaped(main)).toBe(true);
  expect(words(main)).toContain(String.raw`lifeboat cancel '; rm -rf / '\''' -n '<script>`);
});
