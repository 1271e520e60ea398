/** Decisions are pure: facts in, actions out. The compiler keeps the platform out, this keeps out what it lets through, and folders in order. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SHARED = new URL("../../shared/", import.meta.url);

interface Tsconfig {
  readonly compilerOptions: unknown;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const TSCONFIG: Tsconfig = JSON.parse(
  readFileSync(new URL("tsconfig.pure.json", SHARED), "utf8").replaceAll(/^ *\/\/.*$/gm, ""),
);

const all = readdirSync(SHARED, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const files = all.filter(isPure);

function isPure(file: string): boolean {
  const isIncluded = TSCONFIG.include.some((path) => file === path || file.startsWith(`${path}/`));
  return isIncluded && !TSCONFIG.exclude.includes(file);
}

/** An import of foreign types would bring the platform's ambient types with it, and switch the compiler's guard off. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\b\.|\bperformance\b\.|\bglobalThis\b|<reference/g;

const sourceOf = (file: string): string => readFileSync(new URL(file, SHARED), "utf8");

/** Type imports included. In `shared`: from there; else as it is written. */
function importsOf(file: string): readonly string[] {
  const imported = [...sourceOf(file).matchAll(IMPORTED)].map(([, from = ""]) => from);
  return imported.map((from) =>
    from.startsWith(".") ? new URL(from, new URL(file, SHARED)).href.slice(SHARED.href.length) : from,
  );
}

/** A plugin says what its arguments are, and a rule in which view it reads objects; zod/mini brings no ambient types. */
const SCHEMAS = [
  "descheduling/plugins/",
  "kube/schemas/",
  "kube/resources.ts",
  "facts/facts.ts",
  "preflight/kinds.ts",
  "preflight/pod-wishes.ts",
  "preflight/preflight-pod.ts",
];

function isSchemaLanguage(from: string, file: string): boolean {
  return from === "zod/mini" && SCHEMAS.some((path) => file.startsWith(path));
}

test.each(files)("%s imports what is pure only, and has no clock, no dice and no environment", (file) => {
  const foreign = importsOf(file).filter((from) => !isSchemaLanguage(from, file) && !files.includes(from));
  expect(foreign).toEqual([]);
  expect([...sourceOf(file).matchAll(IMPURE)].map(([found]) => found)).toEqual([]);
});

test("the compiler has no platform types here", () => {
  expect(TSCONFIG.compilerOptions).toEqual({ lib: ["ES2024"], types: [] });
  expect(TSCONFIG.exclude.filter((file) => !all.includes(file))).toEqual([]);
});

/** A folder imports those to its left only: none of its own rank, and none to its right. */
const ORDER: readonly (readonly string[])[] = [
  ["kube"],
  ["facts"],
  ["settings"],
  ["budget", "events", "metrics"],
  ["evacuation"],
  ["act"],
  ["eviction"],
  ["shield", "annotations"],
  ["guard"],
  ["preflight"],
  ["pressure"],
  ["maintenance"],
  ["plan"],
  ["descheduling"],
  ["features.ts"],
  ["reconcile"],
];
const folderOf = (file: string): string => file.split("/", 1)[0] ?? "";
const rankOf = (folder: string): number => ORDER.findIndex((rank) => rank.includes(folder));

test.each(ORDER.flat())("shared/%s imports folders to its left only", (folder) => {
  const imported = all.filter((file) => folderOf(file) === folder).flatMap(importsOf);
  const folders = new Set(imported.filter((from) => all.includes(from)).map(folderOf));
  folders.delete(folder);
  expect([...folders].filter((other) => rankOf(other) >= rankOf(folder))).toEqual([]);
});

test("every folder of shared has its place in that order", () => {
  expect(new Set(all.map(folderOf))).toEqual(new Set(ORDER.flat()));
});
