/**
 * Tests each rule for the next step of a RollingMaintenance. In the titles, a claimed node is a node with the phase
 * Starting.
 */
import { describe, expect, test } from "vitest";
import { asPartOf, type RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { rollingStatusAfter } from "../../../shared/maintenance/rolling/status.ts";
import { at, node, NOW, time } from "../../support/fixtures.ts";
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

const plain = (time: string) => time.replace(".000", "");
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
    const virtualMachines = {
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
    const nodeEvacuations = [partOf(rm, "node-1", { phase: "Evacuated", virtualMachines })];
    expect(nextOf(rm, { nodeEvacuations })).toMatchObject({ phase: "Completed", rows: [{ virtualMachines }, {}, {}] });
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
