/** The command line of `npm run sandbox`. */
import { resolve } from "node:path";
import { FLAG, HELP, notEmpty, readFlags, TEXT, UsageError } from "./console/arguments.ts";

export const USAGE = `Usage: npm run sandbox -- [--port N] [--kubeconfig FILE] [--empty]

  --port N           listen on this port of 127.0.0.1 (default: any free one)
  --kubeconfig FILE  where to write the administrator's kubeconfig (default: ./sandbox.kubeconfig)
  --empty            only the API server, disruption controller and garbage collection: KubeVirt's kinds are known,
                     but there are no nodes, no VMs, no webhooks of KubeVirt, and nothing of Lifeboat
`;

export interface Arguments {
  readonly port: number;
  readonly kubeconfig: string;
  readonly empty: boolean;
  readonly help: boolean;
}

export function parseArguments(args: readonly string[]): Arguments {
  const options = { port: TEXT, kubeconfig: TEXT, empty: FLAG, help: HELP };
  const { port = "0", kubeconfig = "sandbox.kubeconfig", empty, help } = readFlags(args, options);
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port: expected a port number, got "${port}"`);
  notEmpty("--kubeconfig", kubeconfig, "the name of a file");
  return { port: Number(port), kubeconfig: resolve(kubeconfig), empty, help };
}
