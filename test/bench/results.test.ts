/** Results are read as they were written, and nothing else is taken for them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { measured, measuredAgainst } from "../../infra/bench/measurement.ts";
import { readResults, type Results, writeResults } from "../../infra/bench/results.ts";

const named = { part: "startup", what: "CPU", unit: "ms", target: 2 } as const;

const results: Results = {
  version: 1,
  date: "2026-11-20T12:00:00.000Z",
  quick: false,
  seconds: 60,
  machine: { node: "v24.0.0", cpu: "a processor", cores: 2, memoryGiB: 24, loadBefore: 0.5 },
  measurements: [
    measured({ part: "drain", what: "time", unit: "s" }, [1, 2]),
    measuredAgainst(named, [3], { what: "bare Hono", samples: [2] }),
    { ...measured({ part: "reconcile", what: "CPU", unit: "ms" }, [20]), tenfold: 9.5 },
  ],
};

test("they come back as they were, from a folder that did not exist; another file is refused by name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-bench-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "deep", "bench.json");
  await writeResults(file, results);
  expect(await readResults(file)).toEqual(results);
  await writeFile(file, JSON.stringify({ ...results, version: 2 }));
  await expect(readResults(file)).rejects.toThrow(/bench\.json holds no results of this benchmark: .*\n.*version/);
});
