/** The page of a cluster: what comes first, what is said of it, and what it costs. */
import { expect, test } from "vitest";
import type { Census } from "../../functions/page/cluster-reads.ts";
import { RecentReads } from "../../functions/page/recent.ts";
import { clusterPage } from "../../functions/page/views/cluster.ts";
import type { EvacuationFacts, NodeFacts } from "../../shared/policy/facts.ts";
import { failing } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { endedEvacuation, evacuation, EXTERNAL, node, PINNED, time, vmi } from "../policy/fixtures.ts";
import { HOSTILE, isEscaped, look, visitTo, words } from "./support/fake-visit.ts";

type Tweak = Parameters<typeof evacuation>[0];

function of(vmiName: string, tweak: Tweak = {}): EvacuationFacts {
  return evacuation({ name: vmiName, uid: vmiName, ...tweak, spec: { vmiName, ...tweak?.spec } });
}

function ended(vmiName: string, phase: "Moved" | "Abandoned", tweak: Tweak = {}): EvacuationFacts {
  return endedEvacuation(phase, { name: vmiName, uid: vmiName, ...tweak, spec: { vmiName, ...tweak?.spec } });
}

function clusterOf(evacuations: readonly EvacuationFacts[], nodes: readonly NodeFacts[] = [node()]): FakeCluster {
  const fake = new FakeCluster();
  fake.evacuations.put(...evacuations);
  fake.nodes.put(...nodes);
  return fake;
}

async function seen(fake: FakeCluster, options: Parameters<typeof visitTo>[1] = {}): Promise<string> {
  const visit = visitTo(fake, options);
  return words(await look(clusterPage(visit, new RecentReads<Census>()), visit));
}

// prettier-ignore
const SAID: readonly (readonly [what: string, fake: FakeCluster, told: string])[] = [
  ["a quiet cluster",     clusterOf([]), "All is quiet: 0 VMs on 1 node."],
  ["an empty state",      clusterOf([]), "No VM is leaving its node."],
  ["what moves",          clusterOf([of("web")]), "apps/web Pending node01 an eviction (kubectl drain) asked by admin 60s ago KubeVirt's evacuation"],
  ["where it has gone",   clusterOf([ended("web", "Moved", { status: { targetNode: "node02" } })]), "apps/web Moved node01 → node02"],
  ["how long that took",  clusterOf([ended("web", "Moved", { status: { completionTime: time(-30) } })]), "30s ago , took 30s"],
  ["who can change it",   clusterOf([of("web", { status: { phase: "WaitingForOwner" } })]), "Who can change it: its owner (the controller that set evictionStrategy External)"],
  ["the reason decides",  clusterOf([of("web", { status: { phase: "Blocked", reason: "DecentralizedMigration" } })]), "Who can change it: the person who sends the VM"],
  ["the next attempt",    clusterOf([of("web", { status: { phase: "BackingOff", attempts: 2, nextAttemptTime: time(40) } })]), "(2 failed attempts, the next in 40s )"],
  ["a cordoned node",     clusterOf([], [node({ unschedulable: true })]), "node01 0 Cordoned"],
  ["pressure",            clusterOf([], [node({ pressures: ["MemoryPressure"] })]), "node01 0 MemoryPressure"],
  ["the drain taint",     clusterOf([], [node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] })]), "node01 0 Drain taint"],
  ["a lost node",         clusterOf([], [node({ ready: false })]), "node01 0 NotReady"],
];

test.each(SAID)("%s", async (_, fake, told) => {
  expect(await seen(fake)).toContain(told);
});

test("a node that is being emptied: what has gone, what is left", async () => {
  const others = ["a", "b", "c"].map((name) => ended(name, "Moved"));
  const fake = clusterOf([...others, of("web", { status: { phase: "Blocked" } })], [node({ unschedulable: true })]);
  fake.vmis.put(vmi(), vmi({ name: "db", uid: "db" }), vmi({ name: "done", uid: "done", phase: "Succeeded" }));
  const main = await seen(fake);
  expect(main).toContain("1 VM needs attention, 1 node is being emptied. 3 VMs on 1 node.");
  expect(main).toContain("node01 3 of 5 1 blocked an eviction (kubectl drain) asked by admin");
  expect(main).toContain("lifeboat explain node node01");
});

test("a VM that every eviction is refused for has no Evacuation, and is in the way all the same", async () => {
  const fake = clusterOf([ended("a", "Moved"), of("b")], [node({ unschedulable: true })]);
  fake.vmis.put(
    vmi({ ...PINNED, name: "ledger", uid: "1" }),
    vmi({ name: "odd", uid: "2", evictionStrategy: "Never" }),
  );
  fake.vmis.put(vmi({ name: "b", uid: "3" }), vmi({ ...EXTERNAL, name: "own", uid: "4" }));
  const main = await seen(fake);
  expect(main).toContain("2 VMs need attention, 1 node is being emptied");
  expect(main).toContain("node01 1 of 5 2 blocked");
  expect(main).toContain(
    "apps/ledger Blocked node01 The VM stays on a node that is to be emptied: it cannot live-migrate ( DisksNotLiveMigratable ), and its eviction strategy is LiveMigrate . Who can change it: its owner",
  );
  expect(main).toContain("apps/odd Blocked node01");
  fake.nodes.put(node());
  expect(await seen(fake)).not.toContain("apps/ledger");
});

test("a closed node with VMs stays in sight when its Evacuations are gone", async () => {
  const fake = clusterOf([], [node({ unschedulable: true }), node({ name: "node02", unschedulable: true })]);
  fake.vmis.put(vmi(PINNED));
  const main = await seen(fake);
  expect(main).toContain("node01 1 VM there 1 blocked cordoned; nothing asks its VMs to leave now");
  expect(main).toContain("All is quiet: 1 VM on 2 nodes.");
  expect(main).not.toContain("node02 0 VM");
});

test("a VM that has come back has not gone", async () => {
  const fake = clusterOf([ended("web", "Moved"), ended("db", "Moved")], [node({ unschedulable: true })]);
  fake.vmis.put(vmi());
  expect(await seen(fake)).toContain("node01 1 of 2");
});

test("a node that is open, and that one VM leaves, is not being emptied", async () => {
  expect(await seen(clusterOf([of("web")]))).not.toContain("Nodes being emptied");
  expect(await seen(clusterOf([of("web"), of("db")]))).toContain("node01 0 of 2");
  expect(await seen(clusterOf([of("web")], [node({ unschedulable: true })]))).toContain("node01 0 of 1");
});

test("an emptied node stays until it is uncordoned", async () => {
  const moved = ended("web", "Moved");
  expect(await seen(clusterOf([moved], [node({ unschedulable: true })]))).toContain("node01 1 of 1");
  expect(await seen(clusterOf([moved], [node()]))).not.toContain("Nodes being emptied");
});

test("in order: what cannot go on without a person, longest first; what tries again; what moves; what has ended, newest first", async () => {
  const evacuations = [
    ended("vm-7", "Moved", { status: { completionTime: time(-20) } }),
    ended("vm-6", "Moved", { status: { completionTime: time(-10) } }),
    of("vm-5"),
    of("vm-4", { status: { phase: "BackingOff" } }),
    ended("vm-3", "Abandoned"),
    of("vm-2", { createdAt: Date.parse(time(-10)), status: { phase: "Blocked" } }),
    of("vm-1", { createdAt: Date.parse(time(-90)), status: { phase: "Blocked" } }),
  ];
  const main = await seen(clusterOf(evacuations));
  const places = [1, 2, 3, 4, 5, 6, 7].map((i) => main.indexOf(`apps/vm-${i}`));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
});

test("what was given up needs no attention once the VM has been evacuated anew", async () => {
  const before = ended("web", "Abandoned", { name: "web-1", uid: "1", createdAt: Date.parse(time(-500)) });
  const after = of("web", { name: "web-2", uid: "2", status: { phase: "Migrating" } });
  expect(await seen(clusterOf([before, after]))).not.toContain("Needs attention");
});

test("more than a page shows is counted", async () => {
  const many = Array.from({ length: 60 }, (_, i) => ended(`vm-${i}`, "Moved"));
  expect(await seen(clusterOf(many))).toContain("10 more: kubectl get evacuations -A lists all.");
});

test("of a large cluster the VMs are not read to be counted", async () => {
  const asked: string[] = [];
  const fake = clusterOf([]);
  fake.vmis.put(...Array.from({ length: 1001 }, (_, i) => vmi({ name: `vm-${i}`, uid: `${i}` })));
  const main = await seen(fake, { before: (request) => void asked.push(request) });
  expect(main).toContain("1001 VMs on 1 node");
  expect(main).not.toContain("node01 1001");
  expect(asked).not.toContain("listVmis");
});

test("nodes and VMs are read now and then only", async () => {
  const asked: string[] = [];
  const visit = visitTo(clusterOf([]), { before: (request) => void asked.push(request) });
  const page = clusterPage(visit, new RecentReads<Census>());
  for (let i = 0; i < 5; i++) {
    await page.read();
    visit.doors.pass(2);
  }
  expect(asked.filter((request) => request === "listNodes")).toHaveLength(1);
  expect(asked.filter((request) => request === "listEvacuations")).toHaveLength(5);
});

test("the VMs of a node that is being emptied are counted each time", async () => {
  const fake = clusterOf([of("web")], [node({ unschedulable: true })]);
  fake.vmis.put(vmi());
  const visit = visitTo(fake);
  const page = clusterPage(visit, new RecentReads<Census>());
  expect(words(await look(page, visit))).toContain("node01 1 Cordoned");
  fake.change({ namespace: "apps", name: "web" }, { nodeName: "node02" });
  expect(words(await look(page, visit))).toContain("node01 0 Cordoned");
});

test("what may not be read hides nothing else", async () => {
  const fake = clusterOf([of("web", { status: { phase: "Blocked" } })], [node({ unschedulable: true })]);
  expect(await seen(fake, { before: failing(/countVmis|listVmis/) })).toContain("node01 0 of 1 or more 1 blocked");
});

test("a configuration that is not in force is said, as the condition has it", async () => {
  const fake = clusterOf([]);
  const message = "spec.evacuation.maxAttempts: expected 1 or more";
  const ready = { type: "Ready", status: "False", reason: "Invalid", message, observedGeneration: 1 };
  const conditions = [{ ...ready, lastTransitionTime: "" }];
  fake.configuration = { resourceVersion: "1", generation: 1, spec: { evacuation: { maxAttempts: 0 } }, conditions };
  const main = await seen(fake);
  expect(main).toContain("The configuration is not valid.");
  expect(main.split("spec.evacuation.maxAttempts")).toHaveLength(2);
});

test("hostile names and messages stay text", async () => {
  const status = { sourceNode: HOSTILE, targetNode: HOSTILE, message: HOSTILE } as const;
  const spec = { vmiName: HOSTILE, requestedBy: HOSTILE };
  const every = ["Pending", "Blocked", "Moved"] as const;
  const evacuations = every.map((phase) =>
    evacuation({ name: `${HOSTILE}${phase}`, uid: phase, spec, status: { ...status, phase } }),
  );
  const visit = visitTo(clusterOf(evacuations, [node({ name: HOSTILE })]), { cluster: HOSTILE });
  const main = await look(clusterPage(visit, new RecentReads<Census>()), visit);
  expect(isEscaped(main)).toBe(true);
});
