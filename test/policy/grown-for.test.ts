/** A budget that was grown for a mark stays grown until that mark has been seen, or can come no more. */
import { describe, expect, test } from "vitest";
import type { BudgetFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { grownForLabel, isMarkOnItsWay } from "../../shared/policy/grown-for.ts";
import { at, grownBudget, marked, NOW, record, vmi } from "./fixtures.ts";
import { plannedBudgets } from "./worlds.ts";

const GROWN_FOR = grownForLabel(record({ id: "0000000f" }), NOW);

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
  expect(GROWN_FOR).toBe(`0000000f.${NOW.getTime() / 1000}`);
  expect(GROWN_FOR).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
});

describe("of a VM that was read without a mark", () => {
  const over = vmi({ record: record({ id: "0000000f", outcome: "Cancelled" }) });
  const another = vmi({ record: record({ outcome: "Cancelled" }) });
  // prettier-ignore
  test.each<[string, Given, readonly string[]]>([
    ["grown for nothing that is known",    {},                                         ["ResizeBudget"]],
    ["just now: the mark follows",         { grownFor: GROWN_FOR },                    []],
    ["by somebody whose clock is fast",    { grownFor: GROWN_FOR, seconds: -120 },     []],
    ["long enough ago",                    { grownFor: GROWN_FOR, seconds: 149 },      []],
    ["longer than that",                   { grownFor: GROWN_FOR, seconds: 150 },      ["ResizeBudget"]],
    ["and the mark was seen, and is over", { subject: over, grownFor: GROWN_FOR },     ["ResizeBudget"]],
    ["and that of another one was seen",   { subject: another, grownFor: GROWN_FOR },  []],
    ["by nobody, in words of a stranger",  { grownFor: "x.y" },                        ["ResizeBudget"]],
    ["in a time to come",                  { grownFor: "0000000f.99999999999" },       ["ResizeBudget"]],
  ])("%s", (_, given, expected) => expect(verbsFor(given)).toEqual(expected));
});

test("it grows whatever the label says", () => {
  const small = { ...grownBudget(), minAvailable: 1, grownFor: GROWN_FOR };
  expect(plannedBudgets({ vmis: [marked()], budgets: [small] })).toMatchObject([
    { verb: "ResizeBudget", minAvailable: 2 },
  ]);
  expect(isMarkOnItsWay(small, marked(), NOW)).toBe(true);
});
