/** Tests the next step for each VM of a node that is being evacuated. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import { restartObstacle } from "../../../shared/maintenance/forecast.ts";
import { inOrder, placesFree, viewOf } from "../../../shared/maintenance/vms.ts";
import type { VirtualMachineFacts } from "../../../shared/kube/node-evacuation.ts";
import { marked, NODE, settings, time } from "../../support/fixtures.ts";
import { facts, launcher, node as roomy, vmiOf } from "../../support/preflight/fixtures.ts";
import { nodeWorld, own, pinnedVm, type Situation, started } from "../../support/maintenance/worlds.ts";

const web = vmiOf("web");
const pinned = pinnedVm("web");
const vm = (tweak: Partial<VirtualMachineFacts> = {}): Situation => ({ vms: { [keyOf(web)]: tweak } });
const ways = (virtualMachines: object) => ({ ne: started({ spec: { virtualMachines } }) });
const RESTART = ways({ whenBlocked: "Restart" });
const STOP = ways({ whenBlocked: "ShutDown" });
const bound = vmiOf("web", { asks: { ...web.asks, nodeSelector: { disk: "nvme" } } });
const term = { matchExpressions: [{ key: "disk", operator: "In", values: ["nvme"] }], matchFields: [] };
const affine = vmiOf("web", { asks: { ...web.asks, required: [term] } });
const elsewhere = (status: object, spec: object = {}) => ({ ...own("web", { status, spec }), namespace: "other" });
const withdrawnRestart = { ...own("web", { spec: { by: "Restart" }, status: { phase: "Withdrawn" } }), name: "web-2" };
const blocker = (since: string, reason = "NotMigratable", uid = pinned.uid) => [
  { namespace: "apps", name: "web", uid, reason, message: "", since },
];
const mine = (status: object, spec: object = {}) => ({ evacuations: [own("web", { status, spec })] });

const oddVm = new ClusterError({ reason: "Unintelligible", request: "GET web", issue: "x: too large", odd: true });
const UNREAD = { more: { [`virtualmachines ${keyOf(web)}`]: oddVm } };

type Row = readonly [what: string, vmi: VmiFacts, world: Situation, expected: string];

// prettier-ignore
describe("the next step and the blocker of a VM", () => {
  test.each<Row>([
    ["that can migrate",                                 web,     {},                                                             "Next"],
    ["that another party has marked",                  marked({ ...web, evacuationNodeName: NODE }), {},                        "Moving"],
    ["in back-off",                                   web,     mine({ phase: "BackingOff" }),                                  "Waits"],
    ["whose evacuation cannot start",                                web,     mine({ phase: "Blocked", reason: "NotMarked" }),                "Blocked NotMarked"],
    ["whose evacuation was abandoned, during its back-off",     web,     mine({ phase: "Abandoned", nextAttemptTime: time(9) }),         "Blocked Abandoned"],
    ["whose evacuation was abandoned, after its back-off",                                   web,     mine({ phase: "Abandoned", nextAttemptTime: time(-9) }),        "Next"],
    ["whose owner has cancelled its evacuation",                  web,     mine({ phase: "Withdrawn", nextAttemptTime: time(9) }),         "Waits"],
    ["that is being sent to another cluster",            { ...pinned, evictionStrategy: "LiveMigrateIfPossible", decentralized: "Sends" }, {}, "Waits DecentralizedMigration"],
    ["marked for another Evacuation",             { ...web, evacuationNodeName: NODE }, { others: [own("web", { status: { phase: "Migrating" } })] }, "Moving"],
    ["marked for another Evacuation that waits for its controller",            { ...web, evacuationNodeName: NODE }, { others: [own("web", { status: { phase: "WaitingForExternalController" } })] }, "Waits External"],
    ["to be restarted, marked for another Evacuation that is blocked",         { ...pinned, evacuationNodeName: NODE }, { ...RESTART, ...vm(), others: [own("web", { status: { phase: "Blocked" } })] }, "ShutsDown NotMigratable"],
    ["with an unknown strategy",                         { ...web, evictionStrategy: "Sideways" }, {},                            "Blocked UnknownStrategy"],
    ["with strategy None",                               { ...web, evictionStrategy: "None" }, {},                                "Goes"],
    ["with LiveMigrateIfPossible, pinned",               { ...pinned, evictionStrategy: "LiveMigrateIfPossible" }, {},            "Goes"],
    ["with LiveMigrateIfPossible, pinned, whose owner wants it to wait",                   { ...pinned, evictionStrategy: "LiveMigrateIfPossible" }, vm({ whenBlocked: "Wait" }), "Blocked NotMigratable"],
    ["with strategy External, pinned",                            { ...pinned, evictionStrategy: "External" }, RESTART,                    "Next"],
    ["pinned",                                      pinned,  {},                                                             "Blocked NotMigratable"],
    ["pinned, to be restarted",                           pinned,  { ...RESTART, ...vm() },                                        "ShutsDown NotMigratable"],
    ["pinned, to be stopped",                             pinned,  { ...STOP, ...vm() },                                           "ShutsDown NotMigratable"],
    ["pinned, with the run strategy Manual",                                    pinned,  { ...RESTART, ...vm({ runStrategy: "Manual" }) },               "ShutsDown NotMigratable"],
    ["pinned, with the run strategy Once",                                      pinned,  { ...RESTART, ...vm({ runStrategy: "Once" }) },                 "Blocked NotMigratable"],
    ["pinned, without a VirtualMachine",                  pinned,  { ...RESTART, vms: { [keyOf(web)]: undefined } },                  "Blocked NotMigratable"],
    ["pinned, whose owner wants it to wait",                   pinned,  { ...RESTART, ...vm({ whenBlocked: "Wait" }) },                 "Blocked NotMigratable"],
    ["pinned, whose owner wants it to wait, which is ignored",                      pinned,  { ...ways({ whenBlocked: "Restart", ownersChoice: "Ignored" }), ...vm({ whenBlocked: "Wait" }) }, "ShutsDown NotMigratable"],
    ["pinned, whose owner wants a restart",                      pinned,  vm({ whenBlocked: "Restart" }),                                 "ShutsDown NotMigratable"],
    ["that no other node can run", bound, { preflight: facts(), ...vm() },                             "Blocked BoundToNode"],
    ["that no other node can run, to be stopped",                        bound,   { ...STOP, ...vm(), preflight: facts() },                       "ShutsDown BoundToNode"],
    ["pinned, without room elsewhere at the last full scan", pinned, { ...vm(), ne: started({ spec: RESTART.ne.spec, status: { blockers: blocker(time(0), "NoRestart") } }) }, "Blocked NoRestart"],
    ["pinned, without room elsewhere before, in a full scan",                      pinned,  { ...vm(), isThorough: true, ne: started({ spec: RESTART.ne.spec, status: { blockers: blocker(time(0), "NoRestart") } }) }, "ShutsDown NotMigratable"],
    ["pinned, restarted once",                            pinned,  { ...RESTART, ...vm(), ...mine({ phase: "Restarted" }, { by: "Restart" }) }, "Blocked NotMigratable"],
    ["pinned, whose earlier restart was withdrawn",        pinned,  { ...RESTART, ...vm(), ...mine({ phase: "Withdrawn" }, { by: "Restart" }) }, "ShutsDown NotMigratable"],
    ["that is being restarted",                          pinned,  mine({ phase: "Restarting", startTime: time(-9) }, { by: "Restart" }), "Moving"],
    ["that has been restarting for too long",                              pinned,  mine({ phase: "Restarting", reason: "NotTaken", startTime: time(-300) }, { by: "Restart" }), "Moving NotTaken"],
    ["whose attempts fail, to be restarted",          web,     { ...ways({ whenAttemptsFail: "Restart" }), ...vm(), ...mine({ phase: "Abandoned" }) }, "ShutsDown Abandoned"],
    ["pinned, whose owner keeps it for a time",                 pinned,  { ...RESTART, ...vm({ notBefore: time(60) }) },                 "Waits NotBefore"],
    ["with strategy None, whose owner keeps it for a time",             { ...web, evictionStrategy: "None" }, vm({ notBefore: time(60) }),       "Waits NotBefore"],
    ["with strategy None, whose owner keeps it until a text that is no time",  { ...web, evictionStrategy: "None" }, vm({ notBefore: "tomorrow" }),     "Waits NotBefore"],
    ["with strategy None, whose owner kept it until now",                                 { ...web, evictionStrategy: "None" }, vm({ notBefore: time(0) }),        "Goes"],
    ["with strategy None, whose VirtualMachine cannot be read",                { ...web, evictionStrategy: "None" }, UNREAD,            "Blocked Unreadable"],
    ["pinned, whose VirtualMachine cannot be read",        pinned,  UNREAD,                                                         "Blocked Unreadable"],
    ["pinned, to be restarted, whose VirtualMachine cannot be read",           pinned,  { ...ways({ whenBlocked: "Restart", ownersChoice: "Ignored" }), ...UNREAD }, "Blocked Unreadable"],
    ["with strategy None, whose owner's choice is ignored",                      { ...web, evictionStrategy: "None" }, ways({ ownersChoice: "Ignored" }), "Goes"],
    ["pinned, while a VM of the same name in another namespace was restarted", pinned, { ...RESTART, ...vm(), evacuations: [elsewhere({ phase: "Restarted" }, { by: "Restart" })] }, "ShutsDown NotMigratable"],
    ["that can migrate, while a VM of the same name in another namespace moves", web,  { evacuations: [elsewhere({ phase: "Migrating" })] },          "Next"],
    ["pinned, restarted for an earlier NodeEvacuation of the same name", pinned, { ...RESTART, ...vm(), ...mine({ phase: "Restarted" }, { by: "Restart", nodeEvacuation: { name: "kernel", uid: "earlier" } }) }, "ShutsDown NotMigratable"],
    ["while the evacuation of another VM was abandoned",  web,     { evacuations: [own("db", { status: { phase: "Abandoned", nextAttemptTime: time(9) } })] }, "Next"],
    ["whose evacuation from an earlier pod was abandoned", web,    mine({ phase: "Abandoned", nextAttemptTime: time(9), podUID: "earlier" }), "Next"],
    ["whose attempts fail, to be restarted, after a withdrawn restart", web, { ...ways({ whenAttemptsFail: "Restart" }), ...vm(), evacuations: [own("web", { status: { phase: "Abandoned" } }), withdrawnRestart] }, "ShutsDown Abandoned"],
    ["that no other node can run because of its affinity", affine, { preflight: facts(), ...vm() },                                "Blocked BoundToNode"],
    ["that only its own node can run",                    bound,   { preflight: facts({ node: roomy(NODE, { labels: { disk: "nvme" } }) }), ...vm() }, "Blocked BoundToNode"],
    ["pinned, to be stopped, after a restart found no room", pinned, { ...vm(), ne: started({ spec: STOP.ne.spec, status: { blockers: blocker(time(0), "NoRestart") } }) }, "ShutsDown NotMigratable"],
  ])("%s: $3", (_, vmi, world, expected) => {
    const { fate, blocker } = viewOf(vmi, nodeWorld({ ...vm(), ...world }));
    expect([fate, ...(blocker ? [blocker.reason] : [])].join(" ")).toBe(expected);
  });
});

test("the blocker of a VM names the problem of its VirtualMachine, and any other failed read fails the decision", () => {
  expect(viewOf(pinned, nodeWorld(UNREAD)).blocker).toMatchObject({
    message: "Lifeboat cannot read this VirtualMachine: x: too large",
    whoCanFix: "the owner of the object: correct what the message names, or make the object smaller",
  });
  const unreachable = new ClusterError({ reason: "Unreachable" });
  const w = nodeWorld({ more: { [`virtualmachines ${keyOf(web)}`]: unreachable } });
  expect(() => viewOf(pinned, w)).toThrow(unreachable);
});

const failed = (name: string) =>
  own(name, { spec: { by: "Restart", inherited: { attempts: 5 } }, status: { phase: "Restarted" } });

test("failed migrations restart at most two VMs", () => {
  const abandoned = own("web", { status: { phase: "Abandoned", nextAttemptTime: time(9) } });
  const world = { ...ways({ whenAttemptsFail: "Restart" }), ...vm() };
  expect(viewOf(web, nodeWorld({ ...world, evacuations: [failed("a"), abandoned] })).fate).toBe("ShutsDown");
  expect(viewOf(web, nodeWorld({ ...world, evacuations: [failed("a"), failed("b"), abandoned] })).fate).toBe("Blocked");
  const others = ["a", "b"].map((name) => own(name, { spec: { by: "Restart" }, status: { phase: "Restarted" } }));
  expect(viewOf(web, nodeWorld({ ...world, evacuations: [...others, abandoned] })).fate).toBe("ShutsDown");
});

// prettier-ignore
test.each([
  ["ByPriority",    ["c", "a", "b"]],
  ["SmallestFirst", ["b", "c", "a"]],
  ["LargestFirst",  ["a", "c", "b"]],
] as const)("VMs leave in the order %s: %j", (order, expected) => {
  const sizes = { a: 8, b: 1, c: 4 };
  const vmis = Object.entries(sizes).map(([name, guestMemory]) => vmiOf(name, { guestMemory }));
  const priorities = new Map([["apps/a", 10], ["apps/b", 100], ["apps/c", 0]]);
  expect(inOrder(vmis, order, priorities).map(({ name }) => name)).toEqual(expected);
});

// prettier-ignore
test.each([
  ["by default twice KubeVirt's limit",      {},                  4],
  ["with the given concurrency",             { concurrency: 1 },  1],
])("places for VMs that leave, %s: $2", (_, virtualMachines, expected) => {
  const w = nodeWorld({ ne: started({ spec: { virtualMachines } }), settings: settings({ limits: { parallelOutboundMigrationsPerNode: 2 } }) });
  expect(placesFree([], w)).toBe(expected);
  expect(placesFree([viewOf({ ...web, isMigrating: true }, w)], w)).toBe(expected - 1);
});

describe("a VM can start on another node", () => {
  const pod = launcher("web");
  const zone = { topologyKey: "zone", namespaces: [], selector: { matchLabels: { app: "db" }, matchExpressions: [] } };
  const shy = { ...pod, labels: { ...pod.labels, app: "db" }, antiAffinity: [zone] };
  const { node, otherNodes } = facts();
  const labelled = [node, ...otherNodes].map((one) => ({ ...one, labels: { ...one.labels, zone: "a" } }));
  const inZone = { node: labelled[0] ?? node, otherNodes: labelled.slice(1) };
  const full = facts().otherNodes.map((one) => ({ ...one, allocatable: {} }));

  // prettier-ignore
  test.each<readonly [string, Parameters<typeof facts>[0], string | undefined]>([
    ["with enough room",                                  {},                                                   undefined],
    ["not without enough room",                           { otherNodes: full },                             "no other node has room for it"],
    ["despite its own anti-affinity",                     { ...inZone, pods: [shy] },                           undefined],
    ["not beside a pod that its anti-affinity excludes",  { ...inZone, pods: [shy, { ...shy, name: "b", uid: "b", labels: { ...shy.labels, "kubevirt.io/created-by": "vmi-b" } }] }, "PodAntiAffinity"],
    ["not if volumes were not read",                      { unread: ["persistent volumes"] },                   "not checked: persistent volumes"],
    ["not if its pod has requests that are not judged",   { pods: [{ ...pod, unchecked: ["hostPort"] }] },      "not checked: hostPort"],
  ])("%s", (_, f, expected) => {
    const why = restartObstacle(pinned, facts({ vmis: [pinned], ...f }), nodeWorld(vm()));
    expect(why ?? "").toContain(expected ?? "");
    expect(why === undefined).toBe(expected === undefined);
  });
});

test("the blocker names an owner's annotation that is not a time", () => {
  const { blocker } = viewOf({ ...web, evictionStrategy: "None" }, nodeWorld(vm({ notBefore: "tomorrow" })));
  expect(blocker?.message).toBe("its annotation lifeboat.dev/not-before is not a time in RFC 3339: tomorrow");
});
