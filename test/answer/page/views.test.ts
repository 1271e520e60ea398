/** Tests the text and the commands of each page, also with hostile names and messages. */
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

/** Adds a second cluster, because only a visitor with several clusters gets the page of all clusters. */
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

/** Two VMs have left. The other four VMs are migrating, in back-off, unable to migrate, and waiting for their owner. */
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
      message: "eviction strategy External: the VM's external controller has to move the VM",
    }),
  ],
};
const IDLE: Scene = { vms: [VM] };
const BLOCKED: Scene = { vms: [VM], evacuations: [of("web", { phase: "Blocked", reason: "NotMigratable" })] };

const RUNNING = { status: UNDER_WAY };
const WITHDRAWN = { spec: { intent: "Withdrawn" }, status: UNDER_WAY };
const PAUSED = { spec: { progress: "Paused" }, status: { ...UNDER_WAY, phase: "Paused" } };
const PAUSED_PART: Scene = {
  cordoned: true,
  nodeEvacuation: { isPart: true, status: { ...UNDER_WAY, phase: "Paused", message: "spec.progress is Paused" } },
};
const PAUSED_AS_PART: Scene = { ...PAUSED_PART, rolling: { ...WEEKEND, spec: { progress: "Paused" } } };
const DONE = { status: { ...UNDER_WAY, phase: "Evacuated" } };

// prettier-ignore
const SAID: readonly (readonly [view: View, what: string, scene: Scene, says: string])[] = [
  ["fleet",   "no activity",                                   IDLE, "prod Nothing to do"],
  ["fleet",   "a moving VM",                                   { vms: [VM], evacuations: [of("web")] }, "prod VMs are moving 1 Pending"],
  ["fleet",   "a blocked VM",                                  BLOCKED, "1 VM waits for a person. prod Needs a person"],
  ["fleet",   "a failed attempt",                              { evacuations: [of("web", { phase: "BackingOff" })] }, "prod Tries again 1 BackingOff"],
  ["fleet",   "an invalid configuration",                      { conditions: [{ type: "Valid", status: "False" }] }, "Lifeboat has a problem The configuration is not valid. as the condition says"],
  ["fleet",   "a missing webhook",                             { conditions: [{ type: "WebhookCalled", status: "False" }] }, "Lifeboat has a problem The API server does not ask Lifeboat about evictions. as the condition says"],
  ["cluster", "no activity",                                   IDLE, "All is quiet: 2 nodes."],
  ["cluster", "a drain in its summary",                        DRAIN, "2 VMs need attention, 1 node is being drained and is blocked, 1 VM is moving. 2 nodes."],
  ["cluster", "a drain in the node's row",                     DRAIN, "node01 Being drained Cordoned 2 of 6 gone 2 VMs block it"],
  ["cluster", "the person who can remove a blocker",           DRAIN, "Who can change it: the VM's external controller, which acts on evictionStrategy External"],
  ["cluster", "the next attempt",                              DRAIN, "2, next in 90s"],
  ["cluster", "a move with its target and duration",           DRAIN, "apps/web-1 Moved node01 → node02 an eviction (kubectl drain) asked by admin 30s ago , took 30s"],
  ["cluster", "all requesters of an evacuation",               { evacuations: [of("web", { phase: "Pending", requesters: ["joe", "jane"] })] }, "asked by admin , joe , jane"],
  ["cluster", "the drain taint",                               { its: { taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] } }, "node01 Drain taint"],
  ["node",    "the number of VMs that have left",              DRAIN, "Being drained 2 of 6 VMs have left this node: 1 moving, 1 waiting, 2 blocked."],
  ["node",    "the cause and the requester",                   DRAIN, "Because of an eviction (kubectl drain) Asked by admin"],
  ["node",    "the target of a moving VM",                     DRAIN, "apps/moves Moving moves to node02"],
  ["node",    "a blocked VM",                                  DRAIN, "apps/ledger Blocked"],
  ["node",    "the person who can remove a blocker",           DRAIN, "Who can change it: the VM's owner: stop the VM, set evictionStrategy LiveMigrateIfPossible, or remove what blocks migration."],
  ["node",    "the attempt and the next one",                  DRAIN, "apps/fails BackingOff 2, next in 90s"],
  ["node",    "that the node is empty",                        { cordoned: true, evacuations: [ended("web-1", "Moved", GONE)] }, "Every VM has left. When the work on the node is done, let the node take pods again: kubectl uncordon node01"],
  ["node",    "a healthy VM",                                  IDLE, "VMs on this node 1 VM State What happens apps/web Running"],
  ["node",    "the forecast of a drain",                       IDLE, "Would a drain succeed? A drain will succeed"],
  ["node",    "the blockers of a drain",                       { vms: [vmiOf("db", PINNED)] }, "apps/db Blocked VMI"],
  ["node",    "another pod that blocks",                       { cordoned: true, vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating" })], pods: [plainPod("loner", { owners: [], ...ASKS_NOTHING })] }, "Other pods that block a drain 1 Pod Message apps/loner No controller would create it again"],
  ["node",    "a VM that a person evacuates",                  { cordoned: true, vms: [VM, vmiOf("db")], evacuations: [evacuation({ spec: { cause: "Operator" } })] }, "Cordoned The node takes no new pods."],
  ["cluster", "maintenances",                                  { nodeEvacuation: { status: { ...UNDER_WAY, phase: "Blocked" } } }, "Maintenance 1 Name Node Phase Message kernel node01 Blocked"],
  ["cluster", "the number of VMs on an idle node",             IDLE, "node01 Ready 1 VM No known blocker"],
  ["cluster", "the blockers of a drain of an idle node",       { vms: [vmiOf("ledger", PINNED)] }, "node01 Ready 1 VM 1 VM would block it"],
  ["cluster", "an External VM as a blocker of a drain",        { vms: [vmiOf("web", EXTERNAL)] }, "node01 Ready 1 VM 1 VM would block it"],
  ["node",    "the outcome of a drain for a VM that can move", IDLE, "apps/web Running A drain moves it to another node; node02 has room"],
  ["node",    "the VMs whose guests would end",                { vms: [vmiOf("gpu", { ...PINNED, evictionStrategy: "LiveMigrateIfPossible" })] }, "A drain will succeed, with shutdowns"],
  ["node",    "that a person has paused the maintenance",      { nodeEvacuation: PAUSED }, "Maintenance Paused A person has paused the maintenance: nothing new starts; running migrations continue."],
  ["node",    "a resume before the status shows it",           { cordoned: true, nodeEvacuation: { status: { ...UNDER_WAY, phase: "Paused", message: "spec.progress is Paused" } } }, "The maintenance was resumed, and continues within a minute."],
  ["cluster", "that its RollingMaintenance is paused",         PAUSED_AS_PART, "A person has paused the maintenance: nothing new starts; running migrations continue."],
  ["node",    "that its RollingMaintenance is paused",         PAUSED_AS_PART, "A person has paused the maintenance: nothing new starts; running migrations continue."],
  ["maintenance", "the status of a part whose RollingMaintenance is not read", PAUSED_PART, "spec.progress is Paused"],
  ["maintenance", "that its RollingMaintenance is paused",     PAUSED_AS_PART, "A person has paused the maintenance: nothing new starts; running migrations continue."],
  ["maintenance", "the progress of a maintenance",                 { nodeEvacuation: RUNNING }, "kernel Evacuating Node node01 has to be empty. 2 of 4 VMs are left. NodeEvacuation kernel VMs 2 of 4 gone, 1 moving, 1 blocked, 1 restarted"],
  ["node",    "the start of a scheduled maintenance",          { nodeEvacuation: { spec: { schedule: { notBefore: time(3600) } }, status: { phase: "Scheduled", verdict: "WillBlock", message: "starts at 22:00" } } }, "Maintenance Scheduled"],
  ["node",    "a maintenance in progress",                     { nodeEvacuation: { status: { ...UNDER_WAY, estimatedCompletionTime: time(120) } } }, "2 of 4 gone"],
  ["node",    "the blockers of a maintenance",                 { nodeEvacuation: { status: { ...UNDER_WAY, phase: "Blocked", blockers: [{ namespace: "apps", name: "ledger", reason: "NotMigratable", message: "it cannot migrate", whoCanFix: "its owner" }] } } }, "apps/ledger NotMigratable It cannot migrate. Who can change it: its owner"],
  ["cluster", "a rolling maintenance",                         { rolling: WEEKEND }, "Rolling maintenance 1 Name Phase Nodes When Message weekend Running 1 of 2 done ends in about 10m"],
  ["rolling", "the progress of a rolling maintenance",         { rolling: WEEKEND }, "weekend Running node02 is being drained. 1 of 2 done When ends in about 10m"],
  ["rolling", "the time line of a rolling maintenance",        { rolling: WEEKEND }, "Node Phase Plan and progress VMs Message node01 Returned 3 of 3 gone weekend-node01 node02 Blocked 1 of 4 gone VM apps/ledger cannot migrate. weekend-node02"],
  ["rolling", "that a rolling maintenance has not started",    { rolling: { spec: { schedule: { notBefore: time(3600) } } } }, "Lifeboat has not processed the object yet. When starts in 60m"],
  ["vm",      "that an eviction would move the VM",            IDLE, "The VM stays where it is. An eviction would move it to another node."],
  ["vm",      "that the VM cannot move",                       { vms: [vmi({ ...VM, ...PINNED })] }, "An eviction would be refused, and would not move the VM."],
  ["vm",      "that an eviction would shut the VM down",       { vms: [vmi({ ...VM, evictionStrategy: "None" })] }, "An eviction would be allowed: the guest is shut down."],
  ["vm",      "the answer",                                    IDLE, "The answer to an eviction now Moves: EvacuationTriggered"],
  ["vm",      "the migration that moves the VM",               { vms: [VM], evacuations: [of("web", { phase: "Migrating" })] }, "The VM moves to another node when KubeVirt allows the move. It has to leave its node because of an eviction (kubectl drain)."],
  ["vm",      "a workload update that moves the VM",           { vms: [VM], migrations: [migration({ automatic: true })] }, "Migration migration (cause WorkloadUpdate) moves the VM."],
  ["vm",      "a refused deletion",                            { vms: [VM], evacuations: [evacuation({ spec: { cause: "Preemption", deadline: time(100) } })] }, "Lifeboat refuses deletions of the VM's pod for another 1"],
  ["vm",      "that the VM is gone",                           { evacuations: [ABANDONED] }, "The VM does not run. This page shows its history."],
  ["vm",      "the effect of evacuating",                      IDLE, "Evacuate. KubeVirt migrates the VM to another node that has room. The guest continues to run."],
  ["vm",      "that a VM waits for its external controller",   { vms: [vmiOf("web", EXTERNAL)] }, "The answer to an eviction now Waits: EvacuationTriggered The VM would stay until its external controller moves or stops it."],
  ["vm",      "the effect of evacuating an External VM",       { vms: [vmiOf("web", EXTERNAL)] }, "Evacuate. The VMI's evacuationNodeName is set. The VM stays on its node until its external controller moves or stops it."],
  ["vm",      "the effect of retrying",                        { vms: [VM], evacuations: [of("web", { phase: "BackingOff", message: "no room" })] }, "The last attempt failed: no room"],
  ["vm",      "the effect of cancelling",                      { vms: [marked({ uid: "vmi-web" })], evacuations: [of("web")] }, "the VMI's evacuationNodeName is removed, and the VM stays on node node01 ."],
  ["vm",      "the same commands for a terminal",              IDLE, "lifeboat evacuate web -n apps"],
];

test.each(SAID)("the %s page shows %s", async (view, _, scene, says) => {
  expect(words(await textOf(view, scene))).toContain(says);
});

// prettier-ignore
const HIDDEN: readonly (readonly [view: View, what: string, scene: Scene, hidden: string])[] = [
  ["cluster", "a list without VMs",                  IDLE, "VMs that leave their node"],
  ["cluster", "an uncordoned node as being drained", { evacuations: [ended("web", "Moved")] }, "Being drained"],
  ["cluster", "an evacuation abandoned long ago",    { evacuations: [ended("web", "Abandoned", { completionTime: time(-4000) })] }, "attention"],
  ["cluster", "an ended rolling maintenance",        { rolling: { status: { phase: "Completed" } } }, "weekend"],
  ["cluster", "an ended maintenance",                { nodeEvacuation: { status: { ...UNDER_WAY, phase: "Evacuated" } } }, "kernel"],
  ["node",    "a refused maintenance",               { nodeEvacuation: { status: { phase: "Refused" } } }, "kernel"],
  ["node",    "the maintenance of another node",     { nodeEvacuation: { spec: { nodeName: "node02" } } }, "kernel"],
  ["node",    "the next attempt during an attempt",  { vms: [vmiOf("moves", MOVING)], evacuations: [of("moves", { phase: "Migrating", attempts: 1, nextAttemptTime: time(60) })] }, "next in"],
  ["vm",      "a forecast for an ended VM",          { vms: [vmi({ ...VM, phase: "Failed" })] }, "eviction would"],
];

test("a node that is being evacuated has one progress bar on each page", async () => {
  const scene = { ...DRAIN, nodeEvacuation: RUNNING };
  for (const view of ["cluster", "node"] as const) {
    const bars = [...(await textOf(view, scene)).matchAll(/<progress /g)];
    expect([view, bars.length]).toEqual([view, 1]);
  }
});

test("a bar has its times in words, and a waiting node has only a planned bar", async () => {
  const svgs = [...(await textOf("rolling", { rolling: WEEKEND })).matchAll(/<svg[^]*?<\/svg>/g)].map(([svg]) => svg);
  expect(svgs.map((svg) => [svg.includes('class="planned"'), svg.includes('class="actual"')])).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(svgs[0]).toMatch(/aria-label="planned \d{4}-\d\d-\d\d \d\d:\d\d to .*; started .*, until /);
});

test.each(HIDDEN)("the %s page omits %s", async (view, _, scene, hidden) => {
  expect(words(await textOf(view, scene))).not.toContain(hidden);
});

// prettier-ignore
const COMMANDS: readonly (readonly [view: View, what: string, scene: Scene, commands: readonly string[]])[] = [
  ["vm",   "no evacuation is in progress",      IDLE,                                                             ["evacuate web -n apps"]],
  ["vm",   "the VM cannot move",                { vms: [vmi({ ...VM, ...PINNED })] },                              []],
  ["vm",   "an evacuation is in progress",      { vms: [VM], evacuations: [of("web")] },                           ["cancel vm/web -n apps"]],
  ["vm",   "an evacuation is in back-off",      { vms: [VM], evacuations: [of("web", { phase: "BackingOff" })] },  ["retry web -n apps", "cancel vm/web -n apps"]],
  ["vm",   "the last evacuation was abandoned", { vms: [VM], evacuations: [ABANDONED] },                           ["retry web -n apps"]],
  ["vm",   "KubeVirt has marked the VM",        { vms: [marked({ uid: "vmi-web" })] },                             ["cancel vm/web -n apps"]],
  ["vm",   "the VM is gone",                    { evacuations: [ABANDONED] },                                      []],
  ["node", "no maintenance exists",             {},                                                                ["drain node01"]],
  ["node", "a VM cannot move",                  { vms: [vmiOf("db", PINNED)] },                                    ["drain node01", "drain node01 --when-blocked Restart"]],
  ["node", "a maintenance was just requested",  { nodeEvacuation: {} },                                       ["pause node01", "cancel node/node01"]],
  ["node", "a maintenance is in progress",      { nodeEvacuation: RUNNING },                                       ["pause node01", "cancel node/node01"]],
  ["node", "a maintenance is paused",           { nodeEvacuation: PAUSED },                                        ["resume node01", "cancel node/node01"]],
  ["node", "a maintenance is withdrawn",        { nodeEvacuation: WITHDRAWN },                                     []],
  ["node", "a maintenance has ended",           { nodeEvacuation: DONE },                                          ["drain node01"]],
  ["maintenance", "the maintenance is in progress",    { nodeEvacuation: RUNNING },                                       ["pause node01", "cancel node/node01"]],
  ["maintenance", "the maintenance has ended",         { nodeEvacuation: DONE },                                          []],
];

const commandsOf = (main: string) =>
  [
    ...((main.split("What you can do</h2>")[1] ?? "")
      .split("</section>")[0]
      ?.matchAll(/<code>lifeboat (.*?)<\/code>/g) ?? []),
  ].map(([, command]) => command);

test.each(COMMANDS)("the %s page offers its commands, and no form, when %s", async (view, _, scene, commands) => {
  const main = await textOf(view, scene);
  expect(commandsOf(main)).toEqual(commands);
  expect(main).not.toContain("<form");
});

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

test.each(Object.values(PAGES))("hostile text stays text on %s", async (path) => {
  const there = await arriveAt({ prod: hostileCluster(), quiet: new FakeCluster() });
  const main = mainOf(await there.get(path));
  expect(main).not.toBe("");
  expect(isEscaped(main)).toBe(true);
});

test.each([["web"], [HOSTILE]])("the page of the unknown VM %j is not found", async (name) => {
  const there = await arriveAt({ prod: clusterOf({}) });
  const { code, text } = await there.get(`/fleet/prod/vms/apps/${encodeURIComponent(name)}`);
  expect([code, isEscaped(text)]).toEqual([404, true]);
});

test("a name with shell syntax is one word in a command", () => {
  const line = shellLine("kubectl", "describe", "vmi", "; rm -rf / '", "-n", "<script>");
  expect(line).toBe(String.raw`kubectl describe vmi '; rm -rf / '\''' -n '<script>'`);
});
