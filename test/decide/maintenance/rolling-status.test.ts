/** Tests the message and the status of a RollingMaintenance. */
import { describe, expect, test } from "vitest";
import type { NodeRow, RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { rollingStatusAfter } from "../../../shared/maintenance/rolling/status.ts";
import { at, node, NOW, time } from "../../support/fixtures.ts";
import { type Around, nextOf, partOf, rolling, underWay } from "../../support/maintenance/rolling.ts";

const plain = (time: string) => time.replace(".000", "");
const PAUSED = { progress: "Paused" } as const;
const CONTINUE = { whenNodeFails: "Continue" } as const;
const EVACUATED = underWay(["Evacuated", "Pending", "Pending"]);
const isCordoned = { more: { "nodes node-1": node({ name: "node-1", unschedulable: true }) } };

describe("the message", () => {
  // prettier-ignore
  test.each<readonly [what: string, rm: RollingMaintenanceFacts, around: Around, expected: string]>([
    ["it waits until notBefore",         rolling({ spec: { schedule: { notBefore: time(60) } } }),  {}, `starts at ${plain(time(60))}`],
    ["a node is being evacuated",       underWay(["Evacuating", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Evacuating", message: "3 of 9 VMs are left" })] }, "waits for node-1: 3 of 9 VMs are left"],
    ["a person uncordons a node early", underWay(["Paused", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Paused", message: "another party has uncordoned the node" })] }, "waits for node-1: another party has uncordoned the node"],
    ["a node has no virt-handler", EVACUATED, {}, "waits for node-1 to be schedulable and Ready again, with a working virt-handler: run kubectl uncordon node-1 when its maintenance is done"],
    ["a node is not back",      EVACUATED, isCordoned, "waits for node-1 to be schedulable and Ready again, with a working virt-handler: run kubectl uncordon node-1 when its maintenance is done"],
    ["a node is blocked",       underWay(["Blocked", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Blocked", message: "1 cannot leave" })] }, "node-1 is Blocked: 1 cannot leave"],
    ["a node has failed",           underWay(["Expired", "Pending", "Pending"]), { nodeEvacuations: [] }, "node-1 is Expired; spec.whenNodeFails is Stop: nodes that were not drained: 2"],
    ["notAfter has passed",      underWay(["Returned", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) } } }), {}, `nodes whose drain had not started at ${plain(time(0))} (spec.schedule.notAfter): 2; nodes evacuated: 1 of 3`],
    ["it ends with failures",   underWay(["Returned", "Expired", "Returned"], { spec: CONTINUE }), {}, "nodes evacuated: 2 of 3, failed: 1; node-2 is Expired"],
    ["it is paused after the start",    underWay(["Returned", "Pending", "Pending"], { spec: PAUSED }), {}, "spec.progress is Paused: nothing new starts, and running migrations continue; nodes evacuated: 1 of 3"],
  ])("when %s", (_, rm, around, expected) => expect(nextOf(rm, around)).toMatchObject({ message: expect.stringContaining(expected.trimEnd()) }));
});

const statusAt = (rm: RollingMaintenanceFacts, seconds: number) => {
  const next = nextOf(rm, { now: at(seconds) });
  return next === "Nothing" ? undefined : rollingStatusAfter(rm, next, at(seconds));
};

describe("the status", () => {
  test("counts nodes, and is written once if it does not change", () => {
    const rm = underWay(["Returned", "Evacuating", "Pending"]);
    const status = statusAt(rm, 0);
    expect(status?.nodeCounts).toEqual({ total: 3, pending: 1, active: 1, evacuated: 1, failed: 0 });
    expect(statusAt({ ...rm, status: status ?? rm.status }, 30)).toBeUndefined();
  });

  test("estimates the end from the durations of earlier nodes, and how many nodes will not start in time", () => {
    const rm = underWay(["Returned", "Evacuating", "Pending"], { spec: { schedule: { notAfter: time(60) } } });
    const nodes = rm.status.nodes.map((row) => (row.phase === "Returned" ? { ...row, returnTime: time(-300) } : row));
    const timed = { ...rm, status: { ...rm.status, nodes } };
    expect(statusAt(timed, 0)).toMatchObject({
      estimatedCompletionTime: time(600),
      forecast: expect.stringContaining("5m on average"),
    });
    const late = underWay(["Returned", "Pending", "Pending"], { spec: { schedule: { notAfter: time(1) } } });
    const lateNodes = late.status.nodes.map((row) =>
      row.phase === "Returned" ? { ...row, returnTime: time(-300) } : row,
    );
    expect(statusAt({ ...late, status: { ...late.status, nodes: lateNodes } }, 0)?.forecast).toContain(
      "nodes whose drain will not start",
    );
  });

  test("has a completion time instead of an estimate at the end", () => {
    const rm = underWay(["Returned", "Returned", "Returned"], { status: { estimatedCompletionTime: time(9) } });
    expect(statusAt(rm, 0)).toMatchObject({
      phase: "Completed",
      completionTime: time(0),
      estimatedCompletionTime: undefined,
    });
  });

  // prettier-ignore
  test.each([
    ["another message within two seconds",          -1, { phase: "Running", message: "n" },                                                false],
    ["another message after two seconds",           -2, { phase: "Running", message: "n" },                                                true],
    ["another phase within two seconds",            -1, { phase: "Blocked", message: "m" },                                                true],
    ["another phase of a node within two seconds",  -1, { phase: "Running", message: "m", rows: [{ name: "node-1", phase: "Paused" }] },   true],
  ] as const)("is written for %s: $3", (_, seconds, next, expected) => {
    const rm = underWay(["Evacuating"], { status: { message: "m", lastUpdateTime: time(seconds) } });
    expect(rollingStatusAfter(rm, next, NOW) !== undefined).toBe(expected);
  });

  const PACE = "a node took 5m on average";
  const late = (notAfter: string, count: number) =>
    `${PACE}; nodes whose drain will not start by ${plain(notAfter)} (spec.schedule.notAfter): ${count}`;

  // prettier-ignore
  test.each<readonly [when: string, schedule: RollingMaintenanceFacts["spec"]["schedule"], forecast: string]>([
    ["without notAfter",         {},                       `${PACE}; the last drain ends at about ${plain(time(900))}`],
    ["5 minutes before notAfter", { notAfter: time(300) },  late(time(300), 2)],
    ["at notAfter",              { notAfter: time(0) },    late(time(0), 5)],
  ])("forecasts the end from the mean of earlier nodes with maxUnavailable 2, %s", (_, schedule, forecast) => {
    const nodes: readonly NodeRow[] = [
      { name: "a", phase: "Evacuated", startTime: time(-600), completionTime: time(-400) },
      { name: "b", phase: "Evacuated", startTime: time(-600), completionTime: time(-200) },
      { name: "c", phase: "Evacuating", startTime: time(-200) },
      ...["d", "e", "f", "g", "h"].map((name): NodeRow => ({ name, phase: "Pending" })),
    ];
    const rm = rolling({ spec: { maxUnavailable: 2, nextNode: "WhenEvacuated", schedule }, status: { nodes } });
    const status = rollingStatusAfter(rm, { phase: "Running", message: "m" }, NOW);
    expect(status).toMatchObject({ estimatedCompletionTime: time(900), forecast });
  });

  test("cuts its message at 2048 characters", () => {
    const status = rollingStatusAfter(rolling(), { phase: "Running", message: "x".repeat(3000) }, NOW);
    expect(status?.message).toHaveLength(2048);
  });

  test("has no estimate before the first node is done", () => {
    const status = statusAt(underWay(["Evacuating", "Pending", "Pending"]), 0);
    expect(status?.phase).toBe("Running");
    expect([status?.estimatedCompletionTime, status?.forecast]).toEqual([undefined, undefined]);
  });
});
