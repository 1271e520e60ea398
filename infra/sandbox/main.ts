/**
 * `npm run sandbox`: the sandbox alone, until interrupted.
 * Owns: the command line. Does not own: the sandbox.
 */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { startSandbox } from "./sandbox.ts";

const USAGE = `Usage: npm run sandbox -- [--port N] [--kubeconfig FILE] [--empty]

  --port N           listen on this port of 127.0.0.1 (default: any free one)
  --kubeconfig FILE  where to write the administrator's kubeconfig (default: sandbox.kubeconfig)
  --empty            only an API server, disruption controller, garbage collector and token controller;
                     KubeVirt's kinds are known, but there is nothing else of it
`;

interface Arguments {
  readonly port: number;
  readonly kubeconfig: string;
  readonly empty: boolean;
}

class UsageError extends Error {}

export function parseArguments(args: readonly string[]): Arguments {
  const options = { port: { type: "string" }, kubeconfig: { type: "string" }, empty: { type: "boolean" } } as const;
  const {
    port = "0",
    kubeconfig = "sandbox.kubeconfig",
    empty = false,
  } = read(() => parseArgs({ args: [...args], options }).values);
  if (!/^\d+$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port: expected a port number, got "${port}"`);
  return { port: Number(port), kubeconfig: resolve(kubeconfig), empty };
}

function read<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function main(): Promise<void> {
  const { port, kubeconfig, empty } = parseArguments(process.argv.slice(2));
  const sandbox = await startSandbox({ port, empty, onError: complain });
  await writeFile(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  console.log(`The sandbox is up at ${sandbox.url}${empty ? " (empty)" : ""}. Use it with\n`);
  console.log(`  export KUBECONFIG=${kubeconfig}\n  kubectl get nodes\n\nCtrl-C ends it.`);
  await interrupted();
  await sandbox.stop();
}

function complain(error: unknown, key: string): void {
  console.error(`${key}: ${error instanceof Error ? error.message : String(error)}`);
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

if (import.meta.main) {
  main().catch((error: unknown) => {
    const isUsage = error instanceof UsageError;
    console.error(isUsage ? `${error.message}\n\n${USAGE}` : error);
    process.exitCode = isUsage ? 2 : 1;
  });
}
