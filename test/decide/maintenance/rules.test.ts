/** The next step of a NodeEvacuation, rule by rule. */
import { describe, expect, test } from "vitest";
import { nodeStatusAfter } from "../../../shared/maintenance/status.ts";
import { isNewsOf } from "../../../shared/maintenance/world.ts";
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

/** Returns the next step if nothing prevents a start. */
const waiting = (situation: Situation) => nextOf({ preflight: facts(), vms: { "apps/web": {} }, ...situation });

describe("it has not started", () => {
  // prettier-ignore
  test.each<Row>([
    ["before its hour",                            { ne: asked({ spec: FUTURE }), node: PLAIN },                             "Scheduled"],
    ["an older one has not ended",                 { ne: asked(), node: PLAIN, rivals: [older] },                            "Scheduled"],
    ["… whose hour has not come",                  { ne: asked(), node: PLAIN, rivals: [{ ...older, spec: asked({ spec: FUTURE }).spec }] }, "Scheduled Cordon"],
    ["a younger one has started",                  { ne: asked(), node: node(CORDONED), rivals: [started(OTHER)] },          "Scheduled"],
    ["KubeVirt is being rolled out",               { ne: asked({ spec: { startIf: "WillSucceed" } }), node: PLAIN, more: { kubevirts: [{ isRollingOut: true }] } }, "Scheduled"],
    ["paused",                                     { ne: asked({ spec: { progress: "Paused" } }), node: PLAIN },             "Paused"],
    ["cordoned for one that was withdrawn",        { ne: asked(), node: OTHERS, rivals: [asked({ ...OTHER, status: { phase: "Withdrawn" } })] }, "Scheduled Cordon"],
    ["… that is deleted by now",                  { ne: asked(), node: OTHERS },                                           "Scheduled Cordon"],
    ["judged, whatever the verdict",               { ne: asked(), preflight: blocking },                                     "Evacuating"],
    ["judged, and not good enough",                { ne: asked({ spec: { startIf: "WillSucceed" } }), preflight: blocking }, "Refused Uncordon"],
    ["judged, and good enough",                    { ne: asked({ spec: { startIf: "WillSucceed" } }), preflight: facts() },  "Evacuating"],
    ["what cannot be judged",                      { ne: asked({ spec: { startIf: "WillSucceedWithShutdowns" } }), preflight: facts({ unread: ["x"] }) }, "Refused Uncordon"],
    ["withdrawn",                                  { ne: asked({ spec: WITHDRAWN }), node: PLAIN },                          "Withdrawn"],
  ])("%s", (_, situation, expected) => expect(inShort(waiting(situation))).toBe(expected));
});

describe("what it says while it waits", () => {
  // prettier-ignore
  test.each<readonly [what: string, world: Situation, expected: string]>([
    ["its hour",                          { ne: asked({ spec: FUTURE }) },                      `starts at ${time(60).replace(".000", "")}`],
    ["a person, before its hour",         { ne: asked({ spec: { ...FUTURE, progress: "Paused" } }) }, "spec.progress is Paused: it has not started, and does not start until it is resumed"],
    ["no more, without having started",   { ne: asked({ spec: { schedule: { notAfter: time(0) } }, status: { message: "waits for x" } }) }, `it had not started at ${time(0).replace(".000", "")} (spec.schedule.notAfter): waits for x`],
  ])("for %s", (_, situation, expected) => {
    const { message } = waiting({ node: PLAIN, ...situation });
    expect(message.replace("; as things are, it WillSucceed", "")).toBe(expected);
  });
});

// prettier-ignore
test.each([
  ["VMs leave",                      started(),                                                                    true],
  ["it is blocked",                  started({ status: { phase: "Blocked" } }),                                    false],
  ["it was paused just now",         started({ spec: { progress: "Paused" }, status: { phase: "Blocked" } }),      true],
  ["… which it says",                started({ spec: { progress: "Paused" }, status: { phase: "Paused" } }),       false],
  ["it was resumed just now",        started({ status: { phase: "Paused" } }),                                     true],
  ["it was withdrawn just now",      started({ spec: { intent: "Withdrawn" }, status: { phase: "Blocked" } }),     true],
  ["it waits for its hour",          asked({ status: { phase: "Scheduled" } }),                                    false],
  ["… and was paused just now",      asked({ spec: { progress: "Paused" }, status: { phase: "Scheduled" } }),      true],
] as const)("it is looked at every few seconds while %s: %s", (_, ne, expected) => expect(isNewsOf(ne)).toBe(expected));

describe("it ends", () => {
  // prettier-ignore
  test.each<Row>([
    ["withdrawn",                                  { ne: started({ spec: WITHDRAWN }), evacuations: active },                "Withdrawn WithdrawEvacuation Uncordon"],
    ["… on the cordon of a person",                { ne: started({ spec: WITHDRAWN }), node: FOREIGN },                      "Withdrawn"],
    ["… while another one wants the node closed",  { ne: started({ spec: WITHDRAWN }), rivals: [asked(OTHER)] },             "Withdrawn"],
    ["… having stopped a VM",                      { ne: started({ spec: WITHDRAWN }), evacuations: stopped },               "Withdrawn WithdrawEvacuation Uncordon"],
    ["out of time",                                { ne: started({ spec: { schedule: { notAfter: time(0) } } }), evacuations: active }, "Expired WithdrawEvacuation Uncordon"],
    ["before its start, it was to follow another one", { ne: asked({ spec: { schedule: { after: "first" } } }), node: PLAIN },  "Refused"],
    ["its node is gone",                           { node: undefined, evacuations: active },                                 "Gone"],
    ["… having stopped a VM",                      { node: undefined, evacuations: stopped },                                "Gone WithdrawEvacuation"],
    ["… while a VM is being stopped",              { node: undefined, evacuations: [own("db", { spec: { by: "ShutDown" }, status: { phase: "Stopping" } })] }, "Gone WithdrawEvacuation"],
    ["the node is empty",                          { left: {} },                                                         "Evacuated Uncordon"],
    ["… on the cordon of a person",                { left: {}, node: FOREIGN },                                          "Evacuated"],
    ["… paused",                                   { ne: started({ spec: { progress: "Paused" } }), left: {} },          "Evacuated Uncordon"],
    ["… but for a VM that starts elsewhere",       { left: {}, evacuations: [own("db", { spec: { by: "Restart" }, status: { phase: "Restarting" } })], vms: { "apps/db": {} } }, "Evacuating"],
  ])("%s", (_, world, expected) => expect(inShort(nextOf(world))).toBe(expected));
});

describe("it has ended", () => {
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
    ["the node is cordoned still",                 { ne: evacuated, evacuations: stopped },                                  "Nothing"],
    ["it is schedulable",                          { ne: started({ spec: { returnVMs: "WhenUncordoned" }, status: evacuated.status }), node: PLAIN, evacuations: [...stopped, moved], more: THERE }, "Evacuated WithdrawEvacuation ReturnVm"],
    ["… which is done",                            { ne: started({ status: { phase: "Evacuated", conditions: RETURNED } }), node: PLAIN, evacuations: stopped }, "Nothing"],
    ["withdrawn",                                  { ne: withdrawn, node: PLAIN },                                           "Nothing"],
    ["… when another function was just cordoning", { ne: withdrawn },                                                        "Withdrawn Uncordon"],
    ["… or began with a VM",                       { ne: withdrawn, node: PLAIN, evacuations: active },                      "Withdrawn WithdrawEvacuation"],
  ])("%s", (_, world, expected) => expect(inShort(nextOf(world))).toBe(expected));
});

test("another party uncordons the node: nothing new starts, and its cordon is none any more", () => {
  const next = nextOf({ node: node({ cordonedBy: CORDONED.cordonedBy }), vmis: [vmiOf("web")] });
  expect(inShort(next)).toBe("Paused Uncordon");
  expect(next.message).toContain(`kubectl cordon ${NODE}`);
});

test("before it starts, VMs that will be shut down have an Event", () => {
  const f = facts({ vmis: [vmiOf("web", { evictionStrategy: "None" })], pods: [launcher("web")] });
  const next = nextOf({ ne: asked({ spec: FUTURE }), node: PLAIN, preflight: f, vms: { "apps/web": {} } });
  expect(inShort(next)).toBe("Scheduled Event");
  expect(next.more).toEqual({ verdict: "WillSucceedWithShutdowns" });
});

describe("the status", () => {
  const ne = started({ status: { lastUpdateTime: time(-1), message: "m" } });

  test("says once what is the same", () => {
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
    ["counts, within two seconds",   ne,                                        { phase: "Evacuating", message: "n" }, false],
    ["… later",                      started({ status: { lastUpdateTime: time(-2) } }), { phase: "Evacuating", message: "n" }, true],
  ] as const)("is written for %s: %s", (_, before, next, expected) => {
    expect(nodeStatusAfter(before, next, NOW) !== undefined).toBe(expected);
  });

  test.each([
    [asked(), "Scheduled", ["Drained False"]],
    [ne, "Evacuated", ["DrainInProgress False", "Drained True"]],
  ] as const)("Drained can be waited for from the start: %#", (before, phase, expected) => {
    const written = nodeStatusAfter(before, { phase, message: "m" }, NOW);
    expect(written?.conditions.map(({ type, status }) => `${type} ${status}`)).toEqual(expected);
  });
});

test("of two that are cancelled together each takes the cordon back, whoever has made it", () => {
  const both = { ne: started({ spec: WITHDRAWN }), rivals: [asked({ ...OTHER, spec: WITHDRAWN })] };
  expect(inShort(nextOf(both))).toBe("Withdrawn Uncordon");
  const later = {
    ne: started({ spec: WITHDRAWN }),
    rivals: [asked({ ...OTHER, status: { phase: "Withdrawn" } })],
    node: OTHERS,
  };
  expect(inShort(nextOf(later))).toBe("Withdrawn Uncordon");
});
