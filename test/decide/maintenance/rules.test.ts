/** Tests each rule for the next step of a NodeEvacuation. */
import { describe, expect, test } from "vitest";
import { textOf } from "../../../shared/facts/facts.ts";
import { selectEvacuationsFor } from "../../../shared/kube/selections.ts";
import { nodeStatusAfter } from "../../../shared/maintenance/status.ts";
import { isNewsOf } from "../../../shared/maintenance/world.ts";
import { OddList } from "../../support/facts.ts";
import { at, node, NODE, NOW, time } from "../../support/fixtures.ts";
import { facts, launcher, node as roomy, vmiOf } from "../../support/preflight/fixtures.ts";
import {
  asked,
  CORDONED,
  inShort,
  nextOf,
  own,
  pinnedVm,
  type Situation,
  started,
} from "../../support/maintenance/worlds.ts";

type Row = readonly [what: string, world: Situation, expected: string];

const PLAIN = node();
const FOREIGN = node({ unschedulable: true });
const FUTURE = { schedule: { notBefore: time(60) } };
const WITHDRAWN = { intent: "Withdrawn" } as const;
const OTHER = { name: "bios", uid: "uid-of-bios" };
const OTHERS = node({ unschedulable: true, cordonedBy: "bios/uid-of-bios" });
const older = asked({ ...OTHER, createdAt: 0 });
const active = [own("web")];
const stopped = [own("db", { status: { phase: "Stopped" } })];
const blocking = facts({ vmis: [pinnedVm("web")] });

const waiting = (situation: Situation) => nextOf({ preflight: facts(), vms: { "apps/web": {} }, ...situation });

const ROLLOUT = { kubevirts: [{ isRollingOut: true }], rollingmaintenances: [] };

describe("a NodeEvacuation that has not started", () => {
  // prettier-ignore
  test.each<Row>([
    ["waits until notBefore",                            { ne: asked({ spec: FUTURE }), node: PLAIN },                             "Scheduled"],
    ["waits if notBefore is not a time",               { ne: asked({ spec: { schedule: { notBefore: "2026-11-20T12:00:00+99:00" } } }), node: PLAIN }, "Scheduled"],
    ["waits for an older one to end",                 { ne: asked(), node: PLAIN, rivals: [older] },                            "Scheduled"],
    ["starts before an older one whose notBefore has not passed",                  { ne: asked(), node: PLAIN, rivals: [{ ...older, spec: asked({ spec: FUTURE }).spec }] }, "Scheduled Cordon"],
    ["waits for a younger one that has started",                  { ne: asked(), node: node(CORDONED), rivals: [started(OTHER)] },          "Scheduled"],
    ["waits for a rollout of KubeVirt",               { ne: asked({ spec: { startIf: "WillSucceed" } }), node: PLAIN, more: ROLLOUT }, "Scheduled"],
    ["starts during a rollout with startIf Always",   { ne: asked(), node: PLAIN, more: ROLLOUT },                              "Scheduled Cordon"],
    ["waits for a rollout in any case as part of a RollingMaintenance", { ne: asked({ owner: { name: "weekend", uid: "w" } }), node: PLAIN, more: ROLLOUT }, "Scheduled"],
    ["can be paused",                                     { ne: asked({ spec: { progress: "Paused" } }), node: PLAIN },             "Paused"],
    ["takes over the cordon of a withdrawn one",        { ne: asked(), node: OTHERS, rivals: [asked({ ...OTHER, status: { phase: "Withdrawn" } })] }, "Scheduled Cordon"],
    ["takes over the cordon of a deleted one",                  { ne: asked(), node: OTHERS },                                           "Scheduled Cordon"],
    ["starts with any verdict by default",               { ne: asked(), preflight: blocking },                                     "Evacuating"],
    ["is refused if the verdict is not good enough",                { ne: asked({ spec: { startIf: "WillSucceed" } }), preflight: blocking }, "Refused Uncordon"],
    ["starts if the verdict is good enough",                    { ne: asked({ spec: { startIf: "WillSucceed" } }), preflight: facts() },  "Evacuating"],
    ["is refused if the verdict is unknown",                      { ne: asked({ spec: { startIf: "WillSucceedWithShutdowns" } }), preflight: facts({ unread: ["x"] }) }, "Refused Uncordon"],
    ["can be withdrawn",                                  { ne: asked({ spec: WITHDRAWN }), node: PLAIN },                          "Withdrawn"],
  ])("%s", (_, situation, expected) => expect(inShort(waiting(situation))).toBe(expected));
});

describe("the message before the start", () => {
  // prettier-ignore
  test.each<readonly [what: string, world: Situation, expected: string]>([
    ["names notBefore",                              { ne: asked({ spec: FUTURE }) },                      `starts at ${time(60).replace(".000", "")}`],
    ["names the pause before notBefore",             { ne: asked({ spec: { ...FUTURE, progress: "Paused" } }) }, "spec.progress is Paused: the drain has not started, and starts only after it is resumed"],
    ["names a RollingMaintenance that cannot be read", { ne: asked({ owner: { name: "weekend", uid: "w", unreadable: "weekend: spec: bad" }, spec: { progress: "Paused" } }) }, "nothing new starts, because Lifeboat cannot read the RollingMaintenance, which might be paused: weekend: spec: bad"],
    ["says that the time ended before the start",   { ne: asked({ spec: { schedule: { notAfter: time(0) } }, status: { message: "waits for x" } }) }, `the drain had not started at ${time(0).replace(".000", "")} (spec.schedule.notAfter): waits for x; create another NodeEvacuation with a later time`],
  ])("%s", (_, situation, expected) => {
    const { message } = waiting({ node: PLAIN, ...situation });
    expect(message.replace("; forecast as of now: WillSucceed", "")).toBe(expected);
  });
});

// prettier-ignore
test.each([
  ["VMs leave",                               started(),                                                                    true],
  ["the node is blocked",                     started({ status: { phase: "Blocked" } }),                                    false],
  ["it was just paused",                      started({ spec: { progress: "Paused" }, status: { phase: "Blocked" } }),      true],
  ["its status shows the pause",              started({ spec: { progress: "Paused" }, status: { phase: "Paused" } }),       false],
  ["it was just resumed",                     started({ status: { phase: "Paused" } }),                                     true],
  ["it was just withdrawn",                   started({ spec: { intent: "Withdrawn" }, status: { phase: "Blocked" } }),     true],
  ["it waits until notBefore",                   asked({ status: { phase: "Scheduled" } }),                                    false],
  ["it was just paused before notBefore",      asked({ spec: { progress: "Paused" }, status: { phase: "Scheduled" } }),      true],
] as const)("a NodeEvacuation is reconciled every few seconds when %s: $2", (_, ne, expected) => expect(isNewsOf(ne)).toBe(expected));

describe("a NodeEvacuation ends", () => {
  // prettier-ignore
  test.each<Row>([
    ["withdrawn",                                  { ne: started({ spec: WITHDRAWN }), evacuations: active },                "Withdrawn WithdrawEvacuation Uncordon"],
    ["when withdrawn, and uncordons its node",                { ne: started({ spec: WITHDRAWN }), node: FOREIGN },                      "Withdrawn"],
    ["when withdrawn, and keeps a person's cordon",  { ne: started({ spec: WITHDRAWN }), rivals: [asked(OTHER)] },             "Withdrawn"],
    ["when withdrawn, and keeps the cordon for another one",                      { ne: started({ spec: WITHDRAWN }), evacuations: stopped },               "Withdrawn WithdrawEvacuation Uncordon"],
    ["when withdrawn, and starts a VM that it stopped",                                { ne: started({ spec: { schedule: { notAfter: time(0) } } }), evacuations: active }, "Expired WithdrawEvacuation Uncordon"],
    ["when its time is over, and uncordons its node", { ne: asked({ spec: { schedule: { after: "first" } } }), node: PLAIN },  "Refused"],
    ["before its start if it follows one that does not exist",                           { node: undefined, evacuations: active },                                 "Gone"],
    ["when its node is gone",                      { node: undefined, evacuations: stopped },                                "Gone WithdrawEvacuation"],
    ["when its node is gone, and starts a VM that it stopped",              { node: undefined, evacuations: [own("db", { spec: { by: "ShutDown" }, status: { phase: "Stopping" } })] }, "Gone WithdrawEvacuation"],
    ["when its node is gone while a VM is being stopped",                          { left: {} },                                                         "Evacuated Uncordon"],
    ["when the node is empty, and leaves the cordon to people",                { left: {}, node: FOREIGN },                                          "Evacuated"],
    ["when the node is empty, with a person's cordon",                                   { ne: started({ spec: { progress: "Paused" } }), left: {} },          "Evacuated Uncordon"],
    ["when the node is empty at the end of its time", { ne: started({ spec: { schedule: { notAfter: time(0) } } }), left: {} },     "Evacuated Uncordon"],
    ["when the node is empty, even if paused",       { left: {}, evacuations: [own("db", { spec: { by: "Restart" }, status: { phase: "Restarting" } })], vms: { "apps/db": {} } }, "Evacuating"],
  ])("%s", (_, world, expected) => expect(inShort(nextOf(world))).toBe(expected));
});

describe("a NodeEvacuation that has ended", () => {
  const evacuated = started({ status: { phase: "Evacuated" } });
  const withdrawn = started({ spec: WITHDRAWN, status: { phase: "Withdrawn" } });
  const moved = own("web", { status: { phase: "Moved", targetNode: "node02" } });
  const THERE = {
    "virtualmachineinstances apps/web": vmiOf("web", { nodeName: "node02" }),
    "pods as PreflightPod in apps where kubevirt.io/created-by=vmi-web": [launcher("web", { nodeName: "node02" })],
    "nodes as Roomy node02": roomy("node02"),
  };
  const RETURNED = [
    { type: "Returned", status: "True", reason: "x", message: "", lastTransitionTime: time(0) },
  ] as const;

  // prettier-ignore
  test.each<Row>([
    ["does nothing while the node is cordoned",                                { ne: evacuated, evacuations: stopped },                                  "Nothing"],
    ["returns its VMs when the node is schedulable",                           { ne: started({ spec: { returnVMs: "WhenUncordoned" }, status: evacuated.status }), node: PLAIN, evacuations: [...stopped, moved], more: THERE }, "Evacuated WithdrawEvacuation ReturnVm"],
    ["does nothing after it has returned its VMs",                             { ne: started({ status: { phase: "Evacuated", conditions: RETURNED } }), node: PLAIN, evacuations: stopped }, "Nothing"],
    ["does nothing after it was withdrawn",                                    { ne: withdrawn, node: PLAIN },                                           "Nothing"],
    ["uncordons if another function cordoned at the same time",                { ne: withdrawn },                                                        "Withdrawn Uncordon"],
    ["withdraws an Evacuation that another function started at the same time", { ne: withdrawn, node: PLAIN, evacuations: active },                      "Withdrawn WithdrawEvacuation"],
  ])("%s", (_, world, expected) => expect(inShort(nextOf(world))).toBe(expected));
});

// prettier-ignore
test.each<readonly [what: string, evacuations: Situation["evacuations"], odd: string | undefined, expected: string]>([
  ["no VM is stopped",                          [],      undefined,         "True "],
  ["an Evacuation cannot be read",              [],      "apps/db-1: bad",  "False stopped VMs that have not started again yet: apps/db-1: Lifeboat cannot read this Evacuation: bad"],
  ["a VM is stopped, and one is unreadable",    stopped, "apps/web-1: bad", "False stopped VMs that have not started again yet: apps/db: it is about to start; apps/web-1: Lifeboat cannot read this Evacuation: bad"],
])("after the uncordon, the condition Returned tells whether each stopped VM has started: %s", (_, evacuations = [], odd, expected) => {
  const list = textOf({ kind: "evacuations", selection: selectEvacuationsFor("kernel") });
  const more = { [list]: odd === undefined ? evacuations : new OddList(evacuations, odd) };
  const { more: status } = nextOf({ ne: started({ status: { phase: "Evacuated" } }), node: PLAIN, more });
  expect(status?.conditions?.map((one) => `${one.status} ${one.message}`)).toEqual([expected]);
});

test("a drain whose RollingMaintenance cannot be read starts nothing, and its message says why", () => {
  const owner = { name: "weekend", uid: "w", unreadable: "weekend: spec: bad" };
  const ne = started({ owner, spec: { progress: "Paused" } });
  const next = nextOf({ ne, vmis: [vmiOf("web")], vms: { "apps/web": {} } });
  expect(inShort(next)).toBe("Paused");
  expect(next.message).toContain("cannot read the RollingMaintenance, which might be paused: weekend: spec: bad");
});

test("when another party uncordons the node, the NodeEvacuation pauses and gives up its cordon", () => {
  const next = nextOf({ node: node({ cordonedBy: CORDONED.cordonedBy }), vmis: [vmiOf("web")] });
  expect(inShort(next)).toBe("Paused Uncordon");
  expect(next.message).toContain(`kubectl cordon ${NODE}`);
});

test("before the start, an Event names VMs that will be shut down", () => {
  const f = facts({ vmis: [vmiOf("web", { evictionStrategy: "None" })], pods: [launcher("web")] });
  const next = nextOf({ ne: asked({ spec: FUTURE }), node: PLAIN, preflight: f, vms: { "apps/web": {} } });
  expect(inShort(next)).toBe("Scheduled Event");
  expect(next.more).toEqual({ verdict: "WillSucceedWithShutdowns" });
});

describe("the status of a NodeEvacuation", () => {
  const ne = started({ status: { lastUpdateTime: time(-1), message: "m" } });

  test("is written once if it does not change", () => {
    const next = nextOf({ vmis: [pinnedVm("web")], vms: { "apps/web": {} } });
    const status = nodeStatusAfter(started(), next, NOW);
    expect(status).toMatchObject({
      phase: "Blocked",
      blockers: [{ name: "web", since: time(0) }],
      lastUpdateTime: time(0),
    });
    if (status === undefined) return;
    const again = nextOf({
      ne: { ...started(), status },
      vmis: [pinnedVm("web")],
      vms: { "apps/web": {} },
      now: at(30),
    });
    expect(nodeStatusAfter({ ...started(), status }, again, at(30))).toBeUndefined();
  });

  // prettier-ignore
  test.each([
    ["changed counts within two seconds",   ne,                                        { phase: "Evacuating", message: "n" }, false],
    ["changed counts after two seconds",    started({ status: { lastUpdateTime: time(-2) } }), { phase: "Evacuating", message: "n" }, true],
  ] as const)("is written for %s: $3", (_, before, next, expected) => {
    expect(nodeStatusAfter(before, next, NOW) !== undefined).toBe(expected);
  });

  test.each([
    [asked(), "Scheduled", ["Drained False"]],
    [ne, "Evacuated", ["DrainInProgress False", "Drained True"]],
  ] as const)("has the condition Drained from the start: %#", (before, phase, expected) => {
    const written = nodeStatusAfter(before, { phase, message: "m" }, NOW);
    expect(written?.conditions.map(({ type, status }) => `${type} ${status}`)).toEqual(expected);
  });
});

test("if two NodeEvacuations are withdrawn together, each uncordons the node, even if the other one cordoned it", () => {
  const both = { ne: started({ spec: WITHDRAWN }), rivals: [asked({ ...OTHER, spec: WITHDRAWN })] };
  expect(inShort(nextOf(both))).toBe("Withdrawn Uncordon");
  const later = {
    ne: started({ spec: WITHDRAWN }),
    rivals: [asked({ ...OTHER, status: { phase: "Withdrawn" } })],
    node: OTHERS,
  };
  expect(inShort(nextOf(later))).toBe("Withdrawn Uncordon");
});
