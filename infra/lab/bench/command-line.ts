/** The command line of `npm run bench`. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { FLAG, HELP, nameOf, notEmpty, readArguments, TEXT } from "../../tools/console/arguments.ts";
import { type Part, PARTS } from "./measurement.ts";

export const USAGE = `Usage: npm run bench [-- [PART…] [--quick] [--out FILE] [--against FILE]]

Parts (all of them, unless some are named):
  sandbox       the API server of the sandbox, full: its memory, reads, lists, watches
  admission     reviews of evictions, against a Worker that makes the API calls of KubeVirt's own webhook
  evictions     200 VMs of one namespace asked to leave, with all that follows the answers: requests, CPU
  startup       start-up CPU and size of the bundle, against bare Hono
  reconcile     a full reconcile, an idle tick and one with evacuations under way, by the number of VMs
  descheduling  a cycle of descheduling, by the number of nodes and pods
  page          the page of a node with 500 VMs, against the requests it needs
  drain         a drain end to end, against KubeVirt alone
  fleet         ticks of many clusters, some of which hang, fail or are large
  in-cluster    the server in the cluster: memory by the number of VMs, and over a week

Options:
  --quick         smaller sizes and fewer repetitions
  --out FILE      where to write the results as JSON (default: .build/bench.json)
  --against FILE  results of an earlier run: also print what has changed
  --help          show this text
`;

export interface Arguments {
  readonly parts: readonly Part[];
  readonly quick: boolean;
  readonly out: string;
  readonly against?: string;
  readonly help: boolean;
}

const DEFAULT_OUT = fileURLToPath(new URL("../../../.build/bench.json", import.meta.url));

export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args, { quick: FLAG, help: HELP, out: TEXT, against: TEXT });
  const { quick, help, out = DEFAULT_OUT, against } = values;
  const named = positionals.map((name) => nameOf(PARTS, name, "unknown part"));
  notEmpty("--out", out, "the name of a file");
  const parts = PARTS.filter((part) => named.length === 0 || named.includes(part));
  return { parts, quick, help, out: resolve(out), ...(against === undefined ? {} : { against: resolve(against) }) };
}
