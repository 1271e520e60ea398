/** The policy is pure: facts in, decisions out. The compiler keeps the platform out, this keeps out what it lets through. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const POLICY = new URL("../../shared/policy/", import.meta.url);

const sources = readdirSync(POLICY, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => [file, readFileSync(new URL(file, POLICY), "utf8")] as const);

/** An import of foreign types would bring the platform's ambient types with it, and switch the compiler's guard off. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\b\.|\bperformance\b\.|\bglobalThis\b|<reference/g;

describe.each(sources)("%s", (file, source) => {
  test("imports the policy only", () => {
    const foreign = [...source.matchAll(IMPORTED)].flatMap(([, from = ""]) => {
      const { href } = new URL(from, new URL(file, POLICY));
      return from.startsWith(".") && href.startsWith(POLICY.href) && href.endsWith(".ts") ? [] : [from];
    });
    expect(foreign).toEqual([]);
  });

  test("has no clock, no dice and no environment", () => {
    expect([...source.matchAll(IMPURE)].map(([found]) => found)).toEqual([]);
  });
});

test("the compiler has no platform types here", () => {
  const tsconfig = readFileSync(new URL("tsconfig.json", POLICY), "utf8");
  expect(tsconfig).toContain('"lib": ["ES2024"], "types": []');
});
