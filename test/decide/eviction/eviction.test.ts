/** Requests to evict a VM's launcher pod: strategy × migratable, cell by cell; the Evacuation that one begins, joins or waits for. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../../shared/eviction/decide.ts";
import { answerTo, decided, NAMED } from "./evictions.ts";
import { type Cells, cellsOf } from "../cells.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  marked,
  migration,
  MOBILITY,
  newborn,
  only,
  PINNED,
  POD_NAME,
  POD_UID,
  settings,
  time,
  vmi,
  without,
  MARK_SEEN,
} from "../../support/fixtures.ts";

const NONE = "Allow StrategyNone";
const TRIGGERED = "Deny EvacuationTriggered: CreateEvacuation, CreateBudget, tell";
const foundMarked = newborn({ spec: { requestedBy: "KubeVirt" } });
const JOINED = "Deny EvacuationTriggered: CreateBudget, tell";
const IN_PROGRESS = "Deny EvacuationInProgress";
const STARTED_BY_KUBEVIRT = "Deny EvacuationInProgress: CreateEvacuation, CreateBudget, tell";
const REFUSED = "Deny NotMigratable: CreateBudget, tell";
const UNKNOWN = "Deny UnknownStrategy: CreateBudget, tell";
const SHUTDOWN = "Allow ShutdownByStrategy: tell";
const RELEASED = "Allow ShutdownByStrategy: Unmark, tell";
const BACKING_OFF = "Deny BackingOff: CreateBudget";

// prettier-ignore
const CELLS: Cells<readonly string[]> = {
  // [first request, marked and idle, marked and migrating]
  None:                  { migratable: [NONE, NONE, NONE],                     pinned: [NONE, NONE, NONE]                            },
  LiveMigrate:           { migratable: [TRIGGERED, IN_PROGRESS, IN_PROGRESS], pinned: [REFUSED, IN_PROGRESS, IN_PROGRESS]           },
  LiveMigrateIfPossible: { migratable: [TRIGGERED, IN_PROGRESS, IN_PROGRESS], pinned: [SHUTDOWN, RELEASED, IN_PROGRESS]             },
  External:              { migratable: [TRIGGERED, IN_PROGRESS, IN_PROGRESS], pinned: [TRIGGERED, IN_PROGRESS, IN_PROGRESS] },
};

describe.each(cellsOf(CELLS))("%s, %s", (evictionStrategy, mobility, [first, idle, migrating]) => {
  const own = { evictionStrategy, liveMigratable: MOBILITY[mobility] };

  test.each<[string, Partial<EvictionFacts>]>([
    ["the VM's own strategy", { vmi: vmi(own) }],
    [
      "the KubeVirt CR's, and the VM has none",
      { vmi: without(vmi(own), "evictionStrategy"), settings: settings({ clusterStrategy: evictionStrategy }) },
    ],
    ["marked for a node that it has left", { vmi: vmi({ ...own, evacuationNodeName: "node00" }) }],
  ])("first request: %s", (_, tweak) => expect(answerTo(tweak)).toBe(first));

  test.each([
    ["Failed", idle],
    ["Pending", migrating],
  ])("later requests, a migration is %s", (phase, expected) => {
    const given = { vmi: marked(own), evacuations: [evacuation()], migrations: [migration({ phase })] };
    expect(answerTo(given)).toBe(expected);
  });
});

const ifPossible = { evictionStrategy: "LiveMigrateIfPossible", ...PINNED };
const sent = migration({ phase: "Synchronizing", decentralized: "Sends" });
const odd = { evictionStrategy: "Odd" };
const noBudgets = settings({ disruptionBudgets: "Never" });

// prettier-ignore
test.each<[string, Partial<EvictionFacts>, expected: string]>([
  ["a strategy that KubeVirt does not know",           { vmi: vmi(odd) },                                         UNKNOWN],
  ["on no node yet: there is nothing to mark",         { vmi: without(vmi({ phase: "Scheduled" }), "nodeName") }, "Deny NotScheduled: CreateBudget"],
  // It is sent to another namespace or cluster, which a pinned one can be
  ["pinned and being sent: not shut down on its way",  { vmi: vmi({ ...ifPossible, isMigrating: true }), migrations: [sent] }, "Deny Migrating: CreateBudget"],
  ["… given up: nothing takes it back on the VMI",     { vmi: vmi({ ...ifPossible, decentralized: "Sends" }), migrations: [{ ...sent, phase: "Failed" }] }, SHUTDOWN],
  // No budget where none are made
  ["budgets are switched off",                         { vmi: vmi(PINNED), settings: noBudgets },                 "Deny NotMigratable: tell"],
  // An Evacuation is there
  ["whose mark was lost: joined",                      { evacuations: [newborn()] },                              JOINED],
  ["that a person named: joined",                      { evacuations: [{ ...newborn(), spec: without(newborn().spec, "pod") }] }, JOINED],
  ["that has ended",                                   { evacuations: [endedEvacuation("Withdrawn")] },           TRIGGERED],
  // KubeVirt's webhook reviews the same request
  ["it has marked the VM first",                       { vmi: marked() },                                         STARTED_BY_KUBEVIRT],
  ["… another function has seen that mark first: the Evacuation gets the user", { vmi: marked(), evacuations: [foundMarked] }, STARTED_BY_KUBEVIRT],
])("%s", (_, tweak, expected) => expect(answerTo(tweak)).toBe(expected));

describe("an evacuation begins", () => {
  const request = { username: "system:serviceaccount:kube-system:descheduler", cause: "Descheduler" } as const;
  const spec = {
    vmiName: "web",
    cause: request.cause,
    requestedBy: request.username,
    intent: "Evacuate",
    pod: { name: POD_NAME, uid: POD_UID },
  };
  const evacuation = { namespace: "apps", name: newborn().name, spec };
  const started = { verb: "CreateEvacuation", evacuation, optional: true };

  test("with its Evacuation and its budget, each conditional on what was observed", () => {
    const subject = vmi({ evacuationNodeName: "node00" });
    expect(decided({ vmi: subject, request }).actions).toEqual([started, { verb: "CreateBudget", vmi: subject }]);
  });

  test("… where KubeVirt has marked the VM: the Evacuation tells who asked, whichever function begins it", () => {
    expect(decided({ vmi: marked(), request }).actions).toContainEqual(started);
    const { name, spec } = foundMarked;
    const named = { namespace: "apps", name, spec: { ...spec, requestedBy: request.username } };
    const { actions } = decided({ vmi: marked(), evacuations: [foundMarked], request });
    expect(actions).toContainEqual({ verb: "CreateEvacuation", evacuation: named, optional: true });
  });
});

describe.each(["Abandoned", "Withdrawn"] as const)("after an evacuation that was %s", (phase) => {
  const rested = endedEvacuation(phase, { status: { attempts: 5, nextAttemptTime: time(100.2) } });
  const next = newborn({ uid: "next", name: "next" });
  const left = { ...MARK_SEEN, type: "Released", status: "False" } as const;
  const toBeReleased = { ...rested, status: { ...rested.status, conditions: [left] } };

  // prettier-ignore
  test.each<[string, Partial<EvictionFacts>, string]>([
    ["a drain tries again just before the back-off ends",     { now: at(100.1) },                   BACKING_OFF],
    ["… the moment it ends",                  { now: at(100.2) },                   TRIGGERED],
    ["another one goes on",                   { evacuations: [rested, next] },      JOINED],
    ["KubeVirt has marked the VM again",      { vmi: marked() },                    STARTED_BY_KUBEVIRT],
    ["… and has its Evacuation",              { vmi: marked(), evacuations: [rested, next] }, IN_PROGRESS],
    ["its own mark is to be taken back",      { vmi: marked(), evacuations: [toBeReleased] }, BACKING_OFF],
    ["… but another one goes on",             { vmi: marked(), evacuations: [toBeReleased, next] }, IN_PROGRESS],
  ])("%s", (_, tweak, expected) => expect(answerTo({ evacuations: [rested], ...tweak })).toBe(expected));

  test("the one that KubeVirt's mark begins inherits, and the caller is told", () => {
    const decision = decided({ vmi: marked(), evacuations: [rested] });
    const inherited = { attempts: 5, notBefore: time(100.2) };
    expect(only("CreateEvacuation", decision.actions)).toMatchObject([{ evacuation: { spec: { inherited } } }]);
    const message = `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`;
    const ended = `the last one was ${phase.toLowerCase()}, and KubeVirt has marked the VM again`;
    expect(decision).toMatchObject({ message: `${message}; ${ended}` });
    expect(decided({ vmi: marked(), evacuations: [rested, next] })).toMatchObject({ message });
  });
});
