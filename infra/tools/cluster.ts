/** `npm run cluster`: writes, lists and removes entries of `CLUSTER_REGISTRY`. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import * as z from "zod";
import { parseRegistryEntry } from "../../shared/settings/clusters.ts";
import type { Parsed } from "../../shared/settings/problem.ts";
import { parseKeys, seal, unseal } from "../../shared/settings/sealed-entry.ts";
import { type Command, parseArguments, USAGE } from "./cluster-arguments.ts";
import { UsageError } from "./console/arguments.ts";

class Refused extends Error {
  override readonly name = "Refused";
}

const run = promisify(execFile);
const BULK = 100;
const Names = z.array(z.object({ name: z.string() }));
const Values = z.record(z.string(), z.object({ value: z.nullable(z.string()) }));

function orRefuse<T>(parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value;
  throw new Refused(parsed.problems.map(({ field, message }) => `${field}: ${message}`).join("\n"));
}

async function perform(command: Command, where: readonly string[]): Promise<void> {
  switch (command.command) {
    case "help":
      return void process.stdout.write(USAGE);
    case "add":
      return await add(command.name, command.entry, where);
    case "remove":
      await wrangler(["key", "delete", command.name, ...where]);
      return console.error(`${command.name} removed. Workers may know it for a minute and a half.`);
    case "list":
      return await list(where);
  }
}

async function add(name: string, file: string | undefined, where: readonly string[]): Promise<void> {
  const [key] = keysOfEnvironment();
  const entry = file === undefined ? await text(process.stdin) : await readFile(file, "utf8");
  orRefuse(parseRegistryEntry(entry, name));
  const sealed = await seal(entry, name, key);
  await wrangler(["key", "put", name, sealed, ...where]);
  console.error(`${name} added. Workers may know an older entry for a minute and a half.`);
}

async function list(where: readonly string[]): Promise<void> {
  const keys = keysOfEnvironment();
  const names = Names.parse(JSON.parse(await wrangler(["key", "list", ...where]))).map(({ name }) => name);
  for (let at = 0; at < names.length; at += BULK) {
    const values = await read(names.slice(at, at + BULK), where);
    for (const [name, { value }] of Object.entries(values)) {
      if (value === null) continue;
      const opened = await unseal(value, name, keys);
      const entry = opened.ok ? parseRegistryEntry(opened.value, name) : opened;
      const said = entry.ok ? entry.value.server : entry.problems.map(({ message }) => message).join("; ");
      console.log(`${name}\t${entry.ok ? "ok" : "invalid"}\t${said}`);
    }
  }
}

async function read(names: readonly string[], where: readonly string[]): Promise<z.output<typeof Values>> {
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  try {
    const file = join(folder, "names.json");
    await writeFile(file, JSON.stringify(names));
    return Values.parse(JSON.parse(await wrangler(["bulk", "get", file, ...where])));
  } finally {
    await rm(folder, { recursive: true });
  }
}

function keysOfEnvironment(): readonly [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]] {
  const [first, ...others] = orRefuse(parseKeys(process.env["REGISTRY_KEY"]));
  if (first === undefined) throw new Refused("REGISTRY_KEY: expected at least one key");
  return [first, ...others];
}

/** Its standard output. */
async function wrangler(args: readonly string[]): Promise<string> {
  const { stdout } = await run("wrangler", ["kv", ...args], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

try {
  const { command, where } = parseArguments(process.argv.slice(2));
  await perform(command, where);
} catch (error) {
  const isExpected = error instanceof UsageError || error instanceof Refused;
  const said = error instanceof Error && "stderr" in error ? String(error.stderr) : undefined;
  if (!isExpected && said === undefined) throw error;
  console.error(said ?? (error instanceof Error ? error.message : ""));
  if (error instanceof UsageError) console.error(`\n${USAGE}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
