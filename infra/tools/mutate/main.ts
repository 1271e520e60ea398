/** `npm run mutate`: changes `shared` and `functions` in small ways, one at a time, and lists the changes that no test notices. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, matchesGlob, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { countOf, HELP, readFlags, runTool, TEXT, UsageError } from "../console/arguments.ts";
import { copyTree } from "./copy.ts";
import { instrument } from "./instrument.ts";
import { type Lane, openLane } from "./lane.ts";
import { goneRow, keysIn, rowOf, scoreOf, type Tried } from "./report.ts";
import { type Mutation, mutationsOf, sameAs, sampleOf } from "./sample.ts";
import { inLanes, survey, tryOut } from "./try.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SOURCES = ["shared/**/*.ts", "functions/**/*.ts"];
/** Black box tests and the contract suite run the bundle in workerd, where nothing is switched on. */
const FOLDERS = [
  "policy",
  "descheduling",
  "pass",
  "cluster",
  "config",
  "functions",
  "fake-cluster",
  "security",
  "fuzz",
];
const TESTS = FOLDERS.map((folder) => `test/${folder}/**/*.test.ts`);
/** They measure memory and load, or run workerd, and cost more than they find here. */
const TOO_SLOW = ["test/security/memory", "test/functions/bounded", "test/functions/many-evictions", "test/fuzz/doors"];

const USAGE = `Usage: npm run mutate [-- [--seed N] [--mutants N] [--files GLOB] [--from REPORT] [--report FILE] [--jobs N]]

  --seed N       what the mutants are drawn from (default: 1)
  --mutants N    how many are drawn (default: 200)
  --files GLOB   only in these files
  --from REPORT  the mutants of an earlier report instead, where their line still exists
  --report FILE  where to write the report (default: .build/mutation.txt)
  --jobs N       test files at a time (default: 1)
  --help         show this text
`;

interface Arguments {
  readonly seed: number;
  readonly mutants: number;
  readonly files: string;
  readonly from: string | undefined;
  readonly report: string;
  readonly jobs: number;
}

async function main(): Promise<void> {
  const options = { seed: TEXT, mutants: TEXT, files: TEXT, from: TEXT, report: TEXT, jobs: TEXT, help: HELP };
  const values = readFlags(process.argv.slice(2), options);
  if (values.help) return console.log(USAGE);
  const {
    seed = "1",
    mutants = "200",
    jobs = "1",
    files = "**",
    from,
    report = join(ROOT, ".build/mutation.txt"),
  } = values;
  return mutate({
    seed: countOf("--seed", seed),
    mutants: countOf("--mutants", mutants),
    jobs: countOf("--jobs", jobs),
    files,
    from,
    report: resolve(report),
  });
}

async function mutate(options: Arguments): Promise<void> {
  const copy = copyTree(ROOT);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", copy.remove);
  mkdirSync(dirname(options.report), { recursive: true });
  const files = copy.files.filter((file) => SOURCES.some((glob) => matchesGlob(file, glob)));
  const texts = new Map(files.map((file) => [file, readFileSync(join(copy.root, file), "utf8")]));
  const all = [...texts].flatMap(([file, text]) => mutationsOf(file, text));
  const { chosen, gone } = choose(all, options);
  const byFile = Map.groupBy(chosen.entries(), ([, { file }]) => file);
  const sources = new Map(
    [...byFile].map(([file, inIt]) => [
      file,
      instrument(
        texts.get(file) ?? "",
        inIt.map(([id, place]) => ({ id, ...place })),
      ),
    ]),
  );
  const lanes = await Promise.all(
    Array.from({ length: options.jobs }, () =>
      openLane({ root: copy.root, tests: TESTS, leftOut: TOO_SLOW, seed: options.seed, sources }),
    ),
  );
  console.error(
    `${chosen.length} of ${all.length} mutants in ${sources.size} files, ${lanes[0]?.files.length} test files`,
  );
  const write = (tried: readonly Tried[], notes: readonly string[]) => {
    const rows = tried.map((one) => rowOf(one)).toSorted();
    const summary = [...notes, ...(gone.length === 0 ? [] : [`${gone.length} no longer exist`]), scoreOf(tried)];
    writeFileSync(options.report, [...summary, ...rows, ...gone.map((key) => goneRow(key)), ""].join("\n"));
    return [...rows.filter((row) => !row.startsWith("killed")), ...summary].join("\n");
  };
  const { tried, notes } = await tryAll(lanes, chosen, write);
  await Promise.all(lanes.map((lane) => lane.close()));
  console.log(write(tried, notes));
  process.exit(0);
}

/** A sample, or what a report lists and what has gone of that. */
function choose(all: readonly Mutation[], { seed, mutants, files, from }: Arguments) {
  const inFiles = all.filter(({ file }) => matchesGlob(file, files));
  if (from === undefined) return { chosen: sampleOf(inFiles, seed, mutants), gone: [] };
  const keys = keysIn(readFileSync(from, "utf8"));
  if (keys.length === 0) throw new UsageError(`--from: ${from} lists no mutants`);
  const found = sameAs(inFiles, keys);
  return {
    chosen: found.filter((one) => one !== undefined),
    gone: keys.filter((_, index) => found[index] === undefined),
  };
}

/** The report is there while it grows: a run that is interrupted is not lost. */
async function tryAll(
  lanes: readonly Lane[],
  chosen: readonly Mutation[],
  write: (tried: readonly Tried[], notes: readonly string[]) => string,
) {
  const began = performance.now();
  const surveyed = await survey(lanes);
  const slowest = [...surveyed.milliseconds].toSorted(([, a], [, b]) => b - a).slice(0, 12);
  const times = slowest.map(([file, milliseconds]) => `${(milliseconds / 1000).toFixed(1)} s ${file}`);
  console.error([`without a mutation: ${seconds(began)}, most of it in`, ...times].join("\n  "));
  const tried: Tried[] = [];
  await inLanes(lanes, [...chosen.entries()], async (lane, [id, mutation]) => {
    const one = { mutation, outcome: await tryOut(lane, id, surveyed) };
    tried.push(one);
    write(tried, ["not finished"]);
    console.error(`${tried.length}/${chosen.length} ${seconds(began)} ${rowOf(one).replaceAll("\t", "  ")}`);
  });
  const notes = surveyed.failing.map((file) => `left out, as it fails without a mutation: ${file}`);
  return { tried, notes: [...notes, `took ${seconds(began)}`] };
}

function seconds(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}

await runTool(USAGE, main);
