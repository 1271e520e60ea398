/** `node infra/tools/files-run/main.ts`: which files of the product run for one request of each kind. */
import { aligned } from "../console/table.ts";
import { type FilesRun, measureFiles, REQUESTS, type RequestName } from "./measure.ts";

/** At most so many files. */
const LIMITS: Readonly<Record<RequestName, { readonly before?: number; readonly all?: number }>> = {
  "first eviction": { before: 20, all: 30 },
  repeat: { before: 14 },
  deletion: { before: 22 },
  "idle tick": { all: 14 },
  "explain node": { all: 24 },
  "node page": { all: 32 },
};

function countsOf(name: RequestName, { before, all }: FilesRun): readonly string[] {
  const { before: mostBefore, all: most } = LIMITS[name];
  return [name, cell(before.size, mostBefore), cell(all.size, most)];
}

function cell(count: number, limit?: number): string {
  return limit === undefined ? `${count}` : `${count} of ${limit}`;
}

const measured = await measureFiles();
const files = [...new Set(REQUESTS.flatMap((name) => [...measured[name].all]))].toSorted();
const signOf = (file: string, { before, all }: FilesRun) => (before.has(file) ? "x" : all.has(file) ? "after" : "");
console.log(
  [
    ...aligned([
      ["file", ...REQUESTS],
      ...files.map((file) => [file, ...REQUESTS.map((name) => signOf(file, measured[name]))]),
    ]),
    "",
    ...aligned([["files", "before the answer", "in all"], ...REQUESTS.map((name) => countsOf(name, measured[name]))]),
  ].join("\n"),
);
