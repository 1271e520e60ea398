/** The command line of `npm run cluster`. */
import { FLAG, HELP, readArguments, TEXT, UsageError } from "./console/arguments.ts";

export const USAGE = `Usage: npm run cluster -- add NAME [--entry FILE] | list | remove NAME

  add NAME      write the entry of a cluster, encrypted, to the KV namespace CLUSTER_REGISTRY; replaces an older one
  list          print every name, its API server, and whether the entry is in order
  remove NAME   remove the entry

  --entry FILE  the entry, a JSON object as in CLUSTERS (default: standard input)
  --local       the KV namespace of \`wrangler dev\`, not the one at Cloudflare
  --env NAME    an environment of wrangler.toml
  --config FILE another wrangler.toml
  --persist-to DIRECTORY  with --local: where \`wrangler dev\` keeps its data

REGISTRY_KEY in the environment holds the keys of the Worker's secret of that name: the first one encrypts.
`;

export type Command =
  | { readonly command: "add"; readonly name: string; readonly entry: string | undefined }
  | { readonly command: "remove"; readonly name: string }
  | { readonly command: "list" }
  | { readonly command: "help" };

export interface Arguments {
  readonly command: Command;
  /** For every call of wrangler. */
  readonly where: readonly string[];
}

/** As in a URL's path, and as KV takes it. */
const NAME = /^[A-Za-z0-9][\w.-]{0,127}$/;

const FLAGS = { entry: TEXT, local: FLAG, env: TEXT, config: TEXT, "persist-to": TEXT, help: HELP };

export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args, FLAGS);
  const { env, config, local, help } = values;
  const where = [
    "--binding",
    "CLUSTER_REGISTRY",
    local ? "--local" : "--remote",
    ...(env === undefined ? [] : ["--env", env]),
    ...(config === undefined ? [] : ["--config", config]),
    ...(values["persist-to"] === undefined ? [] : ["--persist-to", values["persist-to"]]),
  ];
  return { command: help ? { command: "help" } : commandOf(positionals, values.entry), where };
}

function commandOf([command = "nothing", name, ...more]: readonly string[], entry: string | undefined): Command {
  if (more.length > 0) throw new UsageError(`expected nothing after "${name}", got "${more[0]}"`);
  if (entry !== undefined && command !== "add") throw new UsageError("--entry: expected with `add` only");
  switch (command) {
    case "add":
      return { command, name: nameOf(name), entry };
    case "remove":
      return { command, name: nameOf(name) };
    case "list":
      if (name !== undefined) throw new UsageError(`list: expected no name, got "${name}"`);
      return { command };
    default:
      throw new UsageError(`expected add, list or remove, got "${command}"`);
  }
}

function nameOf(name: string | undefined): string {
  if (name !== undefined && NAME.test(name)) return name;
  throw new UsageError(`NAME: expected letters, digits, ".", "_" and "-", got "${name ?? ""}"`);
}
