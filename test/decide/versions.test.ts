/** Tests that the table of versions is complete. Each row lists all files that contain the version. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { isBefore, type VersionRow, VERSIONS, versionText } from "../../shared/settings/versions.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}${path}`, "utf8");
const files = (...patterns: string[]) => patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).toSorted();

const CODE = files("shared/**/*.ts", "functions/**/*.ts", "infra/{cli,relay,server,kubernetes}/**/*.ts").filter(
  (path) => path !== "shared/settings/versions.ts",
);
/**
 * Documents that may contain only versions from the table. The sandbox's documents and the changelog may contain other
 * versions.
 */
const DOCUMENTS = files(
  "REFERENCE.md",
  "SECURITY.md",
  "shared/**/*.md",
  "infra/{cli,relay,server,kubernetes,observability}/**/*.{md,yaml}",
);
const ROWS: readonly (readonly [string, VersionRow])[] = Object.entries(VERSIONS);

test.each(ROWS)("the version %s is named in the files of its row", (name, { usedIn }) => {
  const naming = CODE.filter((path) => new RegExp(`\\bVERSIONS\\.${name}\\b`).test(read(path)));
  expect(naming, `usedIn of VERSIONS.${name} in shared/settings/versions.ts`).toEqual(usedIn);
});

test("the code names versions by their rows", () => {
  const names = new Set(Object.keys(VERSIONS));
  const odd = CODE.flatMap((path) => {
    const text = read(path);
    const unknown = [...text.matchAll(/\bVERSIONS\.(\w+)/g)].filter(([, name = ""]) => !names.has(name));
    const versions = text.matchAll(
      /\b(Kubernetes|KubeVirt|since|from|until|before|after|as of|alpha in|beta in) v?1\.\d{1,2}\b/gi,
    );
    return [...unknown, ...versions].map(([found]) => `${path}: ${found}`);
  });
  expect(odd, "a row of shared/settings/versions.ts is missing").toEqual([]);
});

test("documents and manifests name only the versions of rows", () => {
  const known = new Set(ROWS.map(([, { of, since }]) => versionText(of, since)));
  const odd = DOCUMENTS.flatMap((path) =>
    [...read(path).matchAll(/\b(?:Kubernetes|KubeVirt) 1\.\d+(?!\d|\.)/g)].flatMap(([found]) =>
      known.has(found) ? [] : [`${path}: ${found}`],
    ),
  );
  expect(odd).toEqual([]);
});

test.each([
  ["an older version", 8, true],
  ["the same version", 9, false],
  ["an unknown version", undefined, false],
])("a cluster of %s is older than a row's version: $2", (_, minor, expected) => {
  expect(isBefore({ since: 9 }, minor)).toBe(expected);
});
