/** One table has the words and the forms of each page: a cluster, a node, a VM, a fleet. Hostile names and messages follow. */
import { expect, test } from "vitest";
import { shellLine } from "../../../functions/page/components.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { evacuation, EXTERNAL, marked, migration, NODE, PINNED, time, vmi } from "../../support/fixtures.ts";
import { plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import { ASKS_NOTHING, clusterOf, ended, of, type Scene, UNDER_WAY, WEEKEND } from "./support/scene.ts";
import { arriveAt, HOSTILE, isEscaped, mainOf, words } from "./support/visitor.ts";

const PAGES = {
  fleet: "/",
  cluster: "/fleet/prod",
  node: "/fleet/prod/nodes/node01",
  vm: "/fleet/prod/vms/apps/web",
  maintenance: "/fleet/prod/nodeevacuations/kernel",
  rolling: "/fleet/prod/rollingmaintenances/weekend",
};
type View = keyof typeof PAGES;

/** Beside a quiet cluster: of one alone there is no page of a fleet. */
async function textOf(view: View, scene: Scene): Promise<string> {
  const there = await arriveAt({ prod: clusterOf(scene), quiet: new FakeCluster() });
  const answer = await there.get(PAGES[view]);
  expect(answer.code).toBe(200);
  return mainOf(answer);
}

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

const RUNNING = { status: UNDER_WAY };
const WITHDRAWN = { spec: { intent: "Withdrawn" }, status: UNDER_WAY };
const PAUSED = { spec: { progress: "Paused" }, status: { ...UNDER_WAY, phase: "Paused" } };
const DONE = { status: { ...UNDER_WAY, phase: "Evacuated" } };

// prettier-ignore
const SAID: readonly (readonly [view: View, what: string, scene: Scene, says: string])[] = [
  ["fleet",   "nothing happens",           IDLE, "prod Nothing to do"],
  ["fleet",   "a VM moves",                { vms: [VM], evacuations: [of("web")] }, "prod VMs are moving 1 Pending"],
  ["fleet",   "a VM is blocked",           BLOCKED, "1 VM waits for a person. prod Needs a person"],
  ["fleet",   "an attempt has failed",     { evacuations: [of("web", { phase: "BackingOff" })] }, "prod Tries again 1 BackingOff"],
  ["fleet",   "the configuration is not valid", { conditions: [{ type: "Valid", status: "False" }] }, "Lifeboat has a problem The configuration is not valid. as the condition says"],
  ["fleet",   "the webhook is missing",    { conditions: [{ type: "WebhookCalled", status: "False" }] }, "Lifeboat has a problem The API server does not ask Lifeboat about evictions. as the condition says"],
  ["cluster", "all is quiet",              IDLE, "All is quiet: 2 nodes."],
  ["cluster", "a drain, in a line",        DRAIN, "2 VMs need attention, 1 node is being drained and blocked, 1 VM is moving. 2 nodes."],
  ["cluster", "a drain, in its row",       DRAIN, "node01 Being drained Cordoned 2 of 6 gone 2 VMs block it"],
  ["cluster", "who can change it",         DRAIN, "Who can change it: its external controller, which acts on evictionStrategy External"],
  ["cluster", "the next attempt",          DRAIN, "2, next in 90s"],
  ["cluster", "where it went, how long",   DRAIN, "apps/web-1 Moved node01 → node02 an eviction (kubectl drain) asked by admin 30s ago , took 30s"],
  ["cluster", "all who have asked for it", { evacuations: [of("web", { phase: "Pending", requesters: ["joe", "jane"] })] }, "asked by admin , joe , jane"],
  ["cluster", "the drain taint",           { its: { taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] } }, "node01 Drain taint"],
  ["node",    "how many have gone",        DRAIN, "Being drained 2 of 6 VMs have left this node: 1 moving, 1 waiting, 2 blocked."],
  ["node",    "why, and who asked",        DRAIN, "Because of an eviction (kubectl drain) Asked by admin"],
  ["node",    "where a VM moves",          DRAIN, "apps/moves Moving moves to node02"],
  ["node",    "what blocks",               DRAIN, "apps/ledger Blocked"],
  ["node",    "who can change it",         DRAIN, "Who can change it: its owner: stop it, set evictionStrategy LiveMigrateIfPossible, or remove the reason why it cannot migrate."],
  ["node",    "which attempt, the next",   DRAIN, "apps/fails BackingOff 2, next in 90s"],
  ["node",    "it is empty",               { cordoned: true, evacuations: [ended("web-1", "Moved", GONE)] }, "Every VM has left. When the work on the node is done, let it take pods again: kubectl uncordon node01"],
  ["node",    "a healthy VM",              IDLE, "VMs on this node 1 VM State What happens apps/web Running"],
  ["node",    "would a drain succeed?",    IDLE, "Would a drain succeed? A drain will succeed"],
  ["node",    "what would be in its way",  { vms: [vmiOf("db", PINNED)] }, "apps/db Blocked VMI"],
  ["node",    "another pod blocks",        { cordoned: true, vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating" })], pods: [plainPod("loner", { owners: [], ...ASKS_NOTHING })] }, "Other pods that block a drain 1 Pod Message apps/loner No controller would create it again"],
  ["node",    "one VM that a person evacuates", { cordoned: true, vms: [VM, vmiOf("db")], evacuations: [evacuation({ spec: { cause: "Operator" } })] }, "Cordoned The node takes no new pods."],
  ["cluster", "maintenances",              { nodeEvacuation: { status: { ...UNDER_WAY, phase: "Blocked" } } }, "Maintenance 1 Name Node Phase Message kernel node01 Blocked"],
  ["cluster", "how many VMs an idle node has", IDLE, "node01 Ready 1 VM No known blocker"],
  ["cluster", "what would block a drain of an idle node", { vms: [vmiOf("ledger", PINNED)] }, "node01 Ready 1 VM 1 VM would block it"],
  ["node",    "what a drain does to a VM that moves", IDLE, "apps/web Running A drain moves it to another node; node02 has room"],
  ["node",    "whose guests would end",    { vms: [vmiOf("gpu", { ...PINNED, evictionStrategy: "LiveMigrateIfPossible" })] }, "A drain will succeed, with shutdowns"],
  ["node",    "that a person has paused it", { nodeEvacuation: PAUSED }, "Maintenance Paused A person has paused it: nothing new starts; running migrations continue."],
  ["node",    "that it was resumed, before the status says so", { cordoned: true, nodeEvacuation: { status: { ...UNDER_WAY, phase: "Paused", message: "spec.progress is Paused" } } }, "It was resumed, and continues within a minute."],
  ["maintenance", "how far it is",         { nodeEvacuation: RUNNING }, "kernel Evacuating Node node01 has to be empty. 2 of 4 VMs are left. NodeEvacuation kernel VMs 2 of 4 gone, 1 moving, 1 blocked, 1 restarted"],
  ["node",    "a maintenance, when it starts", { nodeEvacuation: { spec: { schedule: { notBefore: time(3600) } }, status: { phase: "Scheduled", verdict: "WillBlock", message: "starts at 22:00" } } }, "Maintenance Scheduled"],
  ["node",    "a maintenance under way",   { nodeEvacuation: { status: { ...UNDER_WAY, estimatedCompletionTime: time(120) } } }, "2 of 4 gone"],
  ["node",    "what blocks a maintenance", { nodeEvacuation: { status: { ...UNDER_WAY, phase: "Blocked", blockers: [{ namespace: "apps", name: "ledger", reason: "NotMigratable", message: "it cannot migrate", whoCanFix: "its owner" }] } } }, "apps/ledger NotMigratable It cannot migrate. Who can change it: its owner"],
  ["cluster", "a rolling maintenance",     { rolling: WEEKEND }, "Rolling maintenance 1 Name Phase Nodes When Message weekend Running 1 of 2 done ends in about 10m"],
  ["rolling", "how far it is",             { rolling: WEEKEND }, "weekend Running Node02 is being emptied. 1 of 2 done When ends in about 10m"],
  ["rolling", "its time line",             { rolling: WEEKEND }, "Node Phase Plan and progress VMs Message node01 Returned 3 of 3 gone weekend-node01 node02 Blocked 1 of 4 gone VM apps/ledger cannot migrate. weekend-node02"],
  ["rolling", "that it has not started",   { rolling: { spec: { schedule: { notBefore: time(3600) } } } }, "Lifeboat has not read it yet. When starts in 60m"],
  ["vm",      "it moves if evicted",       IDLE, "The VM stays where it is. An eviction would move it to another node."],
  ["vm",      "it cannot move",            { vms: [vmi({ ...VM, ...PINNED })] }, "An eviction would be refused, and move nothing."],
  ["vm",      "it would be shut down",     { vms: [vmi({ ...VM, evictionStrategy: "None" })] }, "An eviction would be allowed: the guest is shut down."],
  ["vm",      "the answer",                IDLE, "What an eviction would get now Moves: EvacuationTriggered"],
  ["vm",      "what moves it",             { vms: [VM], evacuations: [of("web", { phase: "Migrating" })] }, "The VM moves to another node as soon as KubeVirt lets it. It has to leave its node because of an eviction (kubectl drain)."],
  ["vm",      "that a workload update moves it", { vms: [VM], migrations: [migration({ automatic: true })] }, "Migration migration (cause WorkloadUpdate) moves the VM."],
  ["vm",      "its deletion is refused",   { vms: [VM], evacuations: [evacuation({ spec: { cause: "Preemption", deadline: time(100) } })] }, "Its deletion is refused for 1"],
  ["vm",      "it is gone",                { evacuations: [ABANDONED] }, "The VM does not run. This page shows its history."],
  ["vm",      "what to evacuate it does",  IDLE, "Evacuate. KubeVirt migrates the VM to another node that has room, or its external controller does. The guest continues to run."],
  ["vm",      "what to retry does",        { vms: [VM], evacuations: [of("web", { phase: "BackingOff", message: "no room" })] }, "The last one failed: no room"],
  ["vm",      "what to cancel does",       { vms: [marked({ uid: "vmi-web" })], evacuations: [of("web")] }, "KubeVirt's mark is removed, and the VM stays on node node01 ."],
  ["vm",      "the same from a terminal",  IDLE, "lifeboat evacuate web -n apps"],
];

test.each(SAID)("%s: %s", async (view, _, scene, says) => {
  expect(words(await textOf(view, scene))).toContain(says);
});

// prettier-ignore
const HIDDEN: readonly (readonly [view: View, what: string, scene: Scene, hidden: string])[] = [
  ["cluster", "what happens to no VM",     IDLE, "VMs that leave their node"],
  ["cluster", "an emptied node that is open again", { evacuations: [ended("web", "Moved")] }, "Being drained"],
  ["cluster", "what was given up long ago", { evacuations: [ended("web", "Abandoned", { completionTime: time(-4000) })] }, "attention"],
  ["cluster", "a rolling maintenance that is over", { rolling: { status: { phase: "Completed" } } }, "weekend"],
  ["cluster", "a maintenance that is over", { nodeEvacuation: { status: { ...UNDER_WAY, phase: "Evacuated" } } }, "kernel"],
  ["node",    "a maintenance that was refused", { nodeEvacuation: { status: { phase: "Refused" } } }, "kernel"],
  ["node",    "the maintenance of another node", { nodeEvacuation: { spec: { nodeName: "node02" } } }, "kernel"],
  ["node",    "the next attempt while one continues", { vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating", attempts: 1, nextAttemptTime: time(60) })] }, "next in"],
  ["vm",      "evictions of one that has ended", { vms: [vmi({ ...VM, phase: "Failed" })] }, "eviction would"],
];

test("a node that is being emptied has one progress bar on each page", async () => {
  const scene = { ...DRAIN, nodeEvacuation: RUNNING };
  for (const view of ["cluster", "node"] as const) {
    const bars = [...(await textOf(view, scene)).matchAll(/<progress /g)];
    expect([view, bars.length]).toEqual([view, 1]);
  }
});

test("a bar says its times in words, and the row of a node that waits has a plan alone", async () => {
  const svgs = [...(await textOf("rolling", { rolling: WEEKEND })).matchAll(/<svg[^]*?<\/svg>/g)].map(([svg]) => svg);
  expect(svgs.map((svg) => [svg.includes('class="planned"'), svg.includes('class="actual"')])).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(svgs[0]).toMatch(/aria-label="planned \d{4}-\d\d-\d\d \d\d:\d\d to .*; started .*, until /);
});

test.each(HIDDEN)("%s: nothing is said of %s", async (view, _, scene, hidden) => {
  expect(words(await textOf(view, scene))).not.toContain(hidden);
});

// prettier-ignore
const COMMANDS: readonly (readonly [view: View, what: string, scene: Scene, commands: readonly string[]])[] = [
  ["vm",   "nothing is in progress", IDLE,                                                             ["evacuate web -n apps"]],
  ["vm",   "it cannot move",         { vms: [vmi({ ...VM, ...PINNED })] },                              []],
  ["vm",   "one is in progress",     { vms: [VM], evacuations: [of("web")] },                           ["cancel vm/web -n apps"]],
  ["vm",   "one waits",              { vms: [VM], evacuations: [of("web", { phase: "BackingOff" })] },  ["retry web -n apps", "cancel vm/web -n apps"]],
  ["vm",   "one was given up",       { vms: [VM], evacuations: [ABANDONED] },                           ["retry web -n apps"]],
  ["vm",   "KubeVirt has marked it", { vms: [marked({ uid: "vmi-web" })] },                             ["cancel vm/web -n apps"]],
  ["vm",   "the VM is gone",         { evacuations: [ABANDONED] },                                      []],
  ["node", "nothing is asked for",   {},                                                                ["drain node01"]],
  ["node", "a VM cannot move",       { vms: [vmiOf("db", PINNED)] },                                    ["drain node01", "drain node01 --when-blocked Restart"]],
  ["node", "one has just been asked for", { nodeEvacuation: {} },                                       ["pause node01", "cancel node/node01"]],
  ["node", "one is under way",       { nodeEvacuation: RUNNING },                                       ["pause node01", "cancel node/node01"]],
  ["node", "one is paused",          { nodeEvacuation: PAUSED },                                        ["resume node01", "cancel node/node01"]],
  ["node", "one is withdrawn",       { nodeEvacuation: WITHDRAWN },                                     []],
  ["node", "one is done",            { nodeEvacuation: DONE },                                          ["drain node01"]],
  ["maintenance", "it is under way", { nodeEvacuation: RUNNING },                                       ["pause node01", "cancel node/node01"]],
  ["maintenance", "it is done",      { nodeEvacuation: DONE },                                          []],
];

const commandsOf = (main: string) =>
  [
    ...((main.split("What you can do</h2>")[1] ?? "")
      .split("</section>")[0]
      ?.matchAll(/<code>lifeboat (.*?)<\/code>/g) ?? []),
  ].map(([, command]) => command);

test.each(COMMANDS)(
  "%s: the commands to copy while %s; the page itself has no form for any of it",
  async (view, _, scene, commands) => {
    const main = await textOf(view, scene);
    expect(commandsOf(main)).toEqual(commands);
    expect(main).not.toContain("<form");
  },
);

function hostileCluster(): FakeCluster {
  const liveMigratable = { migratable: false, reason: HOSTILE, message: HOSTILE };
  const more = { liveMigratable, evictionStrategy: HOSTILE, backup: HOSTILE };
  const status = { message: HOSTILE, targetNode: HOSTILE, attempts: 1, migration: { name: HOSTILE, uid: "" } };
  const blockers = [{ namespace: "apps", name: HOSTILE, reason: "x", message: HOSTILE, whoCanFix: HOSTILE }];
  const fake = clusterOf({
    vms: [{ ...VM, ...more }],
    conditions: [{ type: "Valid", status: "False", reason: HOSTILE }],
    nodeEvacuation: { status: { ...UNDER_WAY, message: HOSTILE, verdict: HOSTILE, blockers } },
  });
  const one = of("web", status);
  fake.evacuations.put({ ...one, spec: { ...one.spec, requestedBy: HOSTILE } });
  fake.evacuations.put(ended(HOSTILE, "Moved", { ...status, sourceNode: NODE }));
  return fake;
}

test.each(Object.values(PAGES))("hostile words stay text at %s", async (path) => {
  const there = await arriveAt({ prod: hostileCluster(), quiet: new FakeCluster() });
  const main = mainOf(await there.get(path));
  expect(main).not.toBe("");
  expect(isEscaped(main)).toBe(true);
});

test.each([["web"], [HOSTILE]])("a VM that there is not is not found: %j", async (name) => {
  const there = await arriveAt({ prod: clusterOf({}) });
  const { code, text } = await there.get(`/fleet/prod/vms/apps/${encodeURIComponent(name)}`);
  expect([code, isEscaped(text)]).toEqual([404, true]);
});

test("a name that a shell would read is one word in a command", () => {
  const line = shellLine("kubectl", "describe", "vmi", "; rm -rf / '", "-n", "<script>");
  expect(line).toBe(String.raw`kubectl describe vmi '; rm -rf / '\''' -n '<script>'`);
});
