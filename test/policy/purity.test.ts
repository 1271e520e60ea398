/** The policy is pure: facts in, decisions out. The compiler keeps the platform out, this keeps out what it lets through. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const SHARED = new URL("../../shared/", import.meta.url);
const PURE = ["policy/", "descheduling/plugins/", "descheduling/cycle/"].map((folder) => new URL(folder, SHARED).href);

const sources = readdirSync(SHARED, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && isPure(new URL(file, SHARED).href))
  .map((file) => [file, readFileSync(new URL(file, SHARED), "utf8")] as const);

function isPure(href: string): boolean {
  return PURE.some((folder) => href.startsWith(folder));
}

/** An import of foreign types would bring the platform's ambient types with it, and switch the compiler's guard off. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\b\.|\bperformance\b\.|\bglobalThis\b|<reference/g;

describe.each(sources)("%s", (file, source) => {
  test("imports the policy only", () => {
    const foreign = [...source.matchAll(IMPORTED)].flatMap(([, from = ""]) => {
      const { href } = new URL(from, new URL(file, SHARED));
      return from.startsWith(".") && isPure(href) && href.endsWith(".ts") ? [] : [from];
    });
    expect(foreign).toEqual([]);
  });

  test("has no clock, no dice and no environment", () => {
    expect([...source.matchAll(IMPURE)].map(([found]) => found)).toEqual([]);
  });
});

test("the compiler has no platform types here", () => {
  const tsconfig = readFileSync(new URL("policy/tsconfig.json", SHARED), "utf8");
  expect(tsconfig).toContain('"lib": ["ES2024"], "types": []');
});
