/** The next step of a RollingMaintenance, rule by rule. */
import { describe, expect, test } from "vitest";
import type { RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { rollingStatusAfter } from "../../../shared/maintenance/rolling/status.ts";
import { asPartOf } from "../../../shared/maintenance/rolling/world.ts";
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

describe("it has not started", () => {
  // prettier-ignore
  test.each<Row>([
    ["before its hour",              rolling({ spec: { schedule: { notBefore: time(60) } } }),               {}, "Scheduled"],
    ["paused",                       rolling({ spec: PAUSED }),                                              {}, "Paused"],
    ["withdrawn",                    rolling({ spec: WITHDRAWN }),                                           {}, "Withdrawn"],
    ["after its last hour",          rolling({ spec: { schedule: { notAfter: time(0) } } }),                 {}, "Stopped"],
    ["at its hour",                  rolling({ spec: { schedule: { notBefore: time(0) } } }),                {}, "Running Pending,Pending,Pending"],
    ["by labels",                    rolling({ spec: LABELS }),                                              { more: pool("node-10", "node-9") }, "Running Pending,Pending"],
    ["by labels that no node has",   rolling({ spec: LABELS }),                                              { more: pool() }, "Stopped"],
    ["by labels of too many nodes",  rolling({ spec: LABELS }),                                              { more: pool(...many) }, "Stopped"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));

  test("nodes with labels are in the order of their names, numbers as numbers", () => {
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

describe("which node is next", () => {
  // prettier-ignore
  test.each<Row>([
    ["the first",                                    underWay(["Pending", "Pending", "Pending"]), {},              "Running Starting,Pending,Pending"],
    ["a claimed one gets its NodeEvacuation",        underWay(["Starting", "Pending", "Pending"]), NONE,           "Running CreateNodeEvacuation Starting,Pending,Pending"],
    ["… which exists: it is followed",               underWay(["Starting", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Evacuating" })] }, "Running Evacuating,Pending,Pending"],
    ["while one is emptied, none",                   underWay(["Evacuating", "Pending", "Pending"]), {},           "Running Evacuating,Pending,Pending"],
    ["… but two may be",                             underWay(["Evacuating", "Pending", "Pending"], { spec: { maxUnavailable: 2 } }), {}, "Running Evacuating,Starting,Pending"],
    ["while one is empty and cordoned, none",        EVACUATED, isCordoned,                                        "Running Evacuated,Pending,Pending"],
    ["… and WhenEvacuated, the next",                underWay(["Evacuated", "Pending", "Pending"], { spec: { nextNode: "WhenEvacuated" } }), {}, "Running Evacuated,Starting,Pending"],
    ["when it is back, the next",                    EVACUATED, isReturned,                                        "Running Returned,Starting,Pending"],
    ["uncordoned, but without a virt-handler: none", EVACUATED, {},                                                "Running Evacuated,Pending,Pending"],
    ["… or not Ready",                               EVACUATED, { more: { "nodes node-1": { ...backNode("node-1"), ready: false } } }, "Running Evacuated,Pending,Pending"],
    ["deleted to be installed anew, it is awaited",  evacuatedAt(-3599), isGone,                                   "Running Evacuated,Pending,Pending"],
    ["… for so long",                                evacuatedAt(-3600), isGone,                                   "Stopped Gone,Skipped,Skipped"],
    ["… and registered anew, it is back",            evacuatedAt(-9), isReturned,                                  "Running Returned,Starting,Pending"],
    ["one that does not exist failed",               underWay(["Pending", "Pending", "Pending"]), isGone,          "Running Gone,Pending,Pending"],
    ["deleted while it is emptied, it failed",       underWay(["Gone", "Pending", "Pending"], { spec: CONTINUE }), isGone,  "Running Gone,Starting,Pending"],
    ["uncordoned while it is emptied: none",         underWay(["Paused", "Pending", "Pending"]), isReturned,       "Running Paused,Pending,Pending"],
    ["a node gets its labels meanwhile: it stays out", underWay(["Returned", "Pending"], { spec: LABELS }), {},     "Running Returned,Starting"],
    ["KubeVirt is being rolled out: none",           underWay(["Pending", "Pending", "Pending"]), { more: { kubevirts: [ROLLOUT] } }, "Running Pending,Pending,Pending"],
    ["paused: none",                                 underWay(["Evacuating", "Pending", "Pending"], { spec: { ...PAUSED, maxUnavailable: 2 } }), {}, "Paused Evacuating,Pending,Pending"],
    ["paused: a claimed one gets nothing",           underWay(["Starting", "Pending", "Pending"], { spec: PAUSED }), NONE, "Paused Starting,Pending,Pending"],
    ["after notAfter: none",                         underWay(["Evacuating", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) }, maxUnavailable: 2 } }), {}, "Running Evacuating,Pending,Pending"],
    ["… and it ends with the last that started",     underWay(["Returned", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) } } }), {}, "Stopped Returned,Skipped,Skipped"],
    ["… at once where a node is not back",           underWay(["Evacuated", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) } } }), isCordoned, "Stopped Evacuated,Skipped,Skipped"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));
});

describe("a node fails", () => {
  // prettier-ignore
  test.each<Row>([
    ["Stop",                                   underWay(["Expired", "Pending", "Pending"]), {},                                           "Stopped Expired,Skipped,Skipped"],
    ["… while another one is emptied",         underWay(["Refused", "Evacuating", "Pending"], { spec: { maxUnavailable: 2 } }), {},       "Running Refused,Evacuating,Pending"],
    ["… while another one is claimed",         underWay(["Refused", "Starting", "Pending"], { spec: { maxUnavailable: 2 } }), NONE,       "Running CreateNodeEvacuation Refused,Starting,Pending"],
    ["… the last one",                         underWay(["Returned", "Returned", "Gone"]), {},                                            "Stopped Returned,Returned,Gone"],
    ["Continue",                               underWay(["Expired", "Pending", "Pending"], { spec: CONTINUE }), {},                       "Running Expired,Starting,Pending"],
    ["… the last one",                         underWay(["Returned", "Expired", "Refused"], { spec: CONTINUE }), {},                      "Completed Returned,Expired,Refused"],
    ["a person withdraws one",                 underWay(["Withdrawn", "Pending", "Pending"]), {},                                         "Stopped Withdrawn,Skipped,Skipped"],
    ["its NodeEvacuation was deleted",         underWay(["Evacuating", "Pending", "Pending"], { spec: CONTINUE }), NONE,                  "Running Withdrawn,Starting,Pending"],
    ["a blocked one has not failed yet",       underWay(["Blocked", "Pending", "Pending"]), {},                                           "Blocked Blocked,Pending,Pending"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));
});

describe("it ends", () => {
  // prettier-ignore
  test.each<Row>([
    ["every node is empty",              underWay(["Returned", "Returned", "Evacuated"]), { more: { "nodes node-3": node({ name: "node-3", unschedulable: true }) } }, "Completed Returned,Returned,Evacuated"],
    ["the last one is being emptied",    underWay(["Returned", "Returned", "Evacuating"]), {},                              "Running Returned,Returned,Evacuating"],
    ["withdrawn",                        underWay(["Returned", "Pending", "Pending"], { spec: WITHDRAWN }), {},             "Withdrawn Returned,Skipped,Skipped"],
    ["… while one is emptied",           underWay(["Evacuating", "Pending", "Pending"], { spec: WITHDRAWN }), {},           "Running Evacuating,Skipped,Skipped"],
    ["… while one is claimed",           underWay(["Starting", "Pending", "Pending"], { spec: WITHDRAWN }), NONE,           "Withdrawn Skipped,Skipped,Skipped"],
    ["an ended one is applied again",    underWay(["Evacuated", "Skipped", "Skipped"], { status: { phase: "Stopped" }, spec: { maxUnavailable: 3 } }), {}, "Nothing"],
  ])("%s", (_, rm, around, expected) => expect(inShort(nextOf(rm, around))).toBe(expected));

  test("what becomes of a VM that was still on its way is added", () => {
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

describe("others that name the same node", () => {
  // prettier-ignore
  test.each<readonly [what: string, around: Around, waits: string | undefined]>([
    ["an older one whose turn is to come",         { others: [underWay(["Pending", "Pending", "Pending"], first)] },            "RollingMaintenance bios"],
    ["… that has not started",                     { others: [rolling(first)] },                                                undefined],
    ["… that has ended",                           { others: [underWay(["Pending"], { ...first, status: { phase: "Stopped" } })] }, undefined],
    ["a younger one whose turn is to come",        { others: [underWay(["Pending"], { ...bios, createdAt: NOW.getTime() })] },  undefined],
    ["a younger one that is emptying it",          { others: [underWay(["Evacuating"], { ...bios, createdAt: NOW.getTime() })] }, "RollingMaintenance bios"],
    ["… that has emptied it, and it is not back",  { others: [underWay(["Evacuated"], { ...bios, createdAt: NOW.getTime() })] }, "RollingMaintenance bios"],
    ["… and it is back",                           { others: [underWay(["Returned"], { ...bios, createdAt: NOW.getTime() })] }, undefined],
    ["a NodeEvacuation of its own",                { nodeEvacuations: [started({ ...bios, spec: { nodeName: "node-1" } })] },   "NodeEvacuation bios"],
    ["… whose hour has not come",                  { nodeEvacuations: [asked({ ...bios, spec: { nodeName: "node-1", schedule: { notBefore: time(60) } } })] }, undefined],
    ["… of another node",                          { nodeEvacuations: [started({ ...bios, spec: { nodeName: "node-2" } })] },   undefined],
  ])("%s", (_, around, waits) => {
    const next = nextOf(younger, around);
    expect(inShort(next)).toBe(`Running ${waits === undefined ? "Starting" : "Pending"},Pending,Pending`);
    expect(next).toMatchObject({ message: expect.stringContaining(waits ?? "starts with node-1") });
  });

  test("of two that name the same nodes, one of them goes on", () => {
    const [a, b] = [underWay(["Pending", "Pending"], { uid: "a" }), underWay(["Pending", "Pending"], { uid: "b" })];
    const next = [nextOf(a, { others: [b] }), nextOf(b, { others: [a] })].map(inShort);
    expect(next).toEqual(["Running Starting,Pending", "Running Pending,Pending"]);
  });
});

describe("what it says", () => {
  // prettier-ignore
  test.each<readonly [what: string, rm: RollingMaintenanceFacts, around: Around, expected: string]>([
    ["before its hour",         rolling({ spec: { schedule: { notBefore: time(60) } } }),  {}, `starts at ${plain(time(60))}`],
    ["a node is emptied",       underWay(["Evacuating", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Evacuating", message: "3 of 9 VMs are left" })] }, "waits for node-1: 3 of 9 VMs are left"],
    ["a person uncordons early", underWay(["Paused", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Paused", message: "another party has uncordoned the node" })] }, "waits for node-1: another party has uncordoned the node"],
    ["a node is not back",      EVACUATED, isCordoned, "waits until node-1 is schedulable and Ready again: kubectl uncordon node-1 when its maintenance is done"],
    ["a node is blocked",       underWay(["Blocked", "Pending", "Pending"]), { nodeEvacuations: [partOf(rolling(), "node-1", { phase: "Blocked", message: "1 cannot leave" })] }, "node-1 is Blocked: 1 cannot leave"],
    ["a node failed",           underWay(["Expired", "Pending", "Pending"]), { nodeEvacuations: [] }, "node-1 is Expired; spec.whenNodeFails is Stop: nodes that did not start: 2"],
    ["its hours are over",      underWay(["Returned", "Pending", "Pending"], { spec: { schedule: { notAfter: time(0) } } }), {}, `nodes that had not started at ${plain(time(0))} (spec.schedule.notAfter): 2; nodes evacuated: 1 of 3`],
    ["with failures it ends",   underWay(["Returned", "Expired", "Returned"], { spec: CONTINUE }), {}, "nodes evacuated: 2 of 3, failed: 1; node-2 is Expired"],
  ])("when %s", (_, rm, around, expected) => expect(nextOf(rm, around)).toMatchObject({ message: expect.stringContaining(expected.trimEnd()) }));
});

const statusAt = (rm: RollingMaintenanceFacts, seconds: number) => {
  const next = nextOf(rm, { now: at(seconds) });
  return next === "Nothing" ? undefined : rollingStatusAfter(rm, next, at(seconds));
};

describe("the status", () => {
  test("counts nodes, and says the same once", () => {
    const rm = underWay(["Returned", "Evacuating", "Pending"]);
    const status = statusAt(rm, 0);
    expect(status?.nodeCounts).toEqual({ total: 3, pending: 1, active: 1, evacuated: 1, failed: 0 });
    expect(statusAt({ ...rm, status: status ?? rm.status }, 30)).toBeUndefined();
  });

  test("estimates the end by what nodes took until they were back, and says how many will not start in time", () => {
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
      "1 of them will not start",
    );
  });

  test("has a time of its end, and no estimate any more", () => {
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
  ["runs",             rolling(),                                             "Evacuate Running"],
  ["is paused",        rolling({ spec: PAUSED }),                             "Evacuate Paused"],
  ["is withdrawn",     rolling({ spec: WITHDRAWN }),                          "Withdrawn Running"],
  ["has ended",        rolling({ status: { phase: "Stopped" } }),             "Withdrawn Running"],
  ["is another one",   rolling({ uid: "other", spec: WITHDRAWN }),            "Evacuate Running"],
] as const)("where the whole %s, the NodeEvacuation of a node is: %s", (_, rm, expected) => {
  const { spec } = asPartOf(partOf(rolling(), "node-1", { phase: "Evacuating" }), [rm]);
  expect(`${spec.intent} ${spec.progress}`).toBe(expected);
});

test("a node has its time from when its turn came", () => {
  const rm = underWay(["Starting", "Pending", "Pending"], { spec: { nodeTimeoutSeconds: 900 } });
  expect(nextOf(rm, NONE)).toMatchObject({
    first: [{ verb: "CreateNodeEvacuation", node: "node-1", notAfter: time(300) }],
  });
});

test("every process gives the NodeEvacuation of a node the same name", () => {
  const names = partsOf(underWay(["Evacuating", "Evacuating", "Evacuating"])).map(({ name }) => name);
  expect(new Set(names).size).toBe(NODES.length);
});
