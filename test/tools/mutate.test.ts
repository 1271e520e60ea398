/** `npm run mutate`: what is changed, how it is switched on, and that a report names the same changes again. */
import { stripTypeScriptTypes } from "node:module";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { instrument } from "../../infra/tools/mutate/instrument.ts";
import { placesIn } from "../../infra/tools/mutate/places.ts";
import { goneRow, keysIn, rowOf, scoreOf } from "../../infra/tools/mutate/report.ts";
import { mutationsOf, sameAs, sampleOf } from "../../infra/tools/mutate/sample.ts";

// prettier-ignore
test.each([
  ["a === b;",                                   ["a === b; → (removed)", "a === b → a !== b"]],
  ["const x = a < b && !c;",                     ["a < b && !c → (a < b) || (!c)", "a < b → a <= b", "!c → c"]],
  ["const x = a ? 1 : f(b);",                    ["a ? 1 : f(b) → a ? (f(b)) : 1", "1 → 2"]],
  ["const x = { a: [1], ...b } as const;",       ["a: [1] → (removed)", "...b → (removed)", "[1] → []", "1 → 2"]],
  ['const x = { a: "no", b: "yes" };',           ['a: "no" → (removed)', 'b: "yes" → (removed)', '"no" → "yes"', '"yes" → "no"']],
  ["if (a) throw b;",                            ["a → true", "a → false", "throw b; → (removed)"]],
  ["const x = a.filter(b);",                     ["a.filter(b) → a"]],
  ["const x = a?.filter(b);",                    []],
  ["const x = a.some(b);",                       ["a.some(b) → a.every(b)"]],
  ['import a from "a"; type B = "b" | 3;',       []],
])("%s", (source, expected) => {
  expect(placesIn(source).map(({ before, after }) => `${before} → ${after}`)).toEqual(expected);
});

const SOURCE = `
let log = "";
const kind = (n: number): string => (n >= 10 && n !== 11 ? "many" : "few");
if (kind(10) === "many") log += "a";
log += kind(11) + [1, 2].filter((n) => n > 1).length;
log satisfies string;`;

function run(on: number | undefined): unknown {
  const places = placesIn(SOURCE).map((place, id) => ({ ...place, id }));
  const code = `${stripTypeScriptTypes(instrument(SOURCE, places))}; log;`;
  return runInNewContext(code, { __mutation: (id: number) => id === on });
}

test("all stand in the file at once, and only the one that is on has an effect", () => {
  expect(run(undefined)).toBe("afew1");
  const effects = placesIn(SOURCE).map(({ before }, id) => [before, run(id) !== "afew1"] as const);
  const without = effects.flatMap(([before, hasEffect]) => (hasEffect ? [] : [before]));
  expect(without).toEqual(['kind(10) === "many"', "2", "log satisfies string;"]);
});

const before = mutationsOf("a.ts", SOURCE);

const keys = (seed: number) => sampleOf(before, seed, 5).map(({ key }) => key);

test("the same seed draws the same ones; another one, others", () => {
  expect(keys(1)).toEqual(keys(1));
  expect(new Set(keys(1)).size).toBe(5);
  expect(keys(1)).not.toEqual(keys(2));
});

test("a report finds its mutants again: on another line, in another file; and says which are gone", () => {
  const tried = before.map((mutation) => ({ mutation, outcome: { name: "SURVIVED" } as const }));
  const listed = keysIn(["took 1 s", ...tried.map((one) => rowOf(one)), goneRow("b.ts\tlogic\ta\tb\tc")].join("\n"));
  expect(listed).toEqual([...before.map(({ key }) => key), "b.ts\tlogic\ta\tb\tc"]);
  const moved = mutationsOf("moved.ts", `// A new line.${SOURCE.replace("10 &&", "12 &&")}`);
  const found = sameAs(moved, listed);
  const gone = listed.filter((_, index) => found[index] === undefined);
  expect(gone.map((key) => key.split("\t").at(4))).toEqual([
    ...before.map(({ text }) => text).filter((text) => text.includes("10 &&")),
    "c",
  ]);
  expect(scoreOf(tried)).toMatch(/^\d+ mutations: killed 0, survived \d+, .*; score 0.0 %$/);
});
