/**
 * Tests that the pure files, which shared/tsconfig.pure.json lists, use no clock, no randomness and no environment, and
 * import only pure files, except zod/mini in schemas. Tests that each folder of `shared` imports only folders of lower
 * ranks. The compiler excludes the types of the platform.
 */
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

/**
 * Matches imports. A module from outside of `shared` could add the platform's ambient types, so that the compiler would
 * accept them everywhere.
 */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\b\.|\bperformance\b\.|\bglobalThis\b|<reference/g;

const sourceOf = (file: string): string => readFileSync(new URL(file, SHARED), "utf8");

function importsOf(file: string): readonly string[] {
  const imported = [...sourceOf(file).matchAll(IMPORTED)].map(([, from = ""]) => from);
  return imported.map((from) =>
    from.startsWith(".") ? new URL(from, new URL(file, SHARED)).href.slice(SHARED.href.length) : from,
  );
}

/** Lists files and folders whose schemas may import zod/mini. zod/mini adds no ambient types. */
const SCHEMAS = [
  "descheduling/plugins/",
  "kube/schemas/",
  "kube/resources.ts",
  "facts/facts.ts",
  "preflight/kinds.ts",
  "preflight/placement-terms.ts",
  "preflight/preflight-pod.ts",
];

function isSchemaLanguage(from: string, file: string): boolean {
  return from === "zod/mini" && SCHEMAS.some((path) => file.startsWith(path));
}

test.each(files)("%s imports only pure modules, and uses no clock, randomness or environment", (file) => {
  const foreign = importsOf(file).filter((from) => !isSchemaLanguage(from, file) && !files.includes(from));
  expect(foreign).toEqual([]);
  expect([...sourceOf(file).matchAll(IMPURE)].map(([found]) => found)).toEqual([]);
});

test("shared is compiled without platform types", () => {
  expect(TSCONFIG.compilerOptions).toEqual({ lib: ["ES2024"], types: [] });
  expect(TSCONFIG.exclude.filter((file) => !all.includes(file))).toEqual([]);
});

/** Lists the folders by rank, lowest rank first. A folder may import only folders of lower ranks. */
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

test.each(ORDER.flat())("shared/%s imports only folders of lower ranks", (folder) => {
  const imported = all.filter((file) => folderOf(file) === folder).flatMap(importsOf);
  const folders = new Set(imported.filter((from) => all.includes(from)).map(folderOf));
  folders.delete(folder);
  expect([...folders].filter((other) => rankOf(other) >= rankOf(folder))).toEqual([]);
});

test("every folder of shared has a place in the order", () => {
  expect(new Set(all.map(folderOf))).toEqual(new Set(ORDER.flat()));
});
