/** Later requests, on a VM that is marked for the node the pod is on: under both settings of DeschedulerSupport. */
import { describe, expect, test } from "vitest";
import { decideEviction, type EvictionFacts } from "../../shared/policy/eviction.ts";
import type { BudgetFacts, PodFacts } from "../../shared/policy/facts.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "../../shared/policy/strategy.ts";
import { attempt, budget, eviction, marked, migration, MOBILITY, NAMED, POD_UID, pod, settings } from "./fixtures.ts";
import { grownBudget, kubevirtBudget, NODE, record, WITH_GATE, without } from "./fixtures.ts";

const IN_PROGRESS = `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`;

type Row = readonly [EvictionStrategy, Mobility, migrating: "migrating" | "idle", without: string, withGate: string];

// prettier-ignore
const rows: readonly Row[] = [
  // strategy                VMI is        migration    without DeschedulerSupport   with
  ["None",                  "migratable", "idle",      "Allow StrategyNone",        "Allow StrategyNone"],
  ["None",                  "migratable", "migrating", "Allow StrategyNone",        "Allow StrategyNone"],
  ["None",                  "pinned",     "idle",      "Allow StrategyNone",        "Allow StrategyNone"],
  ["None",                  "pinned",     "migrating", "Allow StrategyNone",        "Allow StrategyNone"],
  ["LiveMigrate",           "migratable", "idle",      "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["LiveMigrate",           "migratable", "migrating", "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["LiveMigrate",           "pinned",     "idle",      "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["LiveMigrate",           "pinned",     "migrating", "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["LiveMigrateIfPossible", "migratable", "idle",      "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["LiveMigrateIfPossible", "migratable", "migrating", "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["LiveMigrateIfPossible", "pinned",     "idle",      "Allow ShutdownByStrategy",  "Allow ShutdownByStrategy"],
  ["LiveMigrateIfPossible", "pinned",     "migrating", "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["External",              "migratable", "idle",      "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["External",              "migratable", "migrating", "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["External",              "pinned",     "idle",      "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
  ["External",              "pinned",     "migrating", "Allow ProtectedByBudget",   "Deny EvacuationInProgress"],
];

function facts([evictionStrategy, mobility, migrating]: Row, tweak: Partial<EvictionFacts> = {}): EvictionFacts {
  return eviction({
    vmi: marked({ evictionStrategy, liveMigratable: MOBILITY[mobility] }),
    budgets: [mobility === "migratable" ? grownBudget() : budget()],
    migrations: migrating === "migrating" ? [attempt()] : [attempt({ phase: "Failed" })],
    ...tweak,
  });
}

function inShort(f: EvictionFacts): string {
  const decision = decideEviction(f);
  return decision.verdict === "Ask" ? `Ask ${decision.question}` : `${decision.verdict} ${decision.reason}`;
}

function inProgress(tweak: Partial<EvictionFacts>): string {
  return inShort(facts(["LiveMigrate", "migratable", "idle", "", ""], tweak));
}

describe("later request", () => {
  test.each(rows)("%s, %s, %s: without the gate %s", (...row) => expect(inShort(facts(row))).toBe(row[3]));

  test.each(rows)("%s, %s, %s: (without the gate %s) with it %s", (...row) => {
    expect(inShort(facts(row, { settings: WITH_GATE }))).toBe(row[4]);
  });

  test.each(rows)("%s, %s, %s: marks nobody a second time", (...row) => {
    for (const settings of [WITH_GATE, facts(row).settings]) {
      const decision = decideEviction(facts(row, { settings }));
      expect(decision).not.toMatchObject({ actions: [{ verb: "Mark" }] });
    }
  });

  test("the rows cover every cell of the table", () => {
    const cells = EVICTION_STRATEGIES.flatMap((s) =>
      Object.keys(MOBILITY).flatMap((m) => ["idle", "migrating"].map((r) => `${s}/${m}/${r}`)),
    );
    expect(rows.map(([s, m, r]) => `${s}/${m}/${r}`).toSorted()).toEqual(cells.toSorted());
  });

  test("the refusal contains what the descheduler looks for, with the gate and without a budget", () => {
    for (const tweak of [{ settings: WITH_GATE }, { budgets: [] }]) {
      const row: Row = ["LiveMigrate", "migratable", "idle", "", ""];
      expect(decideEviction(facts(row, tweak))).toMatchObject({ verdict: "Deny", message: IN_PROGRESS });
    }
  });

  test("a strategy that nobody knows is refused, marked or not", () => {
    expect(inShort(eviction({ vmi: marked({ evictionStrategy: "Odd" }) }))).toBe("Deny UnknownStrategy");
  });

  test("under another gate nothing changes", () => {
    const other = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });
    expect(inProgress({ settings: other })).toBe("Allow ProtectedByBudget");
  });
});

function unanswered(tweak: Partial<EvictionFacts> = {}): EvictionFacts {
  return eviction({ vmi: marked(), ...tweak });
}

describe("what is asked for", () => {
  test("budgets, where the answer is left to them", () => expect(inShort(unanswered())).toBe("Ask Budgets"));
  test("nothing, under DeschedulerSupport", () =>
    expect(inShort(unanswered({ settings: WITH_GATE }))).toBe("Deny EvacuationInProgress"));
  test("migrations, where the VM can be shut down unless it migrates", () => {
    const vmi = marked({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned });
    expect(inShort(unanswered({ vmi }))).toBe("Ask Migrations");
    expect(inShort(unanswered({ vmi, migrations: [migration()] }))).toBe("Ask Budgets");
  });
});

describe("LiveMigrateIfPossible that can no longer migrate", () => {
  const vmi = marked({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned });

  const abandoned = { verb: "Unmark", vmi, record: record({ outcome: "Abandoned" }) };
  const earlier = { ...vmi, record: record({ outcome: "Cancelled" }) };
  const unrecorded = without(vmi, "record", "recordText");

  test.each([
    ["it is over", vmi, abandoned],
    ["an earlier one is still to be counted", earlier, { verb: "Unmark", vmi: earlier, record: earlier.record }],
    ["only marked", unrecorded, { verb: "Forget", vmi: unrecorded }],
  ])("without a migration: unmarked, then shut down as on a first request (%s)", (_, subject, action) => {
    expect(decideEviction(eviction({ vmi: subject, migrations: [] }))).toMatchObject({
      verdict: "Allow",
      reason: "ShutdownByStrategy",
      warnings: [expect.stringContaining("will be shut down")],
      actions: [action],
    });
  });

  test.each(["Pending", "Scheduling", "Running", ""])("with a migration that is %j: still in progress", (phase) => {
    const f = eviction({ vmi, migrations: [migration({ phase })], settings: WITH_GATE });
    expect(inShort(f)).toBe("Deny EvacuationInProgress");
  });
});

type BudgetRow = readonly [what: string, budgets: readonly BudgetFacts[], pod: Partial<PodFacts>, protects: boolean];

const own = grownBudget();
const other = budget({ uid: "other", name: "other", managedByUs: false, owners: [] });
const matchNothing = { matchLabels: { app: "other" }, matchExpressions: [] };

// prettier-ignore
const budgetRows: readonly BudgetRow[] = [
  ["one that allows nothing",                       [own],                                               {},                 true],
  ["one at 2 during a migration",                   [grownBudget({ status: { expectedPods: 2, currentHealthy: 2 } })], {}, true],
  ["KubeVirt's own",                                [kubevirtBudget()],                                  {},                 true],
  ["somebody's for everything",                     [grownBudget({ selector: { matchLabels: {}, matchExpressions: [] } })], {}, true],
  ["one, and one that selects other pods",          [own, budget({ selector: matchNothing })],           {},                 true],
  ["none",                                          [],                                                  {},                 false],
  ["one that selects other pods",                   [budget({ selector: matchNothing })],                {},                 false],
  ["one without a selector",                        [without(grownBudget(), "selector")], {}, false],
  ["two",                                           [own, other],                                        {},                 false],
  ["one that allows a disruption",                  [grownBudget({ status: { disruptionsAllowed: 1 } })],     {},                 false],
  ["one whose status lags behind",                  [grownBudget({ generation: 3 })],                         {},                 false],
  ["one that is being deleted",                     [grownBudget({ deleting: true })],                        {},                 false],
  ["one that wants nothing healthy",                [grownBudget({ status: { desiredHealthy: 0 } })],         {},                 false],
  ["at 1: a target may be ready before it is asked", [budget()],                                         {},                 false],
  ["at 1 beside a target that is getting ready",    [budget({ status: { expectedPods: 2 } })],           {},                 false],
  ["one, the pod is pending",                       [own],                                               { phase: "Pending" }, false],
  ["one, the pod is terminating",                   [own],                                               { deleting: true }, false],
  ["one, the pod is unready and the only one",      [grownBudget({ status: { currentHealthy: 0 } })],         { ready: false },   true],
  ["one, the pod is unready, another is healthy",   [grownBudget({ status: { currentHealthy: 2 } })],         { ready: false },   false],
  ["IfHealthyBudget, the pod is unready and alone", [grownBudget({ unhealthyPodEvictionPolicy: "IfHealthyBudget", status: { currentHealthy: 0 } })], { ready: false }, true],
  ["AlwaysAllow, the pod is unready",               [grownBudget({ unhealthyPodEvictionPolicy: "AlwaysAllow", status: { currentHealthy: 0 } })], { ready: false }, false],
  ["AlwaysAllow, the pod is ready",                 [grownBudget({ unhealthyPodEvictionPolicy: "AlwaysAllow" })], {},             true],
];

describe("the allow is given only where a budget is shown to protect the pod", () => {
  test.each(budgetRows)("%s", (_, budgets, tweak, protects) => {
    const expected = protects ? "Allow ProtectedByBudget" : "Deny EvacuationInProgress";
    expect(inProgress({ budgets, pod: pod(tweak) })).toBe(expected);
  });

  test("at 1, of a VM that cannot migrate: there will be no target", () => {
    const stuck = marked({ evictionStrategy: "LiveMigrate", liveMigratable: MOBILITY.pinned });
    expect(inProgress({ vmi: stuck, budgets: [budget()] })).toBe("Allow ProtectedByBudget");
  });

  test("it writes nothing and warns of nothing", () => {
    expect(decideEviction(eviction({ vmi: marked(), budgets: [own] }))).toEqual({
      verdict: "Allow",
      reason: "ProtectedByBudget",
      warnings: [],
      actions: [],
      story: [],
    });
  });
});

describe("a mark that lost the race against the same mark", () => {
  test("counts as set: the request did trigger the evacuation, whatever budgets say", () => {
    for (const budgets of [[], [own]]) {
      expect(inProgress({ raced: true, budgets })).toBe("Deny EvacuationTriggered");
    }
  });

  test("but if the VM has moved meanwhile, its old pod is a leftover of the migration", () => {
    const moved = marked({ nodeName: "node02", evacuationNodeName: "node02", activePods: { [POD_UID]: NODE } });
    expect(inShort(eviction({ raced: true, vmi: moved }))).toBe("Deny MigrationTarget");
  });
});
