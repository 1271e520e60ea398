/** One vitest that stays up, and runs test files with one mutation on. */
import { join } from "node:path";
import { BaseSequencer, createVitest, type Vitest } from "vitest/node";

export interface Run {
  /** The first test file that failed; of a run that was ended, the first one there was. */
  readonly failed: string | undefined;
  readonly milliseconds: number;
  readonly reached: readonly number[];
}

export interface RunOptions {
  /** None: note what the tests reach. */
  readonly mutation?: number;
  /** Each file in a process of its own. */
  readonly isolate: boolean;
  readonly cpuMilliseconds: number;
}

export interface Lane {
  readonly files: readonly string[];
  readonly run: (files: readonly string[], options: RunOptions) => Promise<Run>;
  readonly close: () => Promise<void>;
}

export interface LaneOptions {
  readonly root: string;
  readonly tests: readonly string[];
  /** What the paths of test files begin with that do not run. */
  readonly leftOut: readonly string[];
  readonly seed: number;
  /** The mutated source of a file, by its path in the tree. */
  readonly sources: ReadonlyMap<string, string>;
}

class AsGiven extends BaseSequencer {
  override sort: BaseSequencer["sort"] = (files) => Promise.resolve(files);
}

export async function openLane({ root, tests, leftOut, seed, sources }: LaneOptions): Promise<Lane> {
  const load = (id: string) => sources.get(id.replace(`${root}/`, ""));
  const vitest = await createVitest(
    "test",
    {
      root,
      config: false,
      include: [...tests],
      exclude: leftOut.map((path) => `${path}*`),
      setupFiles: [join(root, "infra/tools/mutate/setup.ts")],
      sequence: { sequencer: AsGiven },
      pool: "forks",
      maxWorkers: 1,
      bail: 1,
      watch: false,
      update: false,
      silent: true,
      reporters: [{}],
      testTimeout: 30_000,
    },
    { plugins: [{ name: "mutate", enforce: "pre", load }] },
  );
  vitest.provide("seed", seed);
  const specifications = await vitest.globTestSpecifications();
  const byFile = new Map(specifications.map((one) => [one.moduleId.replace(`${root}/`, ""), one]));
  const run: Lane["run"] = (files, options) => {
    const chosen = files.flatMap((file) => byFile.get(file) ?? []);
    return runAll(vitest, chosen, options);
  };
  return { files: [...byFile.keys()].toSorted(), run, close: () => vitest.close() };
}

async function runAll(
  vitest: Vitest,
  chosen: Parameters<Vitest["runTestSpecifications"]>[0],
  { mutation, isolate, cpuMilliseconds }: RunOptions,
): Promise<Run> {
  vitest.getRootProject().config.isolate = isolate;
  vitest.provide("mutation", mutation);
  vitest.provide("cpuMilliseconds", cpuMilliseconds);
  const began = performance.now();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(chosen);
  const ran = testModules.filter(({ moduleId }) => chosen.some((one) => one.moduleId === moduleId));
  const failed = ran.find((module) => module.state() === "failed") ?? (unhandledErrors.length > 0 ? ran[0] : undefined);
  return {
    failed: failed?.relativeModuleId,
    milliseconds: performance.now() - began,
    reached: ran.flatMap((module) => module.meta().reached ?? []),
  };
}
