/** `npm run cluster`: adds, lists and removes entries of `CLUSTER_REGISTRY`. */
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
import { UsageError } from "../cli/failed.ts";
import { FLAG, HELP, readArguments, TEXT } from "./console/arguments.ts";

const USAGE = `Usage: npm run cluster -- add NAME [--entry FILE] | list | remove NAME

  add NAME      write the entry of a cluster, encrypted, to the KV namespace CLUSTER_REGISTRY; replaces an existing entry
  list          print every name, its API server, and whether the entry is valid
  remove NAME   remove the entry

  --entry FILE  the entry, a JSON object as in CLUSTERS (default: standard input)
  --local       the KV namespace of \`wrangler dev\`, not the namespace at Cloudflare
  --env NAME    an environment of wrangler.toml
  --config FILE another wrangler.toml
  --persist-to DIRECTORY  with --local: where \`wrangler dev\` keeps its data

The environment variable REGISTRY_KEY has to contain the keys of the Worker's secret REGISTRY_KEY: the first key encrypts.
`;

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

const NAME = /^[A-Za-z0-9][\w.-]{0,127}$/;
const FLAGS = { entry: TEXT, local: FLAG, env: TEXT, config: TEXT, "persist-to": TEXT, help: HELP };

async function perform(args: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(args, FLAGS);
  if (values.help) return console.log(USAGE);
  const [command = "nothing", name = "", ...more] = positionals;
  const others = (["env", "config", "persist-to"] as const).flatMap((flag) => {
    const value = values[flag];
    return value === undefined ? [] : [`--${flag}`, value];
  });
  const where = ["--binding", "CLUSTER_REGISTRY", values.local ? "--local" : "--remote", ...others];
  if (more.length > 0) throw new UsageError(`expected nothing after "${name}", got "${more[0]}"`);
  if (values.entry !== undefined && command !== "add") throw new UsageError("--entry: expected with `add` only");
  switch (command) {
    case "add":
      return await add(checked(name), values.entry, where);
    case "remove":
      await wrangler(["key", "delete", checked(name), ...where]);
      return console.error(`${name} removed. Workers can still use the removed entry for a minute and a half.`);
    case "list":
      return await list(where);
    default:
      throw new UsageError(`expected add, list or remove, got "${command}"`);
  }
}

function checked(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(`NAME: expected letters, digits, ".", "_" and "-", got "${name}"`);
}

async function add(name: string, file: string | undefined, where: readonly string[]): Promise<void> {
  const [key] = keysOfEnvironment();
  const entry = file === undefined ? await text(process.stdin) : await readFile(file, "utf8");
  orRefuse(parseRegistryEntry(entry, name));
  const sealed = await seal(entry, name, key);
  await wrangler(["key", "put", name, sealed, ...where]);
  console.error(`${name} added. Workers can still use the entry's previous version for a minute and a half.`);
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

async function wrangler(args: readonly string[]): Promise<string> {
  const { stdout } = await run("wrangler", ["kv", ...args], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

try {
  await perform(process.argv.slice(2));
} catch (error) {
  const isExpected = error instanceof UsageError || error instanceof Refused;
  const said = error instanceof Error && "stderr" in error ? String(error.stderr) : undefined;
  if (!isExpected && said === undefined) throw error;
  console.error(said ?? (error instanceof Error ? error.message : ""));
  if (error instanceof UsageError) console.error(`\n${USAGE}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
