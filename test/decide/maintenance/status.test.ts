/** Tests the status of a NodeEvacuation: when it is written, its times, and its conditions. */
import { describe, expect, test } from "vitest";
import type { NodeCondition, NodeEvacuationPhase } from "../../../shared/kube/node-evacuation.ts";
import { nodeStatusAfter } from "../../../shared/maintenance/status.ts";
import { at, NOW, time } from "../../support/fixtures.ts";
import { asked, nextOf, pinnedVm, started } from "../../support/maintenance/worlds.ts";

const was = (type: NodeCondition["type"], status: NodeCondition["status"]): NodeCondition => {
  return { type, status, reason: "r", message: "", lastTransitionTime: time(-600) };
};
const DRAINING = [was("DrainInProgress", "True"), was("Drained", "False")];
const EMPTY = [was("DrainInProgress", "False"), was("Drained", "True")];

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

  const WEB = { namespace: "apps", name: "web", uid: "vmi-web" };
  const listed = started({ status: { lastUpdateTime: time(-1), message: "m", outcomes: [WEB] } });
  const done = started({ status: { phase: "Evacuated", lastUpdateTime: time(-1), message: "m" } });
  const BACK = { type: "Returned", status: "True", reason: "Uncordoned", message: "", lastTransitionTime: "" } as const;

  // prettier-ignore
  test.each([
    ["changed counts within two seconds",   ne,                                        { phase: "Evacuating", message: "n" }, false],
    ["changed counts after two seconds",    started({ status: { lastUpdateTime: time(-2) } }), { phase: "Evacuating", message: "n" }, true],
    ["a VM that was not listed, within two seconds",        ne,      { phase: "Evacuating", message: "m", more: { outcomes: [WEB] } },                                   true],
    ["a new reason of a listed VM, within two seconds",     listed,  { phase: "Evacuating", message: "m", more: { outcomes: [{ ...WEB, reason: "EvictionStrategy" }] } }, true],
    ["the outcome of a listed VM, within two seconds",      listed,  { phase: "Evacuating", message: "m", more: { outcomes: [{ ...WEB, outcome: "Moved" }] } },          true],
    ["the condition Returned, within two seconds",          done,    { phase: "Evacuated", message: "m", more: { conditions: [BACK] } },                                 true],
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

  // prettier-ignore
  test.each<readonly [string, NodeEvacuationPhase, before: string | undefined, end: string | undefined, eta: string | undefined]>([
    ["has an estimate while VMs leave",                       "Evacuating", undefined, undefined, time(60)],
    ["has a completion time instead of an estimate at the end", "Evacuated", undefined, time(0),   undefined],
    ["keeps its completion time after the end",               "Evacuated",  time(-9),  time(-9),  undefined],
  ])("%s", (...[, phase, completionTime, end, eta]) => {
    const before = started({ status: { message: "m", estimatedCompletionTime: time(60), completionTime } });
    const status = nodeStatusAfter(before, { phase, message: "n" }, NOW);
    expect([status?.completionTime, status?.estimatedCompletionTime]).toEqual([end, eta]);
  });

  // prettier-ignore
  test.each<readonly [string, readonly NodeCondition[], NodeEvacuationPhase, readonly string[]]>([
    ["starts",                  [was("Drained", "False")],                  "Evacuating", ["DrainInProgress True now", "Drained False before"]],
    ["is blocked",              DRAINING,                                   "Blocked",    ["Blocked True now n", "DrainInProgress True before", "Drained False before"]],
    ["is no longer blocked",    [was("Blocked", "True"), ...DRAINING],      "Evacuating", ["Blocked False now", "DrainInProgress True before", "Drained False before"]],
    ["has drained its node",    DRAINING,                                   "Evacuated",  ["DrainInProgress False now", "Drained True now n"]],
    ["has returned its VMs",    [...EMPTY, was("Returned", "True")],        "Evacuated",  ["DrainInProgress False before", "Drained True before n", "Returned True before"]],
  ])("has these conditions when it %s: $3", (_, conditions, phase, expected) => {
    const before = started({ status: { message: "m", conditions } });
    const status = nodeStatusAfter(before, { phase, message: "n" }, NOW);
    const said = status?.conditions.map(({ type, status: is, lastTransitionTime, message }) =>
      [type, is, lastTransitionTime === time(0) ? "now" : "before", message].join(" ").trim(),
    );
    expect(said).toEqual(expected);
  });

  test("cuts its message, and the message of a condition, at 2048 characters", () => {
    const status = nodeStatusAfter(started(), { phase: "Blocked", message: "x".repeat(3000) }, NOW);
    const texts = [status, ...(status?.conditions ?? [])].map((one) => one?.message?.length);
    expect(texts).toEqual([2048, 2048, 0, 0]);
  });
});
