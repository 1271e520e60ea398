/**
 * Tests each rule for the next step of a RollingMaintenance. In the titles, a claimed node is a node with the phase
 * Starting.
 */
import { describe, expect, test } from "vitest";
import { asPartOf, type RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { isRollingOpen } from "../../../shared/maintenance/rolling/world.ts";
import { node, NOW, time } from "../../support/fixtures.ts";
import { asked, started } from "../../support/maintenance/worlds.ts";
import {
  type Around,
  backNode,
  inShort,
  nextOf,
  NODES,
  partOf,
  partsOf,
  rolling,
  underWay,
} from "../../support/maintenance/rolling.ts";

type Row = readonly [what: string, rm: RollingMaintenanceFacts, around: Around, expected: string];

const WITHDRAWN = { intent: "Withdrawn" } as const;
const PAUSED = { progress: "Paused" } as const;
const CONTINUE = { whenNodeFails: "Continue" } as const;
const LABELS = { nodes: { matchLabels: { pool: "a" } } };
const pool = (...names: readonly string[]) => ({ "nodes where pool=a": names.map((name) => node({ name })) });
const many = Array.from({ length: 501 }, (_, index) => `n-${index}`);

describe("a RollingMaintenance that has not started", () => {
  // prettier-ignore
  test.each<Row>([
    ["waits until notBefore",                        rolling({ spec: { schedule: { notBefore: time(60) } } }),               {}, "Scheduled"],
    ["waits if notBefore is not a time",             rolling({ spec: { schedule: { notBefore: "2026-11-20T12:00:00+99:00" } } }), {}, "Scheduled"],
    ["paused",                                    rolling({ spec: PAUSED }),                                              {}, "Paused"],
    ["withdrawn",                                 rolling({ spec: WITHDRAWN }),                                           {}, "Withdrawn"],
    ["is over after notAfter",               rolling({ spec: { schedule: { notAfter: time(0) } } }),                 {}, "Stopped"],
    ["starts at notBefore",                        rolling({ spec: { schedule: { notBefore: time(0) } } }),                {}, "Running Pending,Pending,Pending"],
    ["selects nodes by labels",                   rolling({ spec: LABELS }),                                              { more: pool("node-10", "node-9") }, "Running Pending,Pending"],
    ["selects no node by unknown labels",         rolling({ spec: LABELS }),                                              { more: pool() }, "Stopped"],
    ["is refused with labels of too many nodes",  rolling({ spec: LABELS }),                                              { more: pool(...many) }, "Stopped"],
    ["starts with 500 nodes", rolling({ spec: LABELS }),                                            { more: pool(...many.slice(1)) }, `Running ${many.slice(1).map(() => "Pending").join()}`],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));

  test("orders nodes with labels by name, with numbers as numbers", () => {
    const next = nextOf(rolling({ spec: LABELS }), { more: pool("node-10", "node-9") });
    expect(next).toMatchObject({ rows: [{ name: "node-9" }, { name: "node-10" }], more: { startTime: time(0) } });
  });
});

const EVACUATED = underWay(["Evacuated", "Pending", "Pending"]);
const isCordoned = { more: { "nodes node-1": node({ name: "node-1", unschedulable: true }) } };
const isReturned = { more: { "nodes node-1": backNode("node-1") } };
const isGone = { more: { "nodes node-1": undefined } };
const evacuatedAt = (seconds: number) => {
  const nodes = EVACUATED.status.nodes.map((row, index) =>
    index === 0 ? { ...row, completionTime: time(seconds) } : row,
  );
  return { ...EVACUATED, status: { ...EVACUATED.status, nodes } };
};
const NONE = { nodeEvacuations: [] };
const ROLLOUT = { isRollingOut: true };

describe("the next node", () => {
  // prettier-ignore
  test.each<Row>([
    ["is claimed first",                                    underWay(["Pending", "Pending", "Pending"]), {},              "Running Starting,Pending,Pending"],
    ["gets its NodeEvacuation after the claim",        underWay(["Starting", "Pending", "Pending"]), NONE,           "Running CreateNodeEvacuation Starting,Pending,Pending"],
    ["follows its existing NodeEvacuation",               underWay(["Starting", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Evacuating" })] }, "Running Evacuating,Pending,Pending"],
    ["waits while another one is being evacuated",                   underWay(["Evacuating", "Pending", "Pending"]), {},           "Running Evacuating,Pending,Pending"],
    ["starts while another one is being evacuated, with maxUnavailable 2",                             underWay(["Evacuating", "Pending", "Pending"], { spec: { maxUnavailable: 2 } }), {}, "Running Evacuating,Starting,Pending"],
    ["waits while another one is empty and cordoned",        EVACUATED, isCordoned,                                        "Running Evacuated,Pending,Pending"],
    ["starts when another one is empty, with WhenEvacuated",                underWay(["Evacuated", "Pending", "Pending"], { spec: { nextNode: "WhenEvacuated" } }), {}, "Running Evacuated,Starting,Pending"],
    ["starts when another one is back",                    EVACUATED, isReturned,                                        "Running Returned,Starting,Pending"],
    ["waits while another one has no virt-handler", EVACUATED, {},                                                "Running Evacuated,Pending,Pending"],
    ["waits while another one is not Ready",                               EVACUATED, { more: { "nodes node-1": { ...backNode("node-1"), ready: false } } }, "Running Evacuated,Pending,Pending"],
    ["waits for a deleted node that is being reinstalled",  evacuatedAt(-3599), isGone,                                   "Running Evacuated,Pending,Pending"],
    ["waits for a deleted node at most an hour",                                evacuatedAt(-3600), isGone,                                   "Stopped Gone,Skipped,Skipped"],
    ["starts when a deleted node has registered again",            evacuatedAt(-9), isReturned,                                  "Running Returned,Starting,Pending"],
    ["fails if it does not exist",               underWay(["Pending", "Pending", "Pending"]), isGone,          "Running Gone,Pending,Pending"],
    ["starts after a node that failed because it was deleted, with Continue",       underWay(["Gone", "Pending", "Pending"], { spec: CONTINUE }), isGone,  "Running Gone,Starting,Pending"],
    ["waits while another one was uncordoned during its evacuation",         underWay(["Paused", "Pending", "Pending"]), isReturned,       "Running Paused,Pending,Pending"],
    ["is not a node that got its labels later", underWay(["Returned", "Pending"], { spec: LABELS }), {},     "Running Returned,Starting"],
    ["waits for a rollout of KubeVirt",           underWay(["Pending", "Pending", "Pending"]), { more: { kubevirts: [ROLLOUT] } }, "Running Pending,Pending,Pending"],
    ["does not start while paused",                                 underWay(["Evacuating", "Pending", "Pending"], { spec: { ...PAUSED, maxUnavailable: 2 } }), {}, "Paused Evacuating,Pending,Pending"],
    ["gets no NodeEvacuation while paused, even if claimed",           underWay(["Starting", "Pending", "Pending"], { spec: PAUSED }), NONE, "Paused Starting,Pending,Pending"],
    ["does not start after notAfter",                         underWay(["Evacuating", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) }, maxUnavailable: 2 } }), {}, "Running Evacuating,Pending,Pending"],
    ["does not start after notAfter, and the last started one ends the maintenance",     underWay(["Returned", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) } } }), {}, "Stopped Returned,Skipped,Skipped"],
    ["does not start after notAfter, and the maintenance ends although a node is not back",           underWay(["Evacuated", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) } } }), isCordoned, "Stopped Evacuated,Skipped,Skipped"],
    ["starts with WhenEvacuated, even if another one was deleted after its evacuation", { ...evacuatedAt(-3600), spec: { ...EVACUATED.spec, nextNode: "WhenEvacuated" } }, isGone, "Running Evacuated,Starting,Pending"],
    ["starts even if notBefore is moved into the future after the start", underWay(["Returned", "Pending", "Pending"], { spec: { schedule: { notBefore: time(60) } } }), {}, "Running Returned,Starting,Pending"],
    ["does not follow a NodeEvacuation of the same name that others created", underWay(["Starting", "Pending", "Pending"]), { nodeEvacuations: [{ ...partOf(rolling(), "node-1", { phase: "Evacuating" }), owner: undefined }] }, "Running CreateNodeEvacuation Starting,Pending,Pending"],
    ["does not start after the maintenance was deleted", underWay(["Pending", "Pending", "Pending"]), { more: { rollingmaintenances: [] } }, "Nothing"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));
});

describe("a failed node", () => {
  // prettier-ignore
  test.each<Row>([
    ["stops the maintenance",                                          underWay(["Expired", "Pending", "Pending"]), {},                                           "Stopped Expired,Skipped,Skipped"],
    ["stops the maintenance while another one is evacuated",           underWay(["Refused", "Evacuating", "Pending"], { spec: { maxUnavailable: 2 } }), {},       "Running Refused,Evacuating,Pending"],
    ["stops the maintenance while another one is claimed",             underWay(["Refused", "Starting", "Pending"], { spec: { maxUnavailable: 2 } }), NONE,       "Running CreateNodeEvacuation Refused,Starting,Pending"],
    ["ends the maintenance if it is the last one",                     underWay(["Returned", "Returned", "Gone"]), {},                                            "Stopped Returned,Returned,Gone"],
    ["does not stop the maintenance with Continue",                    underWay(["Expired", "Pending", "Pending"], { spec: CONTINUE }), {},                       "Running Expired,Starting,Pending"],
    ["ends the maintenance with Continue if it is the last one",       underWay(["Returned", "Expired", "Refused"], { spec: CONTINUE }), {},                      "Completed Returned,Expired,Refused"],
    ["includes a node that a person withdraws",                        underWay(["Withdrawn", "Pending", "Pending"]), {},                                         "Stopped Withdrawn,Skipped,Skipped"],
    ["includes a node whose NodeEvacuation was deleted",               underWay(["Evacuating", "Pending", "Pending"], { spec: CONTINUE }), NONE,                  "Running Withdrawn,Starting,Pending"],
    ["does not include a blocked node",                                underWay(["Blocked", "Pending", "Pending"]), {},                                           "Blocked Blocked,Pending,Pending"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));
});

const ONE_MOVED = {
  total: 1,
  left: 0,
  moving: 0,
  waiting: 0,
  blocked: 0,
  moved: 1,
  restarted: 0,
  shutDown: 0,
  stopped: 0,
  abandoned: 0,
  leftBehind: 0,
};

describe("the end of a maintenance", () => {
  // prettier-ignore
  test.each<Row>([
    ["comes when every node is empty",                             underWay(["Returned", "Returned", "Evacuated"]), { more: { "nodes node-3": node({ name: "node-3", unschedulable: true }) } }, "Completed Returned,Returned,Evacuated"],
    ["does not come while the last node is evacuated",             underWay(["Returned", "Returned", "Evacuating"]), {},                              "Running Returned,Returned,Evacuating"],
    ["comes at a withdrawal",                                      underWay(["Returned", "Pending", "Pending"], { spec: WITHDRAWN }), {},             "Withdrawn Returned,Skipped,Skipped"],
    ["does not come at a withdrawal while a node is evacuated",    underWay(["Evacuating", "Pending", "Pending"], { spec: WITHDRAWN }), {},           "Running Evacuating,Skipped,Skipped"],
    ["does not come at a withdrawal while a node is claimed",      underWay(["Starting", "Pending", "Pending"], { spec: WITHDRAWN }), NONE,           "Withdrawn Skipped,Skipped,Skipped"],
    ["does not change when it is applied again",                   underWay(["Evacuated", "Skipped", "Skipped"], { status: { phase: "Stopped" }, spec: { maxUnavailable: 3 } }), {}, "Nothing"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));

  test("includes the later outcome of a VM that was still moving", () => {
    const rm = underWay(["Evacuated", "Evacuated", "Evacuated"], { status: { phase: "Completed", message: "m" } });
    const nodeEvacuations = [partOf(rm, "node-1", { phase: "Evacuated", virtualMachines: ONE_MOVED })];
    expect(nextOf(rm, { nodeEvacuations })).toMatchObject({
      phase: "Completed",
      rows: [{ virtualMachines: ONE_MOVED }, {}, {}],
    });
  });
});

const younger = underWay(["Pending", "Pending", "Pending"]);
const bios = { name: "bios", uid: "uid-of-bios" };
const first = { ...bios, createdAt: 0 };

describe("beside other maintenances of the same node, a node", () => {
  // prettier-ignore
  test.each<readonly [what: string, around: Around, waits: string | undefined]>([
    ["waits for an older one whose turn comes later",                        { others: [underWay(["Pending", "Pending", "Pending"], first)] },            "RollingMaintenance bios"],
    ["does not wait for an older one that has not started",                  { others: [rolling(first)] },                                                undefined],
    ["does not wait for an older one that has ended",                        { others: [underWay(["Pending"], { ...first, status: { phase: "Stopped" } })] }, undefined],
    ["does not wait for a younger one whose turn comes later",               { others: [underWay(["Pending"], { ...bios, createdAt: NOW.getTime() })] },  undefined],
    ["waits for a younger one that is evacuating it",                        { others: [underWay(["Evacuating"], { ...bios, createdAt: NOW.getTime() })] }, "RollingMaintenance bios"],
    ["waits for a younger one that has evacuated it, until it is back",      { others: [underWay(["Evacuated"], { ...bios, createdAt: NOW.getTime() })] }, "RollingMaintenance bios"],
    ["does not wait for a younger one when the node is back",                { others: [underWay(["Returned"], { ...bios, createdAt: NOW.getTime() })] }, undefined],
    ["waits for a separate NodeEvacuation",                                  { nodeEvacuations: [started({ ...bios, spec: { nodeName: "node-1" } })] },   "NodeEvacuation bios"],
    ["does not wait for a separate NodeEvacuation before its notBefore",  { nodeEvacuations: [asked({ ...bios, spec: { nodeName: "node-1", schedule: { notBefore: time(60) } } })] }, undefined],
    ["does not wait for a NodeEvacuation of another node",                   { nodeEvacuations: [started({ ...bios, spec: { nodeName: "node-2" } })] },   undefined],
    ["does not wait for one that is evacuating another node",                { others: [underWay(["Returned", "Evacuating"], bios)] },                   undefined],
    ["does not wait for an older one that still awaits another node",        { others: [underWay(["Returned", "Pending"], first)] },                     undefined],
    ["starts if another one that has not started is first in the list",         { more: { rollingmaintenances: [rolling(first), younger] } },               undefined],
  ])("%s", (_, around, waits) => {
    const next = nextOf(younger, around);
    expect(inShort(next)).toBe(`Running ${waits === undefined ? "Starting" : "Pending"},Pending,Pending`);
    expect(next).toMatchObject({ message: expect.stringContaining(waits ?? "starts with node-1") });
  });

  test("one of two maintenances of the same nodes continues", () => {
    const [a, b] = [underWay(["Pending", "Pending"], { uid: "a" }), underWay(["Pending", "Pending"], { uid: "b" })];
    const next = [nextOf(a, { others: [b] }), nextOf(b, { others: [a] })].map(inShort);
    expect(next).toEqual(["Running Starting,Pending", "Running Pending,Pending"]);
  });
});

// prettier-ignore
test.each([
  ["runs",            rolling(),                                             "Evacuate Running"],
  ["is paused",       rolling({ spec: PAUSED }),                             "Evacuate Paused"],
  ["is withdrawn",    rolling({ spec: WITHDRAWN }),                          "Withdrawn Running"],
  ["has ended",       rolling({ status: { phase: "Stopped" } }),             "Withdrawn Running"],
  ["was recreated",   rolling({ uid: "other", spec: WITHDRAWN }),            "Evacuate Running"],
  ["cannot be read",  "kernel: spec.progress: Invalid input",                "Evacuate Paused"],
  ["runs beside one that cannot be read", "kernel-2: spec: Invalid input",   "Evacuate Running"],
] as const)("when a RollingMaintenance %s, the NodeEvacuation of its node becomes $2", (_, rm, expected) => {
  const all = typeof rm === "string" ? { items: [], odd: [rm] } : { items: [rm], odd: [] };
  const { spec } = asPartOf(partOf(rolling(), "node-1", { phase: "Evacuating" }), all);
  expect(`${spec.intent} ${spec.progress}`).toBe(expected);
});

test("the time of a node counts from its turn", () => {
  const rm = underWay(["Starting", "Pending", "Pending"], { spec: { nodeTimeoutSeconds: 900 } });
  expect(nextOf(rm, NONE)).toMatchObject({
    first: [{ verb: "CreateNodeEvacuation", node: "node-1", notAfter: time(300) }],
  });
});

test("every process gives the NodeEvacuation of a node the same name", () => {
  const names = partsOf(underWay(["Evacuating", "Evacuating", "Evacuating"])).map(({ name }) => name);
  expect(new Set(names).size).toBe(NODES.length);
});

test("a node takes over the completion time of its NodeEvacuation, and the first 256 characters of its message", () => {
  const rm = underWay(["Evacuating", "Pending", "Pending"], { spec: CONTINUE });
  const expired = { phase: "Expired", completionTime: time(-9), message: "x".repeat(300) } as const;
  expect(nextOf(rm, { nodeEvacuations: [partOf(rm, "node-1", expired)] })).toMatchObject({
    rows: [{ phase: "Expired", completionTime: time(-9), message: "x".repeat(256) }, { phase: "Starting" }, {}],
  });
});

const completed = underWay(["Evacuated", "Evacuated"], { status: { phase: "Completed" } });
const parts = (virtualMachines?: typeof ONE_MOVED) => [
  partOf(completed, "node-1", { phase: "Evacuated" }),
  partOf(completed, "node-2", { phase: "Evacuated", ...(virtualMachines && { virtualMachines }) }),
];

// prettier-ignore
test.each([
  ["that has not ended",                                underWay(["Evacuating"]),  [],                true],
  ["that has ended",                                    completed,                 parts(),           false],
  ["that has ended, and whose NodeEvacuations were deleted,", completed,                 [],                false],
  ["that has ended, but lacks a VM that moved later,",         completed,                 parts(ONE_MOVED),  true],
])("a RollingMaintenance %s is reconciled: $3", (_, rm, nodeEvacuations, expected) => {
  expect(isRollingOpen(rm, nodeEvacuations)).toBe(expected);
});
