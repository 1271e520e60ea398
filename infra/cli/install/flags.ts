/** Checks which flags of `lifeboat install` go together, and reads their values. */
import { UsageError } from "../failed.ts";
import type { Connection } from "../connection.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import type { Home } from "./plan.ts";
import { clusterNameOf } from "./worker-entry.ts";

/** The text that replaces the webhook token in an export. */
export const PLACEHOLDER = "webhook-token";

interface Flags {
  readonly worker?: string | undefined;
  readonly cluster?: string | undefined;
  readonly server?: string | undefined;
  readonly entry?: string | undefined;
  readonly caBundle?: string | undefined;
  readonly certManager?: true | undefined;
  readonly export?: true | undefined;
}

/** Throws if a flag about the Worker is given without --worker. */
export function requireWorker(options: Flags): void {
  if (options.worker !== undefined) return;
  const alone = (["cluster", "server", "entry"] as const).find((name) => options[name] !== undefined);
  if (alone !== undefined) throw new UsageError(MESSAGES.needsWorker(alone));
}

/** Checks the flags about where Lifeboat runs. Rejects an export that needs a private key. */
export function requireForm(options: Flags, home: Home): void {
  const isKept = home.in === "Worker" && options.worker === undefined;
  if (isKept && options.caBundle !== undefined) throw new UsageError(MESSAGES.needsWorker("ca-bundle"));
  if (isKept && options.certManager) throw new UsageError(MESSAGES.needsInCluster("cert-manager"));
  if (!options.export || home.in === "Worker" || home.certManager || options.caBundle !== undefined) return;
  throw new UsageError(MESSAGES.exportHasNoKey);
}

/** Returns the path of the file with the Worker's entry, and the cluster's name and API server for this entry. */
export function entryOf(
  { worker, cluster: said, server, entry }: Flags,
  connection: Pick<Connection, "context" | "server">,
) {
  const cluster = worker === undefined ? "" : clusterNameOf(said, connection.context);
  const file = entry ?? `lifeboat-${cluster}.json`;
  return { file, cluster, server: server ?? connection.server, said: server !== undefined };
}

export function homeIn(worker: string, cluster: string, ca: string | undefined): Home {
  const caBundle = ca === undefined ? {} : { caBundle: Buffer.from(ca).toString("base64") };
  return { in: "Worker", url: `${worker}/clusters/${cluster}`, webhookToken: PLACEHOLDER, ...caBundle };
}
