/** What can be asked of `npm start` and of the other tools, and what each says of a command line that is wrong. */
import { resolve } from "node:path";
import { expect, test } from "vitest";
import * as bench from "../../infra/bench/command-line.ts";
import { PARTS } from "../../infra/bench/measurement.ts";
import * as chaos from "../../infra/chaos/command-line.ts";
import { FAULT_NAMES } from "../../infra/chaos/fault-table.ts";
import * as demo from "../../infra/demo/arguments.ts";
import { UsageError } from "../../infra/tools/console/arguments.ts";
import * as sandbox from "../../infra/tools/sandbox-command-line.ts";

const TOOLS = {
  start: { parse: demo.parseArguments, defaults: { story: "drain", exit: false, inCluster: false, help: false } },
  bench: {
    parse: bench.parseArguments,
    defaults: { parts: PARTS, quick: false, help: false, out: resolve(".build/bench.json") },
  },
  chaos: {
    parse: (args: readonly string[]) => chaos.parseArguments(args, () => "new"),
    defaults: { runs: 20, from: 1, seed: "new", jobs: 1, verbose: false, help: false },
  },
  sandbox: {
    parse: sandbox.parseArguments,
    defaults: { port: 0, kubeconfig: resolve("sandbox.kubeconfig"), empty: false, help: false },
  },
} as const;
type Tool = keyof typeof TOOLS;

// prettier-ignore
test.each<[Tool, string, object]>([
  ["start",   "",                                {}],
  ["start",   "--exit pressure",                 { story: "pressure", exit: true }],
  ["start",   "--in-cluster",                    { inCluster: true }],
  ["start",   "drain -h",                        { help: true }],
  ["bench",   "",                                {}],
  ["bench",   "startup --quick sandbox",         { parts: ["sandbox", "startup"], quick: true }],
  ["bench",   "--out now.json --against a.json", { out: resolve("now.json"), against: resolve("a.json") }],
  ["chaos",   "",                                {}],
  ["chaos",   "--runs 1000 --from 17 --seed 7",  { runs: 1000, from: 17, seed: "7" }],
  ["chaos",   "--vms 50 --jobs 2 --verbose",     { vms: 50, jobs: 2, verbose: true }],
  ["chaos",   "--only Outage --only Latency",    { only: ["Outage", "Latency"] }],
  ["sandbox", "",                                {}],
  ["sandbox", "--empty --port 0",                { empty: true }],
  ["sandbox", "--port=65535 --kubeconfig /k",    { port: 65_535, kubeconfig: "/k" }],
])("%s: %j", (tool, line, expected) => {
  const { parse, defaults } = TOOLS[tool];
  expect(parse(line.split(" ").filter(Boolean))).toEqual({ ...defaults, ...expected });
});

// prettier-ignore
test.each<[Tool, string, string]>([
  ["start",   "dance",         "unknown story dance; there are drain, preemption, taint, pressure, descheduler"],
  ["start",   "drain drain",   "one story at a time: drain, then drain"],
  ["start",   "--exit=yes",    "--exit"],
  ["bench",   "network",       "unknown part network; there are sandbox, admission"],
  ["bench",   "--out=",        "--out: expected the name of a file"],
  ["chaos",   "stray",         "unexpected argument stray"],
  ["chaos",   "--jobs 1.5",    '--jobs: expected a whole number from 1 on, got "1.5"'],
  ["chaos",   "--runs 0",      '--runs: expected a whole number from 1 on, got "0"'],
  ["chaos",   "--runs=1e3",    '--runs: expected a whole number from 1 on, got "1e3"'],
  ["chaos",   "--runs=",       '--runs: expected a whole number from 1 on, got ""'],
  ["chaos",   "--seed=",       "--seed: expected a text"],
  ["chaos",   "--only Aliens", "--only: there is no fault Aliens"],
  ["sandbox", "--port http",   '--port: expected a port number, got "http"'],
  ["sandbox", "--port 65536",  '--port: expected a port number, got "65536"'],
  ["sandbox", "--port",        "--port"],
  ["sandbox", "--kubeconfig=", "--kubeconfig: expected the name of a file"],
  ["sandbox", "--bogus",       "--bogus"],
])("%s: %s is refused: %s", (tool, line, message) => {
  const parsed = () => TOOLS[tool].parse(line.split(" "));
  expect(parsed).toThrow(UsageError);
  expect(parsed).toThrow(message);
});

test("the usage texts tell of every story, part and fault", () => {
  for (const story of demo.STORIES) expect(demo.USAGE).toMatch(new RegExp(`^ {2}${story} +\\S`, "m"));
  for (const part of PARTS) expect(bench.USAGE).toMatch(new RegExp(`^ {2}${part} +\\S`, "m"));
  for (const fault of FAULT_NAMES) expect(chaos.USAGE).toContain(`  ${fault} `);
});
