/** Later requests, on a VM that is marked for the node the pod is on, and requests after an evacuation that has ended. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../../shared/policy/eviction/eviction.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "../../../shared/policy/strategy.ts";
import { answerTo, decided, NAMED } from "./evictions.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  marked,
  migration,
  MOBILITY,
  newborn,
  NODE,
  only,
  POD_UID,
  time,
  verbs,
  vmi,
} from "../fixtures.ts";

const IN_PROGRESS = `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`;

type Row = readonly [EvictionStrategy, Mobility, migrating: "migrating" | "idle", expected: string];

// prettier-ignore
const rows: readonly Row[] = [
  // strategy                VMI is        migration    answer
  ["None",                  "migratable", "idle",      "Allow StrategyNone"],
  ["None",                  "migratable", "migrating", "Allow StrategyNone"],
  ["None",                  "pinned",     "idle",      "Allow StrategyNone"],
  ["None",                  "pinned",     "migrating", "Allow StrategyNone"],
  ["LiveMigrate",           "migratable", "idle",      "Deny EvacuationInProgress"],
  ["LiveMigrate",           "migratable", "migrating", "Deny EvacuationInProgress"],
  ["LiveMigrate",           "pinned",     "idle",      "Deny EvacuationInProgress"],
  ["LiveMigrate",           "pinned",     "migrating", "Deny EvacuationInProgress"],
  ["LiveMigrateIfPossible", "migratable", "idle",      "Deny EvacuationInProgress"],
  ["LiveMigrateIfPossible", "migratable", "migrating", "Deny EvacuationInProgress"],
  ["LiveMigrateIfPossible", "pinned",     "idle",      "Allow ShutdownByStrategy"],
  ["LiveMigrateIfPossible", "pinned",     "migrating", "Deny EvacuationInProgress"],
  ["External",              "migratable", "idle",      "Deny EvacuationInProgress"],
  ["External",              "migratable", "migrating", "Deny EvacuationInProgress"],
  ["External",              "pinned",     "idle",      "Deny EvacuationInProgress"],
  ["External",              "pinned",     "migrating", "Deny EvacuationInProgress"],
];

function facts([evictionStrategy, mobility, migrating]: Row): Partial<EvictionFacts> {
  return {
    vmi: marked({ evictionStrategy, liveMigratable: MOBILITY[mobility] }),
    evacuations: [evacuation()],
    migrations: [migration({ phase: migrating === "migrating" ? "Pending" : "Failed" })],
  };
}

describe("later request", () => {
  test.each(rows)("%s, %s, %s: %s", (...row) => expect(answerTo(facts(row))).toBe(row[3]));

  test.each(rows)("%s, %s, %s: marks no second time, begins no second Evacuation", (...row) => {
    const { actions } = decided(facts(row));
    expect([...only("Mark", actions), ...only("CreateEvacuation", actions)]).toEqual([]);
  });

  test("the rows cover every cell of the table", () => {
    const cells = EVICTION_STRATEGIES.flatMap((s) =>
      Object.keys(MOBILITY).flatMap((m) => ["idle", "migrating"].map((r) => `${s}/${m}/${r}`)),
    );
    expect(rows.map(([s, m, r]) => `${s}/${m}/${r}`).toSorted()).toEqual(cells.toSorted());
  });

  test("the refusal is KubeVirt's own, which the descheduler looks for", () => {
    expect(decided({ vmi: marked(), evacuations: [evacuation()] })).toMatchObject({ message: IN_PROGRESS, story: [] });
  });

  test("a strategy that KubeVirt does not know is refused, marked or not", () => {
    expect(answerTo({ vmi: marked({ evictionStrategy: "Odd" }) })).toBe("Deny UnknownStrategy");
  });
});

describe("LiveMigrateIfPossible that can no longer migrate", () => {
  const subject = marked({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned });

  test("its migrations are asked for", () => expect(answerTo({ vmi: subject })).toBe("Ask Migrations"));

  test("without one: unmarked, then shut down as on a first request", () => {
    expect(decided({ vmi: subject, migrations: [] })).toMatchObject({
      reason: "ShutdownByStrategy",
      warnings: [expect.stringContaining("will be shut down")],
      actions: [{ verb: "Unmark", vmi: subject }],
    });
  });
});

describe("KubeVirt's webhook has marked the VM first, for the same request", () => {
  test("an Evacuation tells who asked", () => {
    const { actions } = decided({ vmi: marked() });
    expect(only("CreateEvacuation", actions)).toMatchObject([
      { evacuation: { spec: { requestedBy: "admin", pod: { uid: POD_UID } } } },
    ]);
  });

  test("our own mark has failed its test: the request did trigger the evacuation", () => {
    const lost = { vmi: marked(), evacuations: [newborn()], raced: true };
    expect(answerTo(lost)).toBe("Deny EvacuationTriggered");
    expect(verbs(decided(lost).actions)).toEqual(["EnsureBudget"]);
  });

  test("but if the VM has moved meanwhile, its old pod is a leftover of the migration", () => {
    const moved = marked({ nodeName: "node02", evacuationNodeName: "node02", activePods: { [POD_UID]: NODE } });
    expect(answerTo({ raced: true, vmi: moved })).toBe("Deny MigrationTarget");
  });
});

describe.each(["Abandoned", "Withdrawn"] as const)("after an evacuation that was %s", (phase) => {
  const rested = endedEvacuation(phase, { status: { attempts: 5, nextAttemptTime: time(100.2) } });
  const evacuations = [rested];
  const was = `was ${phase.toLowerCase()}`;

  test("a drain that tries again is told so, how long to wait, and how to keep the VM where it is", () => {
    const message = `the last evacuation of ${NAMED} ${was}; Lifeboat begins no new one for 101 s, KubeVirt's own webhook may: stop the drain to keep the VM where it is`;
    const decision = decided({ evacuations });
    expect(decision).toMatchObject({ verdict: "Deny", reason: "BackingOff", message });
    expect(verbs(decision.actions)).toEqual(["EnsureBudget"]);
  });

  test("KubeVirt has marked the VM again: it moves, the answer says so, and the new one inherits", () => {
    const decision = decided({ vmi: marked(), evacuations });
    const message = `${IN_PROGRESS}; the last one ${was}, and KubeVirt has marked the VM again`;
    expect(decision).toMatchObject({ reason: "EvacuationInProgress", message });
    expect(only("CreateEvacuation", decision.actions)).toMatchObject([
      { evacuation: { spec: { inherited: { attempts: 5, notBefore: time(100.2) } } } },
    ]);
  });

  test("… and that is all that is said once it has its Evacuation", () => {
    const next = newborn({ uid: "next", name: "next" });
    expect(decided({ vmi: marked(), evacuations: [rested, next] })).toMatchObject({ message: IN_PROGRESS });
  });

  // prettier-ignore
  test.each<[string, Partial<EvictionFacts>, string]>([
    ["the moment its back-off ends",          { now: at(100.2) },                                                "Deny EvacuationTriggered"],
    ["just before",                           { now: at(100.1) },                                                "Deny BackingOff"],
    ["another one goes on",                   { evacuations: [rested, newborn({ uid: "next", name: "next" })] }, "Deny EvacuationTriggered"],
    ["the VM has moved since",                { evacuations: [{ ...rested, spec: { ...rested.spec, pod: { uid: "x" } }, status: { ...rested.status, podUID: "x" } }] }, "Deny EvacuationTriggered"],
    ["it would not be moved: strategy None",  { vmi: vmi({ evictionStrategy: "None" }) },                        "Allow StrategyNone"],
    ["it would not be moved: pinned",         { vmi: vmi({ liveMigratable: MOBILITY.pinned }) },                 "Deny NotMigratable"],
    ["it would be shut down",                 { vmi: vmi({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned }) }, "Allow ShutdownByStrategy"],
    ["External, pinned",                      { vmi: vmi({ evictionStrategy: "External", liveMigratable: MOBILITY.pinned }) }, "Deny BackingOff"],
  ])("%s", (_, tweak, expected) => expect(answerTo({ evacuations, ...tweak })).toBe(expected));
});

test("back-off between two attempts of one evacuation is progress like any other", () => {
  const backingOff = evacuation({ status: { phase: "BackingOff", attempts: 2, nextAttemptTime: time(40) } });
  expect(answerTo({ vmi: marked(), evacuations: [backingOff] })).toBe("Deny EvacuationInProgress");
});
