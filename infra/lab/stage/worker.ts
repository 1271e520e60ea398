/** Runs the bundled Worker in workerd, for one or several clusters. */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Miniflare, NoOpLog, type RequestInit, type Response } from "miniflare";
import type { Authority } from "../../sandbox/index.ts";
import { seal } from "../../../shared/settings/sealed-entry.ts";
import { modulesOf } from "../../tools/build-worker.ts";

export interface ClusterEntry {
  readonly server: string;
  readonly token: string;
  readonly webhookToken: string;
  readonly operatorToken?: string;
  readonly relaySecret?: string | readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WorkerOptions {
  /**
   * The CA that issues the Worker's certificate. The Worker also trusts API servers whose certificates this CA has
   * issued.
   */
  readonly authority: Authority;
  /** CAs of other sandboxes, which the Worker also trusts. */
  readonly trusted?: readonly string[];
  /** The value of the Worker's variable `CLUSTERS`. A string can be invalid JSON, for tests of errors. */
  readonly clusters: Readonly<Record<string, ClusterEntry>> | string;
  /** The Worker's port. If 0 or absent, the system chooses a free port. A restarted Worker uses the same port again. */
  readonly port?: number;
  readonly onLog?: (line: string) => void;
  /** The path of a bundle to use instead of the deployed bundle. */
  readonly bundle?: string;
  readonly registry?: boolean;
  /** Whether to add the queue through which the scheduled trigger sends each cluster a tick. */
  readonly queue?: boolean;
}

/** Clusters that are added and removed while the Worker runs. */
export interface Registry {
  set(name: string, entry: ClusterEntry): Promise<void>;
  remove(name: string): Promise<void>;
}

export interface RunningWorker {
  readonly url: string;
  readonly port: number;
  readonly registry: Registry;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Fires the cron trigger. `time` is the scheduled time. */
  scheduled(time?: Date): Promise<void>;
  stop(): Promise<void>;
}

const REGISTRY = "CLUSTER_REGISTRY";
const CRON = "* * * * *";
/** The queue has the same name and settings as in wrangler.toml. */
const QUEUE = "lifeboat-ticks";
const TICKS = {
  queueProducers: { TICKS: QUEUE },
  queueConsumers: { [QUEUE]: { maxBatchSize: 1, maxBatchTimeout: 0, maxRetries: 0 } },
};
const root = fileURLToPath(new URL("../../../", import.meta.url));

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { authority, trusted = [], clusters, port = 0, onLog = () => undefined } = options;
  const { bundle = `${root}.build/index/index.js`, registry = false } = options;
  const { certPem, keyPem } = await authority.issue(["127.0.0.1", "localhost"]);
  const key = crypto.getRandomValues(new Uint8Array(32));
  const REGISTRY_KEY = Buffer.from(key).toString("base64");
  const modules = await modulesOf(bundle);
  const worker = new Miniflare({
    modules: modules.map((path) => ({ type: "ESModule", path })),
    modulesRoot: dirname(bundle),
    compatibilityDate: compatibilityDate(),
    bindings: {
      CLUSTERS: typeof clusters === "string" ? clusters : JSON.stringify(clusters),
      REGISTRY_KEY,
    },
    kvNamespaces: registry ? [REGISTRY] : [],
    ...(options.queue && TICKS),
    host: "127.0.0.1",
    port,
    https: true,
    httpsKey: keyPem,
    httpsCert: certPem,
    // Only this Worker trusts the CA. NODE_EXTRA_CA_CERTS would make the whole process trust the CA.
    outboundService: {
      network: {
        allow: ["public", "private"],
        tlsOptions: { trustBrowserCas: true, trustedCertificates: [authority.caPem, ...trusted] },
      },
    },
    log: new NoOpLog(),
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      for (const stream of [stdout, stderr])
        stream.setEncoding("utf8").on("data", (text: string) => report(text, onLog));
    },
  });
  const url = (await worker.ready).origin;

  return {
    url,
    port: Number(new URL(url).port),
    registry: {
      async set(name, entry) {
        const sealed = await seal(JSON.stringify(entry), name, key);
        await (await worker.getKVNamespace(REGISTRY)).put(name, sealed);
      },
      remove: async (name) => await (await worker.getKVNamespace(REGISTRY)).delete(name),
    },
    fetch: (path, init) => worker.dispatchFetch(`${url}${path}`, init),
    async scheduled(time = new Date()) {
      const instance = await worker.getWorker();
      await instance.scheduled({ scheduledTime: time, cron: CRON });
    },
    stop: () => worker.dispose(),
  };
}

export function compatibilityDate(): string {
  const date = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(readFileSync(`${root}wrangler.toml`, "utf8"))?.[1];
  if (date === undefined) throw new Error("wrangler.toml names no compatibility_date");
  return date;
}

function report(text: string, onLog: (line: string) => void): void {
  for (const line of text.split("\n")) if (line !== "") onLog(line);
}
