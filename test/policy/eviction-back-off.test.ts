/** Requests after an evacuation that ended without a move: refused in words until the back-off has passed. */
import { describe, expect, test } from "vitest";
import { ensureBudget } from "../../shared/policy/budget.ts";
import { decideEviction } from "../../shared/policy/eviction.ts";
import type { Outcome } from "../../shared/policy/record.ts";
import {
  at,
  eviction,
  marked,
  MOBILITY,
  NAMED,
  NOW,
  only,
  record,
  settings,
  time,
  vmi,
  WITH_GATE,
} from "./fixtures.ts";

function ended(outcome: Outcome, seconds: number, node = "node01") {
  const of = record({ node, outcome, attempts: 5, notBefore: time(seconds) });
  return vmi({ record: of, recordText: "{}" });
}

function inShort(...[tweak]: Parameters<typeof eviction>): string {
  const decision = decideEviction(eviction(tweak));
  return decision.verdict === "Ask" ? `Ask ${decision.question}` : `${decision.verdict} ${decision.reason}`;
}

describe.each(["Abandoned", "Cancelled"] as const)("after an evacuation that was %s", (outcome) => {
  test("a drain that tries again is told so, and how long to wait", () => {
    const rested = ended(outcome, 100.2);
    for (const under of [settings(), WITH_GATE]) {
      expect(decideEviction(eviction({ vmi: rested, settings: under }))).toMatchObject({
        verdict: "Deny",
        reason: "BackingOff",
        message: `the last evacuation of ${NAMED} was ${outcome.toLowerCase()}; a new one can start in 101 s`,
        actions: [ensureBudget(rested, 2)],
      });
    }
  });

  test("it is not taken for a triggered one by the descheduler", () => {
    const decision = decideEviction(eviction({ vmi: ended(outcome, 100) }));
    expect(decision).not.toMatchObject({ message: expect.stringContaining("Eviction triggered evacuation") });
  });

  test("a request after the back-off begins a new evacuation", () => {
    const decision = decideEviction(eviction({ vmi: ended(outcome, -1) }));
    const [mark] = decision.verdict === "Ask" ? [] : only("Mark", decision.actions);
    expect(mark?.record).toMatchObject({ attempts: 0, since: time(0) });
    expect(mark?.record.id).not.toBe(record().id);
    expect(mark?.record).not.toHaveProperty("outcome");
    expect(mark?.record).not.toHaveProperty("notBefore");
  });

  test("the moment at which it ends belongs to the new one", () => {
    expect(inShort({ vmi: ended(outcome, 0) })).toBe("Deny EvacuationTriggered");
    expect(inShort({ vmi: ended(outcome, 0), now: at(-0.001) })).toBe("Deny BackingOff");
  });

  test("on another node than that one a request counts at once", () => {
    expect(inShort({ vmi: ended(outcome, 100, "node00") })).toBe("Deny EvacuationTriggered");
  });

  test("a time further away than any back-off is not one of ours", () => {
    expect(inShort({ vmi: ended(outcome, 10 ** 7) })).toBe("Deny EvacuationTriggered");
  });

  test("a request that was under way when the longest back-off began is kept waiting too", () => {
    expect(inShort({ vmi: ended(outcome, 320), now: new Date(NOW.getTime() - 900) })).toBe("Deny BackingOff");
  });

  test("no strategy is kept waiting that would not be moved", () => {
    const { record: resting } = ended(outcome, 100);
    const strategies = (evictionStrategy: string, mobility: "migratable" | "pinned") =>
      inShort({
        vmi: vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility], ...(resting && { record: resting }) }),
      });
    expect(strategies("None", "migratable")).toBe("Allow StrategyNone");
    expect(strategies("LiveMigrate", "pinned")).toBe("Deny NotMigratable");
    expect(strategies("LiveMigrateIfPossible", "pinned")).toBe("Allow ShutdownByStrategy");
    expect(strategies("External", "pinned")).toBe("Deny BackingOff");
  });
});

test("back-off between two attempts of one evacuation is progress like any other", () => {
  const backingOff = marked({}, { attempts: 2, notBefore: time(40) });
  expect(inShort({ vmi: backingOff, settings: WITH_GATE })).toBe("Deny EvacuationInProgress");
});
