/** `npm run fuzz`: doors, policy, configuration, and the Worker itself, with as many odd things as there is time for. */
import { type Arguments, parseArguments, USAGE, UsageError } from "./command-line.ts";
import { callCommand } from "./command.ts";
import { CONFIG_PROPERTIES } from "./config-properties.ts";
import { CUSTOM_RESOURCE_PROPERTIES } from "./custom-resource-properties.ts";
import { DESCHEDULING_PROPERTIES } from "./descheduling-properties.ts";
import { PAGES } from "./pages.ts";
import { POLICY_PROPERTIES } from "./policy-properties.ts";
import { CounterexampleError } from "./property.ts";
import { DOORS, REQUESTS_A_VISIT } from "./visit.ts";
import { visitWorker } from "./worker.ts";

type Answers = ReadonlyMap<string, number>;

/** One line a door. */
function render(answers: Answers): string {
  const doors = Map.groupBy(
    [...answers].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ([outcome]) => outcome.split(" ")[0] ?? "",
  );
  const lines = [...doors].map(([door, codes]) => {
    const counts = codes.map(([outcome, n]) => `${outcome.split(" ")[1]}: ${n}`);
    return `  ${door.padEnd(14)}  ${counts.join("   ")}`;
  });
  return lines.join("\n");
}

/** Whether all went well: what it came to is printed, or what was outside the contract. */
async function attempt(name: string, check: () => Promise<Answers>, repeat: (run: number) => string): Promise<boolean> {
  const begun = performance.now();
  try {
    const answers = await check();
    const n = [...answers.values()].reduce((sum, one) => sum + one, 0);
    const seconds = Math.max(1, Math.round((performance.now() - begun) / 1000));
    if (name !== "") console.log(`${n} requests ${name} in ${seconds} s, by door and code:\n${render(answers)}`);
    return true;
  } catch (error) {
    if (!(error instanceof CounterexampleError)) throw error;
    console.log(`✗ ${name} ${repeat(error.run)}\n${error.message}\n`);
    return false;
  }
}

async function main({ requests, seed, from, properties: numRuns, command, worker }: Arguments): Promise<number> {
  let unhandled = 0;
  process.on("unhandledRejection", (reason) => {
    unhandled += 1;
    console.log("✗ unhandled rejection:", reason);
  });
  console.log(`seed ${seed}`);
  const first = Math.floor(from / REQUESTS_A_VISIT);
  const visits = { seed, numRuns: Math.ceil(requests / REQUESTS_A_VISIT), path: String(first) };
  const again = (run: number) => `npm run fuzz -- --requests 1 --seed ${seed} --from ${run * REQUESTS_A_VISIT}`;
  const doors = await attempt("to the doors", () => DOORS.check(visits), again);
  let failed = 0;
  const all = [...POLICY_PROPERTIES, ...CUSTOM_RESOURCE_PROPERTIES, ...DESCHEDULING_PROPERTIES, ...CONFIG_PROPERTIES];
  for (const { name, check } of numRuns === 0 ? [] : all) {
    const holds = await attempt(
      "",
      () => check({ seed, numRuns }),
      () => name,
    );
    if (!holds) failed += 1;
  }
  console.log(`${all.length} properties of policy and configuration, ${numRuns} examples each: ${failed} failed`);
  const pages = await attempt(
    "to the pages",
    () => PAGES.check({ seed, numRuns: Math.ceil(requests / 30) }),
    () => `--seed ${seed}`,
  );
  const called =
    command === 0 ||
    (await attempt(
      "to the command, each a call with all its own requests,",
      () => callCommand(command, seed),
      () => `--seed ${seed}`,
    ));
  const inWorker =
    worker === 0 ||
    (await attempt(
      "to the Worker in workerd",
      () => visitWorker(worker, seed),
      () => `--seed ${seed}`,
    ));
  const outside = [doors, pages, called, inWorker].filter((holds) => !holds).length;
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
