/** An operator cancels an evacuation: whatever began it, whatever came of it so far, also the second time. */
import { describe, expect, test } from "vitest";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { type CancelDecision, decideCancel } from "../../shared/policy/giving-up.ts";
import {
  attempt,
  marked,
  migration,
  NODE,
  NOW,
  only,
  record,
  settings,
  time,
  verbs,
  vmi,
  without,
} from "./fixtures.ts";

interface Given {
  readonly migrations?: readonly MigrationFacts[];
  readonly tainted?: boolean;
}

function cancel(subject: VmiFacts, { migrations = [], tainted = false }: Given = {}): CancelDecision {
  return decideCancel({ vmi: subject, migrations, tainted }, { settings: settings(), now: NOW });
}

function actionsOf(decision: CancelDecision) {
  return decision.verdict === "Cancel" ? decision.actions : [];
}

const pending = attempt({ phase: "Pending" });
const cancelled = vmi({ record: record({ outcome: "Cancelled", notBefore: time(15) }), evacuationLabel: "normal" });

// prettier-ignore
const rows: readonly (readonly [what: string, VmiFacts, Given, verdict: CancelDecision["verdict"], readonly string[]])[] = [
  ["not evacuating",                        vmi(),                                  {},                        "NotEvacuating", []],
  ["on no node",                            without(marked(), "nodeName"),          {},                        "NotEvacuating", []],
  ["moved, mark left over",                 without(marked({ nodeName: "node02" }), "record"), {},             "NotEvacuating", []],
  ["moved, mark and record left over",      marked({ nodeName: "node02" }),         {},                        "NotEvacuating", []],
  ["abandoned",                             vmi({ record: record({ outcome: "Abandoned" }) }), {},             "NotEvacuating", []],
  ["marked",                                marked(),                               {},                        "Cancel",        ["Unmark", "Event"]],
  ["marked, a migration is pending",        marked(),                               { migrations: [pending] }, "Cancel",        ["Unmark", "Event", "DeleteMigration"]],
  ["marked, KubeVirt's is pending",         marked(),                               { migrations: [migration({ phase: "Pending", evacuates: NODE })] }, "Cancel", ["Unmark", "Event", "DeleteMigration"]],
  ["marked, somebody's is pending",         marked(),                               { migrations: [migration({ phase: "Pending" })] }, "Cancel", ["Unmark", "Event"]],
  ["marked, a migration runs",              marked(),                               { migrations: [attempt()] }, "Cancel",      ["Unmark", "Event"]],
  ["in back-off",                           marked({}, { attempts: 2, notBefore: time(9) }), {},               "Cancel",        ["Unmark", "Event"]],
  ["External",                              marked({ evictionStrategy: "External" }), {},                      "Cancel",        ["Unmark", "Event"]],
  ["marked by somebody else",               without(marked(), "record"),            {},                        "Cancel",        ["Unmark", "Event"]],
  ["marked again after it was abandoned",   marked({}, { outcome: "Abandoned" }),   {},                        "Cancel",        ["Unmark", "Event"]],
  ["mark removed by somebody",              vmi({ record: record() }),              {},                        "Cancel",        ["Unmark", "Event"]],
  ["for a taint that is gone",              vmi({ record: record({ cause: "DrainTaint" }) }), {},              "Cancel",        ["Unmark", "Event"]],
  ["the node carries the drain taint",      vmi({ record: record({ cause: "DrainTaint" }) }), { tainted: true }, "DrainTaint",  []],
  ["… though an eviction began it",         marked(),                               { tainted: true },         "DrainTaint",    []],
  ["… but nothing is evacuated",            vmi(),                                  { tainted: true },         "NotEvacuating", []],
  ["cancelled just now",                    cancelled,                              {},                        "NotEvacuating", []],
  ["cancelled halfway",                     cancelled,                              { migrations: [pending] }, "Cancel",        ["DeleteMigration"]],
  ["… now tainted",                         cancelled,                              { migrations: [pending], tainted: true }, "Cancel", ["DeleteMigration"]],
];

describe("cancel", () => {
  test.each(rows)("%s", (...[, subject, given, verdict, expected]) => {
    const decision = cancel(subject, given);
    expect(decision.verdict).toBe(verdict);
    expect(verbs(actionsOf(decision))).toEqual(expected);
  });

  test("starts the back-off, and says so without a Warning", () => {
    const subject = marked({}, { attempts: 3 });
    const actions = actionsOf(cancel(subject));
    const ended = record({ attempts: 3, outcome: "Cancelled", notBefore: time(80) });
    expect(actions[0]).toEqual({ verb: "Unmark", vmi: subject, record: ended });
    expect(only("Event", actions)).toMatchObject([
      { type: "Normal", reason: "EvacuationCancelled", message: expect.stringContaining("node node01") },
    ]);
  });

  test("before any attempt it is the first step of the back-off", () => {
    expect(only("Unmark", actionsOf(cancel(marked())))[0]?.record.notBefore).toBe(time(20));
  });

  test("tells which node carries the taint", () => {
    expect(cancel(marked(), { tainted: true })).toEqual({ verdict: "DrainTaint", node: NODE });
  });

  test("the mark goes first: a pending migration that is deleted before it would be made again", () => {
    expect(actionsOf(cancel(marked(), { migrations: [pending] }))[2]).toEqual({
      verb: "DeleteMigration",
      migration: pending,
    });
  });
});
