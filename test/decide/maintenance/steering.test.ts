/** Tests which nodes have the taint for nodes that wait for their turn in a RollingMaintenance. */
import { describe, expect, test } from "vitest";
import type { RollingMaintenanceFacts, RollingMaintenanceSpec } from "../../../shared/kube/rolling-maintenance.ts";
import { PENDING_TAINT } from "../../../shared/kube/names.ts";
import { planSteering } from "../../../shared/maintenance/rolling/steering.ts";
import { node, NOW, time } from "../../support/fixtures.ts";
import { NODES, type Phases, rolling, underWay } from "../../support/maintenance/rolling.ts";

type Spec = Partial<RollingMaintenanceSpec>;

const steering = (phases: Phases, spec: Spec = {}, status: RollingMaintenanceFacts["status"]["phase"] = "Running") =>
  underWay(phases, { spec: { steering: "AwayFromPending", ...spec }, status: { phase: status } });

const tainted = (...names: readonly string[]) =>
  NODES.map((name) => node({ name, taints: names.includes(name) ? [PENDING_TAINT] : [] }));

function taintedAfter(nodes: ReturnType<typeof tainted>, all: readonly RollingMaintenanceFacts[]): readonly string[] {
  const after = new Set(nodes.filter(({ taints }) => taints.length > 0).map(({ name }) => name));
  for (const action of planSteering(nodes, all, NOW).chains.flat()) {
    if (action.verb !== "Steer") throw new Error(`unexpected: ${action.verb}`);
    if (action.isPending) after.add(action.node);
    else after.delete(action.node);
  }
  return [...after].toSorted();
}

const LAST_TWO = ["node-2", "node-3"];

// prettier-ignore
describe.each<[string, ReturnType<typeof tainted>]>([
  ["no node has the taint",     tainted()],
  ["each node has the taint",   tainted(...NODES)],
])("a RollingMaintenance, given that %s,", (_, nodes) => {
  test.each<[what: string, all: readonly RollingMaintenanceFacts[], expected: readonly string[]]>([
    ["it does not exist",                                [],                                                                                   []],
    ["it has not started",                               [rolling({ spec: { steering: "AwayFromPending" } })],                                 []],
    ["it has just started",                              [steering(["Pending", "Pending", "Pending"])],                                        NODES],
    ["the first node is claimed",                        [steering(["Starting", "Pending", "Pending"])],                                       LAST_TWO],
    ["the first node is being evacuated",                [steering(["Evacuating", "Pending", "Pending"])],                                     LAST_TWO],
    ["the first node is blocked",                        [steering(["Blocked", "Pending", "Pending"], {}, "Blocked")],                         LAST_TWO],
    ["the first node is evacuated",                      [steering(["Evacuated", "Pending", "Pending"])],                                      LAST_TWO],
    ["the first node is schedulable again",              [steering(["Returned", "Starting", "Pending"])],                                      ["node-3"]],
    ["the last node is being evacuated",                 [steering(["Returned", "Returned", "Evacuating"])],                                   []],
    ["it does not steer",                                [steering(["Evacuating", "Pending", "Pending"], { steering: "None" })],               []],
    ["it is to be paused",                               [steering(["Evacuating", "Pending", "Pending"], { progress: "Paused" })],             []],
    ["it is paused",                                     [steering(["Returned", "Pending", "Pending"], { progress: "Paused" }, "Paused")],     []],
    ["it is resumed",                                    [steering(["Returned", "Pending", "Pending"], {}, "Paused")],                         LAST_TWO],
    ["it is to be withdrawn",                            [steering(["Evacuating", "Pending", "Pending"], { intent: "Withdrawn" })],            []],
    ["it is withdrawn",                                  [steering(["Withdrawn", "Skipped", "Skipped"], { intent: "Withdrawn" }, "Withdrawn")], []],
    ["a node failed, and another is evacuated",          [steering(["Expired", "Evacuating", "Pending"], { maxUnavailable: 2 })],              []],
    ["a node has failed, and the next ones still start", [steering(["Expired", "Evacuating", "Pending"], { whenNodeFails: "Continue" })],      ["node-3"]],
    ["notAfter has passed",                         [steering(["Evacuating", "Pending", "Pending"], { schedule: { notAfter: time(0) } })], []],
    ["it was stopped",                                   [steering(["Expired", "Skipped", "Skipped"], {}, "Stopped")],                         []],
    ["it has ended",                                     [steering(["Returned", "Returned", "Returned"], {}, "Completed")],                    []],
    ["another RollingMaintenance awaits the node",       [steering(["Returned"], {}, "Completed"), { ...steering(["Pending"]), uid: "other" }], ["node-1"]],
  ])("if %s, leaves the taint on $2", (_, all, expected) => expect(taintedAfter(nodes, all)).toEqual(expected));
});

test("a node with the right taints needs no request, and a node that is gone gets no taint", () => {
  const [first, second] = tainted("node-2");
  const nodes = [first, second].flatMap((one) => one ?? []);
  expect(planSteering(nodes, [steering(["Evacuating", "Pending", "Pending"])], NOW).chains).toEqual([]);
});

test.each([
  { key: PENDING_TAINT.key, effect: "NoSchedule" },
  { key: "gpu", effect: PENDING_TAINT.effect },
])("a person's taint stays: %j", (taint) => {
  expect(planSteering([node({ name: "node-1", taints: [taint] })], [], NOW).chains).toEqual([]);
});
