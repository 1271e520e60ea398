/** Where an evacuation stands: a table of facts and the stage they mean. */
import { describe, expect, test } from "vitest";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import type { Settings } from "../../shared/policy/settings.ts";
import { isToMigrate, type Stage, type StageFacts, stageOf } from "../../shared/policy/stage.ts";
import { attempt, marked, migration, MOBILITY, NODE, NOW, record, settings, time, vmi, without } from "./fixtures.ts";

const JUST_BEGUN = { since: time(-4) } as const;

interface Situation {
  readonly vmi: VmiFacts;
  readonly migrations?: readonly MigrationFacts[];
  readonly tainted?: boolean;
  readonly untainted?: boolean;
  readonly adoptSeconds?: number;
  readonly marking?: Settings["marking"];
}

function stage({ vmi: subject, migrations = [], adoptSeconds = 0, marking = "Auto", ...taints }: Situation): Stage {
  const facts: StageFacts = {
    migrations,
    tainted: new Set(taints.tainted ? [NODE] : []),
    untainted: new Set(taints.untainted ? [subject.uid] : []),
    settings: settings({ evacuation: { adoptSeconds }, marking }),
    now: NOW,
  };
  return stageOf(subject, facts);
}

function unmarked(tweak: Partial<EvacuationRecord>, more: Partial<VmiFacts> = {}): VmiFacts {
  return vmi({ record: record(tweak), recordText: "{}", evacuationLabel: "normal", ...more });
}

const failed = attempt({ phase: "Failed" });
const succeeded = attempt({ phase: "Succeeded" });
const byTaint = { cause: "DrainTaint" } as const;
const abandoned = { outcome: "Abandoned", notBefore: time(100) } as const;
const moved = { nodeName: "node02", activePods: {} };
const ifPossible = { evictionStrategy: "LiveMigrateIfPossible" };

// prettier-ignore
const rows: readonly (readonly [what: string, Situation, Stage["stage"]])[] = [
  ["nothing",                                   { vmi: vmi() },                                                        "Idle"],
  ["a migration by somebody, not marked",       { vmi: vmi(), migrations: [migration()] },                             "Idle"],
  ["marked, being deleted",                     { vmi: marked({ deleting: true }) },                                   "Idle"],
  ["marked, final",                             { vmi: marked({ phase: "Failed" }) },                                  "Idle"],
  ["marked, on no node",                        { vmi: without(marked(), "nodeName") },                                "Idle"],
  ["marked, strategy None",                     { vmi: marked({ evictionStrategy: "None" }) },                         "Idle"],
  ["marked, no strategy at all",                { vmi: without(marked(), "evictionStrategy") },                        "Idle"],
  ["marked, a strategy that nobody knows",      { vmi: marked({ evictionStrategy: "Odd" }) },                          "Idle"],
  ["resting, label gone",                       { vmi: without(unmarked(abandoned), "evacuationLabel") },              "Idle"],
  ["moved, mark left over",                     { vmi: marked(moved) },                                                "Leftover"],
  ["moved, record left over",                   { vmi: unmarked({}, moved) },                                          "Leftover"],
  ["moved, record of one that was abandoned",   { vmi: unmarked(abandoned, moved) },                                   "Leftover"],
  ["moved, mark without a record left over",    { vmi: without(marked(moved), "record") },                             "Leftover"],
  ["moved to a node that is tainted",           { vmi: unmarked({ node: "node00" }), tainted: true },                  "Leftover"],
  ["ended, label still there",                  { vmi: unmarked(abandoned) },                                          "Leftover"],
  ["ended, back-off passed",                    { vmi: unmarked({ outcome: "Cancelled", notBefore: time(-1) }) },      "Leftover"],
  ["label only",                                { vmi: vmi({ evacuationLabel: "normal" }) },                           "Leftover"],
  ["for a taint that is gone",                  { vmi: unmarked(byTaint) },                                            "Withdrawn"],
  ["for the taint, no longer migratable",       { vmi: unmarked(byTaint, { liveMigratable: MOBILITY.pinned }), tainted: true }, "Withdrawn"],
  ["… withdrawn, label still there",            { vmi: unmarked({ ...byTaint, outcome: "Withdrawn" }) },               "Leftover"],
  ["… withdrawn, and the taint is back",        { vmi: unmarked({ ...byTaint, outcome: "Withdrawn" }), tainted: true }, "Unrecorded"],
  ["marked by somebody else",                   { vmi: without(marked(), "record") },                                  "Unrecorded"],
  ["… while the last one rests",                { vmi: marked({}, abandoned) },                                        "Unrecorded"],
  ["… after moving, old record left over",      { vmi: marked({}, { node: "node00" }) },                               "Unrecorded"],
  ["… strategy External",                       { vmi: without(marked({ evictionStrategy: "External" }), "record") },  "Unrecorded"],
  ["… pinned",                                  { vmi: without(marked({ liveMigratable: MOBILITY.pinned }), "record") }, "Unrecorded"],
  ["tainted node",                              { vmi: vmi(), tainted: true },                                         "Unrecorded"],
  ["tainted node, IfPossible",                  { vmi: vmi(ifPossible), tainted: true },                               "Unrecorded"],
  ["tainted node, pinned",                      { vmi: vmi({ liveMigratable: MOBILITY.pinned }), tainted: true },      "Idle"],
  ["tainted node, External",                    { vmi: vmi({ evictionStrategy: "External" }), tainted: true },         "Idle"],
  ["tainted node, None",                        { vmi: vmi({ evictionStrategy: "None" }), tainted: true },             "Idle"],
  ["tainted node, the last one rests",          { vmi: unmarked({ ...byTaint, ...abandoned }), tainted: true },        "Waiting"],
  ["tainted node, the last one has rested",     { vmi: unmarked({ ...byTaint, outcome: "Abandoned", notBefore: time(-1) }), tainted: true }, "Unrecorded"],
  ["for a NoExecute taint that is gone",        { vmi: marked({}, { cause: "NoExecuteTaint" }), untainted: true },     "Withdrawn"],
  ["… while a migration runs",                  { vmi: marked({}, { cause: "NoExecuteTaint" }), untainted: true, migrations: [attempt()] }, "Withdrawn"],
  ["… External",                                { vmi: marked({ evictionStrategy: "External" }, { cause: "NoExecuteTaint" }), untainted: true }, "Withdrawn"],
  ["… but drained since",                       { vmi: marked(), untainted: true },                                    "Ready"],
  ["mark removed by somebody",                  { vmi: unmarked({}) },                                                 "Withdrawn"],
  ["… while a migration runs",                  { vmi: unmarked({}), migrations: [attempt()] },                        "Withdrawn"],
  ["… or KubeVirt's webhook is still to set it", { vmi: unmarked(JUST_BEGUN) },                                        "Waiting"],
  ["… as it always does",                       { vmi: unmarked(JUST_BEGUN), marking: "Evict" },                       "Waiting"],
  ["… or never does",                           { vmi: unmarked(JUST_BEGUN), marking: "Impersonate" },                 "Withdrawn"],
  ["for a taint that was there just now",       { vmi: unmarked({ ...byTaint, ...JUST_BEGUN }) },                      "Withdrawn"],
  ["… on a tainted node: still to go",          { vmi: unmarked({}), tainted: true },                                  "Ready"],
  ["External",                                  { vmi: marked({ evictionStrategy: "External" }) },                     "External"],
  ["External, somebody migrates it",            { vmi: marked({ evictionStrategy: "External" }), migrations: [migration()] }, "Migrating"],
  ["pinned",                                    { vmi: marked({ liveMigratable: MOBILITY.pinned }) },                  "Pinned"],
  ["pinned, IfPossible",                        { vmi: marked({ ...ifPossible, liveMigratable: MOBILITY.pinned }) },   "Pinned"],
  ["pinned while migrating",                    { vmi: marked({ liveMigratable: MOBILITY.pinned }), migrations: [attempt()] }, "Migrating"],
  ["attempt failed",                            { vmi: marked(), migrations: [failed] },                               "AttemptFailed"],
  ["… counted already, back-off",               { vmi: marked({}, { attempts: 1, notBefore: time(20) }), migrations: [failed] }, "Waiting"],
  ["… counted already, back-off passed",        { vmi: marked({}, { attempts: 1, notBefore: time(-1) }), migrations: [failed] }, "Ready"],
  ["… and another runs: first things first",    { vmi: marked(), migrations: [migration(), failed] },                  "AttemptFailed"],
  ["an attempt of another evacuation failed",   { vmi: marked(), migrations: [attempt({ phase: "Failed", evacuationId: "0000000b" })] }, "Ready"],
  ["somebody's migration failed",               { vmi: marked(), migrations: [migration({ phase: "Failed" })] },       "Ready"],
  ["attempt runs",                              { vmi: marked(), migrations: [attempt()] },                            "Migrating"],
  ["… only just made",                          { vmi: marked(), migrations: [attempt({ phase: "" })] },               "Migrating"],
  ["… being deleted",                           { vmi: marked(), migrations: [attempt({ deleting: true })] },          "Migrating"],
  ["somebody's migration runs",                 { vmi: marked(), migrations: [migration()] },                          "Migrating"],
  ["… though ours is in back-off",              { vmi: marked({}, { notBefore: time(20) }), migrations: [migration()] }, "Migrating"],
  ["attempt succeeded, the VMI lags behind",    { vmi: marked(), migrations: [succeeded] },                            "Settling"],
  ["marked",                                    { vmi: marked() },                                                     "Ready"],
  ["marked, IfPossible",                        { vmi: marked(ifPossible) },                                           "Ready"],
  ["marked, back-off kept from before",         { vmi: marked({}, { notBefore: time(20) }) },                          "Waiting"],
  ["recorded for the taint",                    { vmi: unmarked(byTaint), tainted: true },                             "Ready"],
  ["just marked",                         { vmi: marked({}, { since: time(-1) }), adoptSeconds: 5 },                "Waiting"],
  ["KubeVirt had its time",               { vmi: marked({}, { since: time(-5) }), adoptSeconds: 5 },                "Ready"],
  ["after a failed attempt",              { vmi: marked({}, { since: time(-1), attempts: 1 }), adoptSeconds: 5 },   "Ready"],
  ["just marked, nothing to wait for",                         { vmi: marked({}, { since: time(-1) }) },                              "Ready"],
  ["marked by a clock a little ahead",    { vmi: marked({}, { since: time(2) }), adoptSeconds: 5 },                 "Waiting"],
  ["tampered, marked in a hundred years", { vmi: marked({}, { since: time(3e9) }), adoptSeconds: 5 },               "Ready"],
];

describe("stage", () => {
  test.each(rows)("%s", (_, situation, expected) => expect(stage(situation).stage).toBe(expected));

  test("the rows show every stage", () => {
    const all: Record<Stage["stage"], true> = {
      Idle: true,
      Leftover: true,
      Unrecorded: true,
      Withdrawn: true,
      External: true,
      Pinned: true,
      AttemptFailed: true,
      Migrating: true,
      Settling: true,
      Waiting: true,
      Ready: true,
    };
    expect([...new Set(rows.map(([, , expected]) => expected))].toSorted()).toEqual(Object.keys(all).toSorted());
  });

  test.each([
    ["the back-off", marked({}, { attempts: 1, notBefore: time(12) }), 12],
    ["KubeVirt's time", marked({}, { since: time(-1) }), 4],
    ["the longer of the two", marked({}, { since: time(-1), notBefore: time(2) }), 4],
    ["the longer of the two", marked({}, { since: time(-1), notBefore: time(40) }), 40],
  ])("waits for %s", (_, subject, seconds) => {
    expect(stage({ vmi: subject, adoptSeconds: 5 })).toEqual({ stage: "Waiting", seconds, record: subject.record });
  });

  test("the KubeVirt CR's strategy counts", () => {
    const facts = {
      migrations: [],
      tainted: new Set<string>(),
      untainted: new Set<string>(),
      settings: settings({ clusterStrategy: "LiveMigrate" }),
    };
    expect(stageOf(without(marked(), "evictionStrategy"), { ...facts, now: NOW }).stage).toBe("Ready");
  });
});

describe("to migrate", () => {
  test.each([
    ["marked", marked(), false, true],
    ["on a tainted node", vmi(), true, true],
    ["neither", vmi(), false, false],
    ["marked for another node", marked({ nodeName: "node02" }), false, false],
    ["pinned", marked({ liveMigratable: MOBILITY.pinned }), true, false],
    ["External", marked({ evictionStrategy: "External" }), true, false],
    ["None", marked({ evictionStrategy: "None" }), true, false],
    ["deleting", marked({ deleting: true }), true, false],
    ["final", marked({ phase: "Succeeded" }), true, false],
    ["nowhere", without(marked(), "nodeName"), true, false],
  ] as const)("%s", (_, subject, tainted, expected) => {
    expect(isToMigrate(subject, new Set(tainted ? [NODE] : []), settings())).toBe(expected);
  });
});
