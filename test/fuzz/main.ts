/**
 * `npm run fuzz`: doors, policy, configuration, and the Worker itself, with as many odd things as there is time for.
 * Owns: the order, what is printed, and the exit code: 1 if anything was outside the contract. Does not own: the parts.
 */
import { type Arguments, parseArguments, USAGE, UsageError } from "./command-line.ts";
import { CONFIG_PROPERTIES } from "./config-properties.ts";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";
import { REQUEST_PROPERTIES } from "./request-properties.ts";
import { Tally } from "./tally.ts";
import { makeVisit, REQUESTS_A_VISIT } from "./visit.ts";
import { visitWorker } from "./worker.ts";

const PROGRESS_MS = 10_000;

async function fuzzDoors({ requests, seed, from }: Arguments, tally: Tally): Promise<void> {
  const begun = performance.now();
  const first = Math.floor(from / REQUESTS_A_VISIT);
  const last = Math.ceil((from + requests) / REQUESTS_A_VISIT);
  let told = begun;
  for (let visit = first; visit < last; visit++) {
    tally.add(await makeVisit(seed, visit));
    if (performance.now() - told < PROGRESS_MS) continue;
    told = performance.now();
    console.error(`  ${tally.requests} requests, ${tally.found} outside the contract`);
  }
  const seconds = (performance.now() - begun) / 1000;
  const rate = Math.round(tally.requests / seconds);
  console.log(`${tally.requests} requests in ${Math.round(seconds)} s (${rate} requests/s), by door and code:`);
  console.log(tally.renderAnswers());
}

async function fuzzProperties({ properties: numRuns, seed }: Arguments): Promise<number> {
  if (numRuns === 0) return 0;
  let failed = 0;
  const all = [...REQUEST_PROPERTIES, ...POLICY_PROPERTIES, ...DESCHEDULING_PROPERTIES, ...CONFIG_PROPERTIES];
  for (const { name, check } of all) {
    try {
      await check({ seed, numRuns });
    } catch (error) {
      failed += 1;
      console.log(`✗ ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  console.log(`${all.length} properties of policy and configuration, ${numRuns} examples each: ${failed} failed`);
  return failed;
}

async function fuzzWorker({ worker, seed }: Arguments): Promise<number> {
  if (worker === 0) return 0;
  const tally = new Tally();
  const begun = performance.now();
  await visitWorker({ requests: worker, seed, tally });
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(`${tally.requests} requests to the Worker in workerd in ${seconds} s, by door and code:`);
  console.log(tally.renderAnswers());
  if (tally.found > 0) console.log(`\n${tally.renderFindings(() => `in workerd, --seed ${seed}`)}\n`);
  return tally.found;
}

async function main(given: Arguments): Promise<number> {
  let unhandled = 0;
  process.on("unhandledRejection", (reason) => {
    unhandled += 1;
    console.log("✗ unhandled rejection:", reason);
  });
  console.log(`seed ${given.seed}`);
  const tally = new Tally();
  await fuzzDoors(given, tally);
  const repeat = (request: number) => `npm run fuzz -- --requests 1 --seed ${given.seed} --from ${request}`;
  if (tally.found > 0) console.log(`\n${tally.renderFindings(repeat)}\n`);
  const failed = await fuzzProperties(given);
  const inWorker = await fuzzWorker(given);
  const outside = tally.found + inWorker;
  console.log(`${outside} answers outside the contract, ${unhandled} unhandled rejections`);
  return outside + unhandled + failed === 0 ? 0 : 1;
}

try {
  const parsed = parseArguments(process.argv.slice(2), new Date());
  if (parsed.help) console.log(USAGE);
  else process.exitCode = await main(parsed);
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
