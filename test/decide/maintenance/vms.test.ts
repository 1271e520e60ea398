/** The next step for each VM of a node that is being evacuated. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import { restartObstacle } from "../../../shared/maintenance/forecast.ts";
import { inOrder, placesFree, viewOf } from "../../../shared/maintenance/vms.ts";
import type { VirtualMachineFacts } from "../../../shared/kube/node-evacuation.ts";
import { marked, NODE, settings, time } from "../../support/fixtures.ts";
import { facts, launcher, vmiOf } from "../../support/preflight/fixtures.ts";
import { nodeWorld, own, pinnedVm, type Situation, started } from "../../support/maintenance/worlds.ts";

const web = vmiOf("web");
const pinned = pinnedVm("web");
const vm = (tweak: Partial<VirtualMachineFacts> = {}): Situation => ({ vms: { [keyOf(web)]: tweak } });
const ways = (virtualMachines: object) => ({ ne: started({ spec: { virtualMachines } }) });
const RESTART = ways({ whenBlocked: "Restart" });
const STOP = ways({ whenBlocked: "ShutDown" });
const bound = vmiOf("web", { asks: { ...web.asks, nodeSelector: { disk: "nvme" } } });
const blocker = (since: string, reason = "NotMigratable", uid = pinned.uid) => [
  { namespace: "apps", name: "web", uid, reason, message: "", since },
];
const mine = (status: object, spec: object = {}) => ({ evacuations: [own("web", { status, spec })] });

type Row = readonly [what: string, vmi: VmiFacts, world: Situation, expected: string];

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
    ["… without a VirtualMachine",                  pinned,  { ...RESTART, vms: { [keyOf(web)]: undefined } },                  "Blocked NotMigratable"],
    ["… and its owner says Wait",                   pinned,  { ...RESTART, ...vm({ whenBlocked: "Wait" }) },                 "Blocked NotMigratable"],
    ["… which does not count",                      pinned,  { ...ways({ whenBlocked: "Restart", ownersChoice: "Ignored" }), ...vm({ whenBlocked: "Wait" }) }, "ShutsDown NotMigratable"],
    ["its owner says Restart",                      pinned,  vm({ whenBlocked: "Restart" }),                                 "ShutsDown NotMigratable"],
    ["can migrate, but asks for what no other node has", bound, { preflight: facts(), ...vm() },                             "Blocked BoundToNode"],
    ["… to be stopped, too",                        bound,   { ...STOP, ...vm(), preflight: facts() },                       "ShutsDown BoundToNode"],
    ["… without room elsewhere, as was said before", pinned, { ...vm(), ne: started({ spec: RESTART.ne.spec, status: { blockers: blocker(time(0), "NoRestart") } }) }, "Blocked NoRestart"],
    ["… which is judged anew",                      pinned,  { ...vm(), isThorough: true, ne: started({ spec: RESTART.ne.spec, status: { blockers: blocker(time(0), "NoRestart") } }) }, "ShutsDown NotMigratable"],
    ["… restarted once",                            pinned,  { ...RESTART, ...vm(), ...mine({ phase: "Restarted" }, { by: "Restart" }) }, "Blocked NotMigratable"],
    ["… whose restart was withdrawn before",        pinned,  { ...RESTART, ...vm(), ...mine({ phase: "Withdrawn" }, { by: "Restart" }) }, "ShutsDown NotMigratable"],
    ["is being restarted",                          pinned,  mine({ phase: "Restarting", startTime: time(-9) }, { by: "Restart" }), "Moving"],
    ["… for too long",                              pinned,  mine({ phase: "Restarting", reason: "NotTaken", startTime: time(-300) }, { by: "Restart" }), "Moving NotTaken"],
    ["its attempts fail, to be restarted",          web,     { ...ways({ whenAttemptsFail: "Restart" }), ...vm(), ...mine({ phase: "Abandoned" }) }, "ShutsDown Abandoned"],
    ["its owner wants it to stay, and it is to be restarted",                 pinned,  { ...RESTART, ...vm({ notBefore: time(60) }) },                 "Waits NotBefore"],
    ["… and its eviction would end it",             { ...web, evictionStrategy: "None" }, vm({ notBefore: time(60) }),       "Waits NotBefore"],
    ["… until now",                                 { ...web, evictionStrategy: "None" }, vm({ notBefore: time(0) }),        "Goes"],
    ["… which does not count",                      { ...web, evictionStrategy: "None" }, ways({ ownersChoice: "Ignored" }), "Goes"],
  ])("%s", (_, vmi, world, expected) => {
    const { fate, blocker } = viewOf(vmi, nodeWorld({ ...vm(), ...world }));
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
    const why = restartObstacle(pinned, facts({ vmis: [pinned], ...f }), nodeWorld(vm()));
    expect(why ?? "").toContain(expected ?? "");
    expect(why === undefined).toBe(expected === undefined);
  });
});
