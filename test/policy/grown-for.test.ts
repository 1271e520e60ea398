/** A budget that was grown for a mark stays grown until that mark has been seen, or can come no more. */
import { describe, expect, test } from "vitest";
import type { BudgetFacts, VmiFacts } from "../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import { grownForLabel, isMarkOnItsWay } from "../../shared/policy/grown-for.ts";
import { at, grownBudget, marked, NOW, record, vmi } from "./fixtures.ts";
import { plannedBudgets } from "./worlds.ts";

const GROWN_FOR = grownForLabel(vmi(), NOW);

const recorded = (tweak: Partial<EvacuationRecord>) => ({
  ...vmi({ record: record(tweak) }),
  recordText: JSON.stringify(tweak),
});

interface Given {
  readonly subject?: VmiFacts;
  readonly grownFor?: string;
  readonly seconds?: number;
}

function verbsFor({ subject = vmi(), grownFor, seconds = 0 }: Given): readonly string[] {
  const given: BudgetFacts = grownBudget({ status: { currentHealthy: 1 } });
  const budgets = [grownFor === undefined ? given : { ...given, grownFor }];
  return plannedBudgets({ vmis: [subject], budgets, now: at(seconds) }).map(({ verb }) => verb);
}

test("the label is a valid label value", () => {
  expect(GROWN_FOR).toMatch(/^[0-9a-f]{8}\.\d{10}$/);
  expect(GROWN_FOR).toContain(String(NOW.getTime() / 1000));
});

describe("of a VM that was read without a mark", () => {
  const cancelled = recorded({ outcome: "Cancelled" });
  const forCancelled = grownForLabel(cancelled, NOW);
  // prettier-ignore
  test.each<[string, Given, readonly string[]]>([
    ["grown for nothing that is known",    {},                                             ["ResizeBudget"]],
    ["just now: the mark follows",         { grownFor: GROWN_FOR },                        []],
    ["the same, after an earlier one",     { subject: cancelled, grownFor: forCancelled }, []],
    ["by somebody whose clock is fast",    { grownFor: GROWN_FOR, seconds: -120 },         []],
    ["long enough ago",                    { grownFor: GROWN_FOR, seconds: 149 },          []],
    ["longer than that",                   { grownFor: GROWN_FOR, seconds: 150 },          ["ResizeBudget"]],
    ["and it was marked since",            { subject: { ...cancelled, record: record({ outcome: "Cancelled" }) }, grownFor: GROWN_FOR },    ["ResizeBudget"]],
    ["and it has moved since",             { subject: vmi({ nodeName: "node02" }), grownFor: GROWN_FOR }, ["ResizeBudget"]],
    ["by nobody, in words of a stranger",  { grownFor: "x.y" },                            ["ResizeBudget"]],
    ["in a time to come",                  { grownFor: GROWN_FOR.replace(/\d+$/, "99999999999") }, ["ResizeBudget"]],
  ])("%s", (_, given, expected) => expect(verbsFor(given)).toEqual(expected));
});

test("it grows whatever the label says", () => {
  const small = { ...grownBudget(), minAvailable: 1, grownFor: GROWN_FOR };
  expect(plannedBudgets({ vmis: [marked()], budgets: [small] })).toMatchObject([
    { verb: "ResizeBudget", minAvailable: 2 },
  ]);
  expect(isMarkOnItsWay(small, vmi(), NOW)).toBe(true);
});
