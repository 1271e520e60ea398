/** Tests each rule for the next step of a NodeEvacuation. */
import { describe, expect, test } from "vitest";
import { textOf } from "../../../shared/facts/facts.ts";
import { ROOMY_NODES } from "../../../shared/facts/views.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { selectPodsOn } from "../../../shared/kube/selections.ts";
import { isNewsOf } from "../../../shared/maintenance/world.ts";
import { PREFLIGHT_PODS } from "../../../shared/preflight/views.ts";
import { node, NODE, NOW, time } from "../../support/fixtures.ts";
import { facts, launcher, vmiOf } from "../../support/preflight/fixtures.ts";
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
const LAST_UID = { name: "weekly", uid: "uid-of-weekly" };
const active = [own("web")];
const stopped = [own("db", { status: { phase: "Stopped" } })];
const blocking = facts({ vmis: [pinnedVm("web")] });
const OVER = { schedule: { notAfter: time(0) } };
const UNREAD_PODS = {
  [textOf({ kind: PREFLIGHT_PODS, selection: selectPodsOn(NODE) })]: new ClusterError({ reason: "Unreachable" }),
};

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
    ["is Gone if its node is deleted between two reads",            { ne: asked(), preflight: facts({ pods: [], vmis: [] }), more: { [textOf({ kind: ROOMY_NODES, selection: {} })]: [] } }, "Gone"],
    ["is refused if the verdict is not good enough",                { ne: asked({ spec: { startIf: "WillSucceed" } }), preflight: blocking }, "Refused Uncordon"],
    ["starts if the verdict is good enough",                    { ne: asked({ spec: { startIf: "WillSucceed" } }), preflight: facts() },  "Evacuating"],
    ["is refused if the verdict is unknown",                      { ne: asked({ spec: { startIf: "WillSucceedWithShutdowns" } }), preflight: facts({ unread: ["x"] }) }, "Refused Uncordon"],
    ["can be withdrawn",                                  { ne: asked({ spec: WITHDRAWN }), node: PLAIN },                          "Withdrawn"],
    ["waits for an older one with a greater UID",           { ne: asked(), node: PLAIN, rivals: [asked({ ...LAST_UID, createdAt: 0 })] },                     "Scheduled"],
    ["waits for a younger one with a greater UID that has started", { ne: asked(), node: node(CORDONED), rivals: [started({ ...LAST_UID, createdAt: NOW.getTime() })] }, "Scheduled"],
    ["waits for one of the same age with a smaller UID",    { ne: asked(), node: PLAIN, rivals: [asked(OTHER)] },                                         "Scheduled"],
    ["starts before one of the same age with a greater UID", { ne: asked(OTHER), node: PLAIN, rivals: [asked()] },                                        "Scheduled Cordon"],
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
    ["when withdrawn, and uncordons its node", { ne: started({ spec: WITHDRAWN }), evacuations: active },                "Withdrawn WithdrawEvacuation Uncordon"],
    ["when withdrawn, and keeps a person's cordon", { ne: started({ spec: WITHDRAWN }), node: FOREIGN },                      "Withdrawn"],
    ["when withdrawn, and keeps the cordon for another one", { ne: started({ spec: WITHDRAWN }), rivals: [asked(OTHER)] },             "Withdrawn"],
    ["when withdrawn, and starts a VM that it stopped", { ne: started({ spec: WITHDRAWN }), evacuations: stopped },               "Withdrawn WithdrawEvacuation Uncordon"],
    ["when its time is over, and uncordons its node", { ne: started({ spec: OVER }), evacuations: active }, "Expired WithdrawEvacuation Uncordon"],
    ["before its start if spec.schedule.after is set", { ne: asked({ spec: { schedule: { after: "first" } } }), node: PLAIN },  "Refused"],
    ["when its node is gone", { node: undefined, evacuations: active },                                 "Gone"],
    ["when its node is gone, and starts a VM that it stopped", { node: undefined, evacuations: stopped },                                "Gone WithdrawEvacuation"],
    ["when its node is gone while a VM is being stopped", { node: undefined, evacuations: [own("db", { spec: { by: "ShutDown" }, status: { phase: "Stopping" } })] }, "Gone WithdrawEvacuation"],
    ["when the node is empty, and leaves the cordon to people", { left: {} },                                                         "Evacuated Uncordon"],
    ["when the node is empty, with a person's cordon", { left: {}, node: FOREIGN },                                          "Evacuated"],
    ["when the node is empty, even if paused", { ne: started({ spec: { progress: "Paused" } }), left: {} },          "Evacuated Uncordon"],
    ["when the node is empty at the end of its time", { ne: started({ spec: OVER }), left: {} },     "Evacuated Uncordon"],
    ["only after a restarted VM runs again", { left: {}, evacuations: [own("db", { spec: { by: "Restart" }, status: { phase: "Restarting" } })], vms: { "apps/db": {} } }, "Evacuating"],
    ["as Expired when its time is over before its start, even if its node is empty", { ne: asked({ spec: OVER }), node: FOREIGN, left: {} },              "Expired"],
    ["as Expired when its time is over and its empty node is uncordoned", { ne: started({ spec: OVER }), node: node({ cordonedBy: CORDONED.cordonedBy }), left: {} }, "Expired Uncordon"],
    ["as Expired when its time is over and the node's pods cannot be read", { ne: started({ spec: OVER }), more: UNREAD_PODS },                         "Expired Uncordon"],
    ["when withdrawn, even if its node is gone",                  { ne: started({ spec: WITHDRAWN }), node: undefined, evacuations: stopped },          "Withdrawn WithdrawEvacuation"],
    ["when the node's only VMI has finished",                     { vmis: [vmiOf("web", { phase: "Succeeded" })], left: {} },                          "Evacuated Uncordon"],
  ])("%s", (_, world, expected) => expect(inShort(nextOf(world))).toBe(expected));
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
  // After the next cordon, a VM waits for another minute before its guest is shut down.
  expect(next.more).toEqual({ blockers: [] });
  const stopping = [own("db", { spec: { by: "ShutDown" }, status: { phase: "Stopping" } })];
  expect(inShort(nextOf({ node: PLAIN, evacuations: stopping }))).toBe("Paused WithdrawEvacuation");
});

test("before the start, an Event names VMs that will be shut down", () => {
  const f = facts({ vmis: [vmiOf("web", { evictionStrategy: "None" })], pods: [launcher("web")] });
  const next = nextOf({ ne: asked({ spec: FUTURE }), node: PLAIN, preflight: f, vms: { "apps/web": {} } });
  expect(inShort(next)).toBe("Scheduled Event");
  expect(next.more).toEqual({ verdict: "WillSucceedWithShutdowns" });
});

test("before the start, a forecast is made once a minute, and the message keeps it in between", () => {
  const ne = asked({ spec: FUTURE, status: { verdict: "WillBlock" } });
  const soon = nextOf({ ne, node: PLAIN });
  expect([inShort(soon), soon.more]).toEqual(["Scheduled", undefined]);
  expect(soon.message).toContain("forecast as of now: WillBlock");
  const later = waiting({ ne, node: PLAIN, isThorough: true });
  expect(later.more).toEqual({ verdict: "WillSucceed" });
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
