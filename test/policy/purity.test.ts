/** The policy is pure: facts in, decisions out. The compiler keeps the platform out, this keeps out what it lets through. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SHARED = new URL("../../shared/", import.meta.url);
const PURE = ["policy/", "descheduling/plugins/", "descheduling/cycle/"].map((folder) => new URL(folder, SHARED).href);

function isPure({ href }: URL): boolean {
  return href.endsWith(".ts") && PURE.some((folder) => href.startsWith(folder));
}

const files = readdirSync(SHARED, { recursive: true, encoding: "utf8" }).filter((file) =>
  isPure(new URL(file, SHARED)),
);

/** A plugin says what its arguments are; zod/mini brings no ambient types. */
function isSchemaLanguage(from: string, file: string): boolean {
  return from === "zod/mini" && file.startsWith("descheduling/plugins/");
}

/** An import of foreign types would bring the platform's ambient types with it, and switch the compiler's guard off. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\b\.|\bperformance\b\.|\bglobalThis\b|<reference/g;

test.each(files)("%s imports the policy only, and has no clock, no dice and no environment", (file) => {
  const source = readFileSync(new URL(file, SHARED), "utf8");
  const imported = [...source.matchAll(IMPORTED)].map(([, from = ""]) => from);
  const foreign = imported.filter(
    (from) => !isSchemaLanguage(from, file) && (!from.startsWith(".") || !isPure(new URL(from, new URL(file, SHARED)))),
  );
  expect(foreign).toEqual([]);
  expect([...source.matchAll(IMPURE)].map(([found]) => found)).toEqual([]);
});

test("the compiler has no platform types here", () => {
  const tsconfig = readFileSync(new URL("policy/tsconfig.json", SHARED), "utf8");
  expect(tsconfig).toContain('"lib": ["ES2024"], "types": []');
});

test("descheduling is a leaf: nothing else in shared imports it", () => {
  const others = readdirSync(SHARED, { recursive: true, encoding: "utf8" }).filter((file) => {
    return file.endsWith(".ts") && !file.startsWith("descheduling/");
  });
  expect(others.filter((file) => readFileSync(new URL(file, SHARED), "utf8").includes("/descheduling/"))).toEqual([]);
});
