/** Runs Lifeboat for a sandbox. Applies the shipped manifests, and starts the Worker with their service account. */
import { randomBytes } from "node:crypto";
import { freePort, type Sandbox } from "../../sandbox/index.ts";
import { applyLifeboat } from "./apply.ts";
import { startWorker, type ClusterEntry, type RunningWorker } from "./worker.ts";

export interface LifeboatOptions {
  /** The cluster's name in the Worker's variable `CLUSTERS`. */
  readonly cluster?: string;
  /** Paths of additional manifests in infra/kubernetes. */
  readonly optional?: readonly string[];
  /** Additional keys of the cluster's entry in `CLUSTERS`. */
  readonly entry?: Partial<ClusterEntry>;
  /** Whether the Worker sends ticks through a Cloudflare queue. */
  readonly queue?: boolean;
  readonly onLog?: (line: string) => void;
}

export interface Lifeboat {
  readonly worker: RunningWorker;
  readonly url: string;
  readonly webhookToken: string;
}

export async function startLifeboat(sandbox: Sandbox, options: LifeboatOptions = {}): Promise<Lifeboat> {
  const { cluster = "sandbox", optional = [], entry, queue = false, onLog } = options;
  const { client, authority, url: server, caPem } = sandbox;
  const webhookToken = randomBytes(24).toString("hex");
  // Chooses the port first. The webhook's URL contains the port, and the Worker starts after the webhook is installed.
  const port = await freePort();
  const url = `https://127.0.0.1:${port}/clusters/${cluster}`;
  const { token } = await applyLifeboat(client, { url, webhookToken, caPem, optional });
  const clusters = { [cluster]: { server, token, webhookToken, ...entry } };
  const worker = await startWorker({ authority, clusters, port, queue, ...(onLog && { onLog }) });
  return { worker, url, webhookToken };
}
