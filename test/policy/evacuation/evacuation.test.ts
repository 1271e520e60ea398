/** What is done for each standing, and which phase the status shows then. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/policy/action.ts";
import { planEvacuations, planBeginnings } from "../../../shared/policy/evacuation/evacuation.ts";
import type { EvacuationWorld } from "../../../shared/policy/evacuation/world.ts";
import type { EvacuationFacts } from "../../../shared/policy/facts.ts";
import {
  at,
  budget,
  evacuation,
  marked,
  migration,
  MOBILITY,
  newborn,
  NODE,
  node,
  only,
  pod,
  settings,
  time,
  verbs,
  vmi,
} from "../fixtures.ts";
import { plannedEvacuations, statusAfter, world } from "../worlds.ts";

function planned(subject: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}): readonly Action[] {
  return plannedEvacuations({ evacuations: [subject], ...tweak });
}

const young = { createdAt: at(-4).getTime() };
const pending = migration({ phase: "Pending" });
const kubevirts = migration({ phase: "Pending", evacuates: NODE });
const failed = migration({ phase: "Failed", failureReason: "no room" });
const quota = { type: "migrationRejectedByResourceQuota", message: "exceeded quota" };
const stuck = { ...pending, blockedBy: quota };
const pinned = { liveMigratable: MOBILITY.pinned };
const label = { evacuationLabel: "urgent" };
const external = marked({ evictionStrategy: "External" });
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const exhausted = evacuation({ status: { ...resting, attempts: 5 } });
const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byTaint = evacuation({ spec: { cause: "NoExecuteTaint" } });
const untainted = { nodes: [node()], pods: [pod()] };
const older = newborn({ name: "by-hand", uid: "older", createdAt: at(-90).getTime(), status: { phase: "Moved" } });
const duplicated = { evacuations: [{ ...older, status: { attempts: 0, conditions: [] } }, evacuation()] };

type Row = readonly [
  what: string,
  EvacuationFacts,
  Partial<EvacuationWorld>,
  done: readonly Action["verb"][],
  phase: string,
];

// prettier-ignore
const rows: readonly Row[] = [
  // what                                  Evacuation              world                                    done, in this order                                    phase and reason
  ["first seen, marked",                   newborn(young),         {},                                      ["WriteStatus"],                                       "Pending Pending"],
  ["first seen, not marked",               newborn(young),         { vmis: [vmi()] },                       ["GrowBudget", "Mark", "WriteStatus"],                 "Pending Pending"],
  ["… where no budgets are made",          newborn(young),         { vmis: [vmi()], settings: settings({ reconcilers: { budget: "Disabled" } }) }, ["Mark", "WriteStatus"], "Pending Pending"],
  ["nothing to do for now",                evacuation(young),      {},                                      [],                                                    "Pending Pending"],
  ["the mark may have been removed",       evacuation(),           { vmis: [vmi()], vmisAreNewer: false },  [],                                                    "Pending Pending"],
  ["KubeVirt's migration waits",           evacuation(),           { migrations: [kubevirts] },             ["AdoptMigration", "WriteStatus", "Event"],            "Migrating Queued"],
  ["… adopted by a function that died",    evacuation(),           { migrations: [{ ...kubevirts, cause: "ApiEviction" }] }, ["WriteStatus"],                      "Migrating Queued"],
  ["… is being deleted",                   evacuation(),           { migrations: [{ ...kubevirts, deleting: true }] }, ["WriteStatus"],                            "Migrating Queued"],
  ["it runs",                              evacuation(),           { migrations: [migration()] },           ["AdoptMigration", "WriteStatus", "Event"],            "Migrating Running"],
  ["it has succeeded, the VMI lags",       evacuation(),           { migrations: [migration({ phase: "Succeeded", cause: "ApiEviction" })] }, ["WriteStatus"],     "Migrating Succeeded"],
  ["an attempt failed",                    evacuation(),           { migrations: [failed] },                ["WriteStatus", "Event"],                              "BackingOff MigrationFailed"],
  ["it cannot begin",                      evacuation(),           { migrations: [stuck] },                 ["DeleteMigration", "WriteStatus", "Event"],           "BackingOff MigrationStuck"],
  ["between two attempts",                 evacuation({ status: { ...resting, nextAttemptTime: time(9) } }), {},                [],                                  "BackingOff MigrationFailed"],
  ["… inherited",                          newborn({ spec: { inherited: { attempts: 5, notBefore: time(9) } } }), {},         ["WriteStatus"],                       "BackingOff MigrationFailed"],
  ["External",                             evacuation(),           { vmis: [external] },                    ["WriteStatus"],                                       "WaitingForOwner External"],
  ["cannot migrate",                       evacuation(),           { vmis: [marked(pinned)] },              ["WriteStatus", "Event"],                              "Blocked DisksNotLiveMigratable"],
  ["KubeVirt's time is over",              evacuation(),           {},                                      ["CreateMigration", "WriteStatus", "Event"],           "Pending Pending"],
  ["… the budget has not grown",           evacuation(),           { budgets: [budget()] },                 ["WriteStatus"],                                       "Pending Pending"],
  ["… no budgets are made",                evacuation(),           { budgets: [], settings: settings({ evictionsCovered: true }) }, ["CreateMigration", "WriteStatus", "Event"], "Pending Pending"],
  ["it has moved",                         evacuation(),           { vmis: [vmi({ nodeName: "node02" })] }, ["WriteStatus", "Count", "Event"],                     "Moved Moved"],
  ["… KubeVirt's mark is left",            evacuation(),           { vmis: [marked({ nodeName: "node02" })] }, ["Unmark", "WriteStatus", "Count", "Event"],        "Moved Moved"],
  ["… our label is left",                  evacuation(),           { vmis: [vmi({ nodeName: "node02", ...label })] }, ["Unmark", "WriteStatus", "Count", "Event"], "Moved Moved"],
  ["… and is marked there: the next one's label", evacuation(),    { vmis: [marked({ nodeName: "node02", evacuationNodeName: "node02", activePods: { x: "node02" }, ...label })] }, ["CreateEvacuation", "Event", "WriteStatus", "Count", "Event"], "Moved Moved"],
  ["cancelled",                            withdrawn,              {},                                      ["Unmark", "WriteStatus", "Count", "Event"],           "Withdrawn IntentWithdrawn"],
  ["… before it was marked",               withdrawn,              { vmis: [vmi()] },                       ["WriteStatus", "Count", "Event"],                     "Withdrawn IntentWithdrawn"],
  ["… a migration waits",                  withdrawn,              { migrations: [kubevirts] },             ["Unmark", "DeleteMigration", "WriteStatus", "Count", "Event"], "Withdrawn IntentWithdrawn"],
  ["… a migration runs",                   withdrawn,              { migrations: [migration({ evacuates: NODE })] }, ["Unmark", "WriteStatus", "Count", "Event"],  "Withdrawn IntentWithdrawn"],
  ["… a person's migration waits",         withdrawn,              { migrations: [pending] },               ["Unmark", "WriteStatus", "Count", "Event"],           "Withdrawn IntentWithdrawn"],
  ["… adopted or not",                     withdrawn,              { migrations: [{ ...pending, cause: "ApiEviction" }] }, ["Unmark", "WriteStatus", "Count", "Event"], "Withdrawn IntentWithdrawn"],
  ["… ours waits",                         withdrawn,              { migrations: [{ ...pending, name: "lifeboat-web-1" }] }, ["Unmark", "DeleteMigration", "WriteStatus", "Count", "Event"], "Withdrawn IntentWithdrawn"],
  ["the mark was removed",                 evacuation(),           { vmis: [vmi()], migrations: [kubevirts] }, ["DeleteMigration", "WriteStatus", "Count", "Event"], "Withdrawn MarkWithdrawn"],
  ["… and the label was not",              evacuation(),           { vmis: [vmi(label)] },                  ["Unmark", "WriteStatus", "Count", "Event"],           "Withdrawn MarkWithdrawn"],
  ["the taint is gone",                    byTaint,                untainted,                               ["Unmark", "WriteStatus", "Count", "Event"],           "Withdrawn TaintWithdrawn"],
  ["given up",                             exhausted,              { migrations: [kubevirts] },             ["Unmark", "DeleteMigration", "WriteStatus", "Count", "Event"], "Abandoned MigrationFailed"],
  ["impossible",                           evacuation(),           { vmis: [marked({ evictionStrategy: "None" })] }, ["Unmark", "WriteStatus", "Count", "Event"],  "Abandoned StrategyNone"],
  ["the VM has ended",                     evacuation(),           { vmis: [marked({ phase: "Failed" })] }, ["WriteStatus", "Count"],                              "Gone VirtualMachineInstanceGone"],
  ["there is no such VM",                  newborn(),              { vmis: [] },                            ["WriteStatus", "Count"],                              "Gone VirtualMachineInstanceGone"],
];

describe("an Evacuation", () => {
  test.each(rows)("%s", (...[, subject, tweak, done, phase]) => {
    expect(verbs(planned(subject, tweak))).toEqual(done);
    const { phase: found, reason } = statusAfter(subject, tweak);
    expect(`${found} ${reason}`).toBe(phase);
  });

  test.each(rows)("%s: nothing is written about it a second time", (...[, subject, tweak]) => {
    const status = statusAfter(subject, tweak);
    const again = only("WriteStatus", planned({ ...subject, status }, tweak)).filter(
      (w) => w.evacuation.name === subject.name,
    );
    const isCounting = status.phase === "BackingOff" && status.attempts > subject.status.attempts;
    if (!isCounting && status.message !== "the VM is being marked for KubeVirt to migrate it")
      expect(again).toEqual([]);
  });

  test("the younger of two about one pod", () => {
    const [, ...actions] = planned(evacuation(), duplicated).filter(
      ({ verb }) => verb === "WriteStatus" || verb === "Count",
    );
    expect(actions).toMatchObject([
      { status: { phase: "Duplicate", message: "Evacuation by-hand of the same pod goes on" } },
      { verb: "Count", outcome: "Duplicate" },
    ]);
  });

  test("switched off: nothing", () => {
    const off = settings({ reconcilers: { evacuation: false } });
    expect(planned(newborn(), { vmis: [vmi()], settings: off })).toEqual([]);
    expect(planBeginnings(world({ settings: off })).chains).toEqual([]);
  });

  test("a migration that was over before anybody saw it is named all the same", () => {
    const quick = migration({ name: "quick", uid: "quick", phase: "Succeeded" });
    const chains = planned(evacuation(), { vmis: [vmi({ nodeName: "node02" })], migrations: [quick] });
    expect(chains.flat()).toContainEqual(
      expect.objectContaining({
        verb: "WriteStatus",
        status: expect.objectContaining({ phase: "Moved", migration: { name: "quick", uid: "quick" } }),
      }),
    );
  });

  test("one that has ended is left alone", () => {
    expect(planned(older, { vmis: [vmi()] })).toEqual([]);
  });

  test("VMs do not wait for each other: a chain each", () => {
    const db = newborn({ name: "db-1", uid: "db", spec: { vmiName: "db", pod: { uid: "db-pod" } } });
    const vmis = [marked(), marked({ name: "db", uid: "db", activePods: { "db-pod": NODE } })];
    const { chains } = planEvacuations(world({ vmis, evacuations: [newborn(), db], budgets: [] }));
    expect(chains.map(verbs)).toEqual([["WriteStatus"], ["WriteStatus"]]);
  });
});
