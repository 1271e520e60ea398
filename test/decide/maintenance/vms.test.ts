/** What becomes of each VM of a node that is to be empty. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import { restartObstacle } from "../../../shared/maintenance/forecast.ts";
import { isShutdownDue } from "../../../shared/maintenance/blockers.ts";
import { inOrder, placesFree, viewOf } from "../../../shared/maintenance/vms.ts";
import type { NodeWorld, VmFacts } from "../../../shared/maintenance/world.ts";
import { marked, NODE, owner, settings, time } from "../../support/fixtures.ts";
import { facts, foreignBudget, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import { subjectsOf } from "../../../shared/preflight/progress.ts";
import { inShort, nextOf, nodeWorld, own, pinnedVm, started } from "../../support/maintenance/worlds.ts";

const web = vmiOf("web");
const pinned = pinnedVm("web");
const KEY = keyOf(web);
const vm = (tweak: Partial<VmFacts> = {}): Partial<NodeWorld> => ({
  vms: new Map([[KEY, { runStrategy: "Always", ...tweak }]]),
});
const ways = (virtualMachines: object) => ({ ne: started({ spec: { virtualMachines } }) });
const RESTART = ways({ whenBlocked: "Restart" });
const STOP = ways({ whenBlocked: "ShutDown" });
const mine = (status: object, spec: object = {}) => ({ evacuations: [own("web", { status, spec })] });

type Row = readonly [what: string, vmi: VmiFacts, world: Partial<NodeWorld>, expected: string];

// prettier-ignore
describe("its fate, and why it stays", () => {
  test.each<Row>([
    ["can migrate",                                 web,     {},                                                             "Next"],
    ["is marked by another party",                  marked({ ...web, evacuationNodeName: NODE }), {},                        "Moving"],
    ["backs off",                                   web,     mine({ phase: "BackingOff" }),                                  "Waits"],
    ["cannot begin",                                web,     mine({ phase: "Blocked", reason: "NotMarked" }),                "Blocked NotMarked"],
    ["was abandoned, and its back-off goes on",     web,     mine({ phase: "Abandoned", nextAttemptTime: time(9) }),         "Blocked Abandoned"],
    ["… is over",                                   web,     mine({ phase: "Abandoned", nextAttemptTime: time(-9) }),        "Next"],
    ["its owner has cancelled it",                  web,     mine({ phase: "Withdrawn", nextAttemptTime: time(9) }),         "Waits"],
    ["is being sent to another cluster",            { ...pinned, evictionStrategy: "LiveMigrateIfPossible", decentralized: "Sends" }, {}, "Waits DecentralizedMigration"],
    ["marked for another's Evacuation",             { ...web, evacuationNodeName: NODE }, { others: [own("web", { status: { phase: "Migrating" } })] }, "Moving"],
    ["… which waits for its controller",            { ...web, evacuationNodeName: NODE }, { others: [own("web", { status: { phase: "WaitingForExternalController" } })] }, "Waits External"],
    ["… which is blocked, to be restarted",         { ...pinned, evacuationNodeName: NODE }, { ...RESTART, ...vm(), others: [own("web", { status: { phase: "Blocked" } })] }, "ShutsDown NotMigratable"],
    ["an unknown strategy",                         { ...web, evictionStrategy: "Sideways" }, {},                            "Blocked UnknownStrategy"],
    ["strategy None",                               { ...web, evictionStrategy: "None" }, {},                                "Goes"],
    ["LiveMigrateIfPossible, pinned",               { ...pinned, evictionStrategy: "LiveMigrateIfPossible" }, {},            "Goes"],
    ["… and its owner says Wait",                   { ...pinned, evictionStrategy: "LiveMigrateIfPossible" }, vm({ whenBlocked: "Wait" }), "Blocked NotMigratable"],
    ["External, pinned",                            { ...pinned, evictionStrategy: "External" }, RESTART,                    "Next"],
    ["pinned",                                      pinned,  {},                                                             "Blocked NotMigratable"],
    ["… to be restarted",                           pinned,  { ...RESTART, ...vm() },                                        "ShutsDown NotMigratable"],
    ["… to be stopped",                             pinned,  { ...STOP, ...vm() },                                           "ShutsDown NotMigratable"],
    ["… Manual",                                    pinned,  { ...RESTART, ...vm({ runStrategy: "Manual" }) },               "ShutsDown NotMigratable"],
    ["… Once",                                      pinned,  { ...RESTART, ...vm({ runStrategy: "Once" }) },                 "Blocked NotMigratable"],
    ["… without a VirtualMachine",                  pinned,  { ...RESTART, vms: new Map([[KEY, "None"]]) },                  "Blocked NotMigratable"],
    ["… that is not read",                          pinned,  RESTART,                                                        "Blocked NotMigratable"],
    ["… and its owner says Wait",                   pinned,  { ...RESTART, ...vm({ whenBlocked: "Wait" }) },                 "Blocked NotMigratable"],
    ["… which does not count",                      pinned,  { ...ways({ whenBlocked: "Restart", ownersChoice: "Ignored" }), ...vm({ whenBlocked: "Wait" }) }, "ShutsDown NotMigratable"],
    ["its owner says Restart",                      pinned,  vm({ whenBlocked: "Restart" }),                                 "ShutsDown NotMigratable"],
    ["can migrate, but asks for what no other node has", web, { bound: new Map([[KEY, "why"]]) },                             "Blocked BoundToNode"],
    ["… to be stopped, too",                        web,     { ...STOP, ...vm(), bound: new Map([[KEY, "why"]]) },           "ShutsDown BoundToNode"],
    ["… without room elsewhere",                    pinned,  { ...RESTART, ...vm(), obstacles: new Map([[KEY, "no room"]]) }, "Blocked NoRestart"],
    ["… restarted once",                            pinned,  { ...RESTART, ...vm(), ...mine({ phase: "Restarted" }, { by: "Restart" }) }, "Blocked NotMigratable"],
    ["… whose restart was withdrawn before",        pinned,  { ...RESTART, ...vm(), ...mine({ phase: "Withdrawn" }, { by: "Restart" }) }, "ShutsDown NotMigratable"],
    ["is being restarted",                          pinned,  mine({ phase: "Restarting", startTime: time(-9) }, { by: "Restart" }), "Moving"],
    ["… for too long",                              pinned,  mine({ phase: "Restarting", reason: "NotTaken", startTime: time(-300) }, { by: "Restart" }), "Moving NotTaken"],
    ["its attempts fail, to be restarted",          web,     { ...ways({ whenAttemptsFail: "Restart" }), ...vm(), ...mine({ phase: "Abandoned" }) }, "ShutsDown Abandoned"],
    ["its owner wants it to stay",                  web,     vm({ notBefore: time(60) }),                                    "Waits NotBefore"],
    ["… which does not count",                      web,     { ...ways({ ownersChoice: "Ignored" }), ...vm({ notBefore: time(60) }) }, "Next"],
    ["… and it is to be restarted",                 pinned,  { ...RESTART, ...vm({ notBefore: time(60) }) },                 "Waits NotBefore"],
    ["… and its eviction would end it",             { ...web, evictionStrategy: "None" }, vm({ notBefore: time(60) }),       "Waits NotBefore"],
    ["… until now",                                 web,     vm({ notBefore: time(0) }),                                     "Next"],
  ])("%s", (_, vmi, world, expected) => {
    const { fate, blocker } = viewOf(vmi, nodeWorld(world));
    expect([fate, ...(blocker ? [blocker.reason] : [])].join(" ")).toBe(expected);
  });
});

const failed = (name: string) =>
  own(name, { spec: { by: "Restart", inherited: { attempts: 5 } }, status: { phase: "Restarted" } });

test("two are restarted because their migrations fail, and no third", () => {
  const abandoned = own("web", { status: { phase: "Abandoned", nextAttemptTime: time(9) } });
  const world = { ...ways({ whenAttemptsFail: "Restart" }), ...vm() };
  expect(viewOf(web, nodeWorld({ ...world, evacuations: [failed("a"), abandoned] })).fate).toBe("ShutsDown");
  expect(viewOf(web, nodeWorld({ ...world, evacuations: [failed("a"), failed("b"), abandoned] })).fate).toBe("Blocked");
});

const blocker = (since: string, reason = "NotMigratable", uid = pinned.uid) => [
  { namespace: "apps", name: "web", uid, reason, message: "", since },
];

const dueAt = (w: NodeWorld) => isShutdownDue(viewOf(pinned, w), w);

describe("a restart", () => {
  const seen = (since: string, reason?: string, uid?: string) =>
    nodeWorld({
      ...vm(),
      ne: started({
        spec: { virtualMachines: { whenBlocked: "Restart" } },
        status: { blockers: blocker(since, reason, uid) },
      }),
      subjects: [],
    });

  // prettier-ignore
  test.each([
    ["at the first look",            nodeWorld({ ...vm(), ...RESTART }), false],
    ["59 s later",                   seen(time(-59)),                    false],
    ["a minute later",               seen(time(-60)),                    true],
    ["when there was no room",       seen(time(0), "NoRestart"),         true],
    ["after another reason",         seen(time(-90), "Abandoned"),       false],
    ["of one that was made anew",    seen(time(-90), undefined, "new"),  false],
    ["… there was no room for it",   seen(time(-90), "NoRestart", "new"), false],
  ] as const)("is due %s: %s", (_, w, expected) => expect(dueAt(w)).toBe(expected));

  test("names the VM's run strategy, and is an Evacuation of its own", () => {
    const w = seen(time(-60));
    const next = nextOf({ ...w, vmis: [pinned], candidates: [{ vmi: pinned, evacuations: [] }] });
    expect(next.chains?.flat()).toMatchObject([
      {
        verb: "CreateEvacuation",
        evacuation: {
          spec: { by: "Restart", runStrategy: "Always", cause: "NodeEvacuation", nodeEvacuation: { name: "kernel" } },
        },
      },
    ]);
  });

  test("waits until a migration that it had begun is withdrawn", () => {
    const begun = own("web", { status: { phase: "Blocked", reason: "DisksNotLiveMigratable" } });
    const w = seen(time(-60));
    const next = nextOf({
      ...w,
      vmis: [pinned],
      evacuations: [begun],
      candidates: [{ vmi: pinned, evacuations: [begun] }],
    });
    expect(inShort(next)).toBe("Evacuating WithdrawEvacuation");
  });
});

// prettier-ignore
test.each([
  ["ByPriority",    ["c", "a", "b"]],
  ["SmallestFirst", ["b", "c", "a"]],
  ["LargestFirst",  ["a", "c", "b"]],
] as const)("%s: %j", (order, expected) => {
  const sizes = { a: 8, b: 1, c: 4 };
  const vmis = Object.entries(sizes).map(([name, guestMemory]) => vmiOf(name, { guestMemory }));
  const priorities = new Map([["apps/a", 10], ["apps/b", 100], ["apps/c", 0]]);
  expect(inOrder(vmis, order, priorities).map(({ name }) => name)).toEqual(expected);
});

// prettier-ignore
test.each([
  ["twice KubeVirt's limit",        {},                  4],
  ["as many as are asked for",      { concurrency: 1 },  1],
])("places: %s", (_, virtualMachines, expected) => {
  const w = nodeWorld({ ne: started({ spec: { virtualMachines } }), settings: settings({ limits: { parallelOutboundMigrationsPerNode: 2 } }) });
  expect(placesFree([], w)).toBe(expected);
  expect(placesFree([viewOf({ ...web, isMigrating: true }, w)], w)).toBe(expected - 1);
});

const subjects = (f: Parameters<typeof facts>[0]) => subjectsOf(facts({ pods: [], vmis: [], ...f }));

describe("other pods", () => {
  const cart = plainPod("cart");
  const owners = [owner({ kind: "InstanceManager", name: "im-1", uid: "im" })];
  const engine = plainPod("im-1", { owners, labels: { app: "im" } });
  const lone = plainPod("lone", { owners: [] });
  const done = plainPod("done", { owners: [], phase: "Failed", localStorage: true });
  const left = launcher("moved", { phase: "Succeeded" });
  const guarded = plainPod("guarded");
  const none = vmiOf("web", { evictionStrategy: "None" });

  const budgets = [foreignBudget("b", "guarded")];
  const { nodeName: _, ...unbound } = web;
  const starting = { ...unbound, phase: "Scheduling", activePods: {} };
  const hanging = { ...launcher("web"), deleting: true, goneBy: 0, finalizers: ["example.com/keep"] };

  // prettier-ignore
  test.each<readonly [string, Partial<NodeWorld>, string, readonly string[]]>([
    ["leave once no VM moves",           { subjects: subjects({ pods: [cart] }) },                                "Evacuating EvictPod", []],
    ["… not before",                     { vmis: [web] },                                                         "Evacuating",          []],
    ["… beside VMs that cannot",         { vmis: [pinned], subjects: subjects({ pods: [cart, launcher("web")], vmis: [pinned] }) }, "Evacuating EvictPod", ["NotMigratable"]],
    ["without a controller block",       { subjects: subjects({ pods: [lone] }) },                                "Blocked",             ["Unmanaged"]],
    ["behind a budget wait",             { subjects: subjects({ pods: [guarded], budgets }) },                    "Evacuating",          ["BudgetExhausted"]],
    ["behind a storage engine's budget, too", { subjects: subjects({ pods: [engine], budgets: [foreignBudget("im-1", "im")] }) }, "Evacuating",          ["BudgetOfController"]],
    ["that end are waited for",          { subjects: subjects({ pods: [{ ...cart, deleting: true }] }) },         "Evacuating",          []],
    ["that have ended are evicted",      { subjects: subjects({ pods: [done] }) },             "Evacuating EvictPod", []],
    ["… a launcher left by a migration", { subjects: subjects({ pods: [left] }) },                                "Evacuating EvictPod", []],
    ["… once",                           { subjects: subjects({ pods: [{ ...left, deleting: true }] }) },         "Evacuating",          []],
    ["… where others stay, launchers",   { ne: started({ spec: { otherPods: "Leave" } }), subjects: subjects({ pods: [done, left] }) }, "Evacuating EvictPod", []],
    ["stay",                             { ne: started({ spec: { otherPods: "Leave" } }), subjects: subjects({ pods: [cart, lone] }) }, "Evacuated Uncordon", []],
    ["a VM whose strategy ends it goes", { vmis: [none], ...vm(), subjects: subjects({ pods: [launcher("web")], vmis: [none] }) }, "Evacuating Event EvictPod", []],
    ["… behind a budget waits",          { vmis: [none], ...vm(), subjects: subjects({ pods: [launcher("web", { labels: { ...launcher("web").labels, app: "guarded" } })], vmis: [none], budgets }) }, "Evacuating", ["BudgetExhausted"]],
    ["a launcher that does not start",   { subjects: subjects({ pods: [launcher("web")], vmis: [starting] }) },   "Evacuating",          ["NotScheduled"]],
    ["one that hangs",                   { subjects: subjects({ pods: [hanging] }) },                             "Blocked",             ["Finalizers"]],
    ["… not before its owner is heard",  { vmis: [none], subjects: subjects({ pods: [launcher("web")], vmis: [none] }) }, "Evacuating", []],
  ])("%s", (_, world, expected, reasons) => {
    const next = nextOf(world);
    expect(inShort(next)).toBe(expected);
    expect(next.more?.blockers?.map(({ reason }) => reason)).toEqual(reasons);
  });

  test("a budget that has refused for a minute blocks", () => {
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
    const next = nextOf({ ne: started({ status: { blockers } }), subjects: subjects({ pods: [guarded], budgets }) });
    expect(next.phase).toBe("Blocked");
  });
});

describe("a VM would start on another node", () => {
  const pod = launcher("web");
  const zone = { topologyKey: "zone", namespaces: [], selector: { matchLabels: { app: "db" }, matchExpressions: [] } };
  const shy = { ...pod, labels: { ...pod.labels, app: "db" }, antiAffinity: [zone] };
  const { node, otherNodes } = facts();
  const labelled = [node, ...otherNodes].map((one) => ({ ...one, labels: { ...one.labels, zone: "a" } }));
  const inZone = { node: labelled[0] ?? node, otherNodes: labelled.slice(1) };
  const full = facts().otherNodes.map((one) => ({ ...one, allocatable: {} }));

  // prettier-ignore
  test.each<readonly [string, Parameters<typeof facts>[0], string | undefined]>([
    ["where there is room",                       {},                                                   undefined],
    ["not where there is none",                   { otherNodes: full },                             "no other node has room for it"],
    ["though its pod keeps others like it away",  { ...inZone, pods: [shy] },                           undefined],
    ["not where another one like it is",          { ...inZone, pods: [shy, { ...shy, name: "b", uid: "b", labels: { ...shy.labels, "kubevirt.io/created-by": "vmi-b" } }] }, "PodAntiAffinity"],
    ["not if volumes could not be read",          { unread: ["persistent volumes"] },                   "cannot be judged: persistent volumes"],
    ["not by what its pod asks for besides",      { pods: [{ ...pod, unchecked: ["hostPort"] }] },      "cannot be judged: hostPort"],
  ])("%s", (_, f, expected) => {
    const why = restartObstacle(pinned, facts({ vmis: [pinned], ...f }), new Map());
    expect(why ?? "").toContain(expected ?? "");
    expect(why === undefined).toBe(expected === undefined);
  });
});
