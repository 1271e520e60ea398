/** Tests the Events of NodeEvacuations and RollingMaintenances. */
import { expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import type { NodeEvacuationFacts } from "../../../shared/kube/node-evacuation.ts";
import type { RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { nodeEvents, rollingEvents } from "../../../shared/maintenance/rolling/events.ts";
import type { RollingNext } from "../../../shared/maintenance/rolling/world.ts";
import type { NodeNext } from "../../../shared/maintenance/world.ts";
import { NODE, only, time } from "../../support/fixtures.ts";
import { type Phases, rolling, underWay } from "../../support/maintenance/rolling.ts";
import { asked, started } from "../../support/maintenance/worlds.ts";

const inShort = (actions: readonly Action[]) =>
  only("Event", actions).map(({ about: { kind, namespace, name }, type, reason }) =>
    [type, reason, kind, `${namespace}${name}`].join(" "),
  );
const occasions = (actions: readonly Action[]) => only("Event", actions).map(({ occasion }) => occasion);

const BLOCKED = started({ status: { phase: "Blocked" } });

// prettier-ignore
test.each<readonly [what: string, ne: NodeEvacuationFacts, next: Omit<NodeNext, "message">, said: string]>([
  ["starts",                asked({ status: { phase: "Scheduled" } }),  { phase: "Evacuating", more: { startTime: time(0) } },  "Normal MaintenanceStarted"],
  ["is resumed",            started({ status: { phase: "Paused" } }),   { phase: "Evacuating" },                                "none"],
  ["is paused",             started(),                                  { phase: "Paused" },                                    "none"],
  ["is blocked",            started(),                                  { phase: "Blocked" },                                   "Warning MaintenanceBlocked"],
  ["stays blocked",         BLOCKED,                                    { phase: "Blocked" },                                   "none"],
  ["has drained its node",  started(),                                  { phase: "Evacuated" },                                 "Normal MaintenanceCompleted"],
  ["is refused",            asked(),                                    { phase: "Refused" },                                   "Warning MaintenanceRefused"],
  ["expires",               BLOCKED,                                    { phase: "Expired" },                                   "Warning MaintenanceExpired"],
  ["is withdrawn",          BLOCKED,                                    { phase: "Withdrawn" },                                 "Normal MaintenanceWithdrawn"],
  ["finds no node",         asked(),                                    { phase: "Gone" },                                      "Warning MaintenanceNodeGone"],
])("the Events on a NodeEvacuation that %s, and on its node: $3", (_, ne, next, said) => {
  const expected = said === "none" ? [] : [`${said} NodeEvacuation kernel`, `${said} Node ${NODE}`];
  expect(inShort(nodeEvents(ne, { message: "m", ...next }))).toEqual(expected);
});

const rows = (...phases: Phases) => underWay(phases).status.nodes;
const stuck = underWay(["Blocked"], { status: { phase: "Blocked" } });
const busy = underWay(["Evacuating", "Pending"]);

// prettier-ignore
test.each<readonly [what: string, rm: RollingMaintenanceFacts, next: Omit<RollingNext, "message">, said: readonly string[]]>([
  ["starts",                         rolling(),                            { phase: "Running", more: { startTime: time(0) }, rows: rows("Pending") }, ["Normal MaintenanceStarted"]],
  ["claims a node",                  underWay(["Pending", "Pending"]),     { phase: "Running", rows: rows("Starting", "Pending") },                   []],
  ["is blocked",                     busy,                                 { phase: "Blocked", rows: rows("Blocked", "Pending") },                    ["Warning MaintenanceBlocked"]],
  ["stays blocked",                  stuck,                                { phase: "Blocked", rows: rows("Blocked") },                               []],
  ["has a node that is refused",     busy,                                 { phase: "Running", rows: rows("Refused", "Pending") },                    ["Warning MaintenanceRefused"]],
  ["has a node that expires",        busy,                                 { phase: "Running", rows: rows("Expired", "Pending") },                    ["Warning MaintenanceExpired"]],
  ["has a node that is gone",        busy,                                 { phase: "Running", rows: rows("Gone", "Pending") },                       ["Warning MaintenanceNodeGone"]],
  ["had a node that expired",        underWay(["Expired", "Evacuating"]),  { phase: "Running", rows: rows("Expired", "Evacuating") },                 []],
  ["stops because a node expires",   busy,                                 { phase: "Stopped", rows: rows("Expired", "Skipped") },                    ["Warning MaintenanceExpired", "Warning MaintenanceStopped"]],
  ["is completed",                   busy,                                 { phase: "Completed", rows: rows("Evacuated", "Returned") },               ["Normal MaintenanceCompleted"]],
  ["is withdrawn",                   busy,                                 { phase: "Withdrawn", rows: rows("Withdrawn", "Skipped") },                ["Normal MaintenanceWithdrawn"]],
])("the Events on a RollingMaintenance that %s: $3", (_, rm, next, said) => {
  const expected = said.map((one) => `${one} RollingMaintenance kernel`);
  expect(inShort(rollingEvents(rm, { message: "m", ...next }))).toEqual(expected);
});

test("a phase that comes again has another Event, and each failed node has its own Event", () => {
  const [first, later] = [{ lastUpdateTime: time(0) }, { lastUpdateTime: time(60) }];
  const ofNode = [first, later].flatMap((status) =>
    occasions(nodeEvents(started({ status }), { phase: "Blocked", message: "m" })),
  );
  expect(new Set(ofNode).size).toBe(2);
  const ofRolling = [first, later].flatMap((status) =>
    occasions(rollingEvents(underWay(["Blocked"], { status }), { phase: "Blocked", message: "m" })),
  );
  expect(new Set(ofRolling).size).toBe(2);
  const failed = rollingEvents(busy, { phase: "Running", message: "m", rows: rows("Expired", "Expired") });
  expect(new Set(occasions(failed)).size).toBe(2);
});
