/**
 * Tests requests to evict a VM's launcher pod. The tables list the answer by eviction strategy and by whether the VM
 * can migrate, and the Evacuation that a request creates, joins or waits for. A marked VM has an evacuationNodeName.
 */
import { describe, expect, test } from "vitest";
import { doMigrationsDecide, type EvictionFacts } from "../../../shared/eviction/decide.ts";
import { isHeldFast } from "../../../shared/eviction/table.ts";
import { answerTo, decided, NAMED } from "./evictions.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
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
  pod,
  POD_NAME,
  POD_UID,
  settings,
  time,
  vmi,
  without,
  MARK_SEEN,
} from "../../support/fixtures.ts";

const NONE = "Allow StrategyNone";
const TRIGGERED = "Deny EvacuationTriggered: CreateEvacuation, CreateBudget, Event";
const foundMarked = newborn({ spec: { requestedBy: "KubeVirt" } });
const JOINED = "Deny EvacuationTriggered: CreateBudget, Event";
const IN_PROGRESS = "Deny EvacuationInProgress";
const STARTED_BY_KUBEVIRT = "Deny EvacuationInProgress: CreateEvacuation, CreateBudget, Event";
const REFUSED = "Deny NotMigratable: CreateBudget, Event";
const UNKNOWN = "Deny UnknownStrategy: CreateBudget, Event";
const SHUTDOWN = "Allow ShutdownByStrategy: Event";
const RELEASED = "Allow ShutdownByStrategy: Unmark, Event";
const BACKING_OFF = "Deny BackingOff: CreateBudget";

// prettier-ignore
const CELLS: Cells<readonly string[]> = {
  // [first request, marked and without a migration, marked and migrating]
  None:                  { migratable: [NONE, NONE, NONE],                     pinned: [NONE, NONE, NONE]                            },
  LiveMigrate:           { migratable: [TRIGGERED, IN_PROGRESS, IN_PROGRESS], pinned: [REFUSED, IN_PROGRESS, IN_PROGRESS]           },
  LiveMigrateIfPossible: { migratable: [TRIGGERED, IN_PROGRESS, IN_PROGRESS], pinned: [SHUTDOWN, RELEASED, IN_PROGRESS]             },
  External:              { migratable: [TRIGGERED, IN_PROGRESS, IN_PROGRESS], pinned: [TRIGGERED, IN_PROGRESS, IN_PROGRESS] },
};

describe.each(cellsOf(CELLS))("a VM with strategy %s, %s", (evictionStrategy, mobility, [first, idle, migrating]) => {
  const own = { evictionStrategy, liveMigratable: MOBILITY[mobility] };

  test.each<[string, Partial<EvictionFacts>]>([
    ["the VM's own strategy", { vmi: vmi(own) }],
    [
      "only the KubeVirt CR's strategy",
      { vmi: without(vmi(own), "evictionStrategy"), settings: settings({ clusterStrategy: evictionStrategy }) },
    ],
    ["a mark for a former node", { vmi: vmi({ ...own, evacuationNodeName: "node00" }) }],
  ])("gets the answer to a first request, given %s", (_, tweak) => expect(answerTo(tweak)).toBe(first));

  test.each([
    ["Failed", idle],
    ["Pending", migrating],
  ])("is answered by the state of its evacuation when a migration is %s", (phase, expected) => {
    const given = { vmi: marked(own), evacuations: [evacuation()], migrations: [migration({ phase })] };
    expect(answerTo(given)).toBe(expected);
  });
});

// prettier-ignore
const HELD_FAST: Cells<boolean> = {
  None:                  { migratable: false, pinned: false },
  LiveMigrate:           { migratable: false, pinned: true  },
  LiveMigrateIfPossible: { migratable: false, pinned: false },
  External:              { migratable: false, pinned: false },
};

describe("every eviction is refused until the owner changes the VM", () => {
  test.each(cellsOf(HELD_FAST))("with strategy %s, %s: %s", (evictionStrategy, mobility, expected) => {
    expect(isHeldFast(vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] }), settings())).toBe(expected);
  });

  test("with an unknown strategy", () => expect(isHeldFast(vmi({ evictionStrategy: "Odd" }), settings())).toBe(true));
});

const ifPossible = { evictionStrategy: "LiveMigrateIfPossible", ...PINNED };
const sent = migration({ phase: "Synchronizing", decentralized: "Sends" });
const odd = { evictionStrategy: "Odd" };
const noBudgets = settings({ disruptionBudgets: "Never" });

// prettier-ignore
test.each<[string, Partial<EvictionFacts>, expected: string]>([
  ["a VM with an unknown strategy",           { vmi: vmi(odd) },                                         UNKNOWN],
  ["a VM on no node, which cannot be marked",         { vmi: without(vmi({ phase: "Scheduled" }), "nodeName") }, "Deny NotScheduled: CreateBudget"],
  ["a VM on no node, by a pod on no node",               { vmi: without(vmi({ phase: "Scheduled", activePods: {} }), "nodeName"), pod: without(pod(), "nodeName") }, "Deny NotScheduled: CreateBudget"],
  // A pinned VM is not live-migratable, but can still be sent to another namespace or cluster.
  ["a pinned VM that is being sent to another cluster is not shut down",  { vmi: vmi({ ...ifPossible, isMigrating: true }), migrations: [sent] }, "Deny Migrating: CreateBudget"],
  ["a pinned VM that is being sent, by its migration", { vmi: vmi({ ...ifPossible, decentralized: "Sends" }), migrations: [sent] }, "Deny Migrating: CreateBudget"],
  ["a pinned VM whose migration to another cluster has failed",     { vmi: vmi({ ...ifPossible, decentralized: "Sends" }), migrations: [{ ...sent, phase: "Failed" }] }, SHUTDOWN],
  // Lifeboat creates no PodDisruptionBudget if the feature is off.
  ["a pinned VM with budgets switched off",                         { vmi: vmi(PINNED), settings: noBudgets },                 "Deny NotMigratable: Event"],
  ["a VM whose mark was lost joins its Evacuation",                      { evacuations: [newborn()] },                              JOINED],
  ["a VM evacuated by a person joins its Evacuation",                      { evacuations: [{ ...newborn(), spec: without(newborn().spec, "pod") }] }, JOINED],
  ["a VM whose Evacuation was withdrawn",                                   { evacuations: [endedEvacuation("Withdrawn")] },           TRIGGERED],
  // KubeVirt's webhook reviews the same request, and can set the evacuationNodeName first.
  ["a VM that KubeVirt's webhook marked first",                       { vmi: marked() },                                         STARTED_BY_KUBEVIRT],
  ["a VM whose mark another function saw first gets the requester's name", { vmi: marked(), evacuations: [foundMarked] }, STARTED_BY_KUBEVIRT],
])("eviction of %s: $2", (_, tweak, expected) => expect(answerTo(tweak)).toBe(expected));

// prettier-ignore
test.each<[what: string, tweak: Partial<VmiFacts>, decides: boolean]>([
  ["a pinned VM",                             PINNED,                                        false],
  ["a pinned VM that migrates",               { ...PINNED, isMigrating: true },              true],
  ["a pinned VM that is sent away",           { ...PINNED, decentralized: "Sends" },         true],
  ["a pinned VM that is received",            { ...PINNED, decentralized: "Receives" },      false],
  ["a pinned VM with a mark",                 { ...PINNED, evacuationNodeName: "node00" },   true],
  ["a VM that can migrate, with a mark",      { evacuationNodeName: "node00" },              false],
  ["a pinned VM with a mark, being deleted",  { ...PINNED, evacuationNodeName: "node00", deleting: true },           false],
  ["a pinned VM with a mark, ended",          { ...PINNED, evacuationNodeName: "node00", phase: "Failed" },          false],
  ["a pinned VM with a mark and strategy None", { ...PINNED, evacuationNodeName: "node00", evictionStrategy: "None" }, false],
])("the answer depends on the migrations of %s: $2", (_, tweak, decides) => expect(doMigrationsDecide(vmi(tweak))).toBe(decides));

const external = { evictionStrategy: "External" };
const asked = `admin asked to evict pod ${POD_NAME}:`;
const pinnedText = `${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable`;
const shutdownText = `${NAMED} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable`;

// prettier-ignore
test.each<[what: string, tweak: Partial<EvictionFacts>, reason: string, message: string]>([
  ["starts an evacuation",             {},                          "EvacuationTriggered", `${asked} evacuating the VM from node node01`],
  ["marks a VM with strategy External", { vmi: vmi(external) },      "EvacuationTriggered", `${asked} the VM is marked for evacuation from node node01; eviction strategy External: the VM's external controller has to move the VM`],
  ["finds a VM that KubeVirt marked",  { vmi: marked() },           "EvacuationTriggered", `${asked} KubeVirt has marked the VM for evacuation from node node01`],
  ["is refused",                       { vmi: vmi(PINNED) },        "EvictionRefused",     pinnedText],
  ["shuts the VM down",                { vmi: vmi(ifPossible) },    "ShutdownByStrategy",  shutdownText],
])("the Event of an eviction that %s has the reason $2", (_, tweak, reason, message) =>
  expect(decided(tweak).events).toMatchObject([{ verb: "Event", reason, message }]),
);

describe("an eviction", () => {
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

  test("creates Evacuation and budget, each conditional on the observed state", () => {
    const subject = vmi({ evacuationNodeName: "node00" });
    expect(decided({ vmi: subject, request }).actions).toEqual([started, { verb: "CreateBudget", vmi: subject }]);
  });

  test("names its requester in the Evacuation, even if KubeVirt or another function was first", () => {
    expect(decided({ vmi: marked(), request }).actions).toContainEqual(started);
    const { name, spec } = foundMarked;
    const named = { namespace: "apps", name, spec: { ...spec, requestedBy: request.username } };
    const { actions } = decided({ vmi: marked(), evacuations: [foundMarked], request });
    expect(actions).toContainEqual({ verb: "CreateEvacuation", evacuation: named, optional: true });
  });
});

describe.each(["Abandoned", "Withdrawn"] as const)("an eviction after an evacuation that was %s", (phase) => {
  const rested = endedEvacuation(phase, { status: { attempts: 5, nextAttemptTime: time(100.2) } });
  const next = newborn({ uid: "next", name: "next" });
  const left = { ...MARK_SEEN, type: "Released", status: "False" } as const;
  const toBeReleased = { ...rested, status: { ...rested.status, conditions: [left] } };

  // prettier-ignore
  test.each<[string, Partial<EvictionFacts>, string]>([
    ["is answered BackingOff just before the back-off ends",     { now: at(100.1) },                   BACKING_OFF],
    ["starts a new evacuation when the back-off ends",                  { now: at(100.2) },                   TRIGGERED],
    ["joins another active Evacuation",                   { evacuations: [rested, next] },      JOINED],
    ["gets a new Evacuation if KubeVirt has marked the VM again",      { vmi: marked() },                    STARTED_BY_KUBEVIRT],
    ["is in progress if KubeVirt's new mark has an Evacuation",              { vmi: marked(), evacuations: [rested, next] }, IN_PROGRESS],
    ["is answered BackingOff while the old mark is being removed",      { vmi: marked(), evacuations: [toBeReleased] }, BACKING_OFF],
    ["is in progress if another Evacuation is active while the old mark is being removed",             { vmi: marked(), evacuations: [toBeReleased, next] }, IN_PROGRESS],
  ])("%s", (_, tweak, expected) => expect(answerTo({ evacuations: [rested], ...tweak })).toBe(expected));

  test("inherits attempts and back-off if KubeVirt has marked the VM again, and the answer names the new mark", () => {
    const decision = decided({ vmi: marked(), evacuations: [rested] });
    const inherited = { attempts: 5, notBefore: time(100.2) };
    expect(only("CreateEvacuation", decision.actions)).toMatchObject([{ evacuation: { spec: { inherited } } }]);
    const message = `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`;
    const ended = `the last evacuation was ${phase.toLowerCase()}, and KubeVirt has marked the VM for evacuation again`;
    expect(decision).toMatchObject({ message: `${message}; ${ended}` });
    expect(decided({ vmi: marked(), evacuations: [rested, next] })).toMatchObject({ message });
  });
});
