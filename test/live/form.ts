/** Runs Lifeboat for a test suite, either as a Worker in workerd beside the cluster, or as a pod in the cluster. */
import { applyLifeboat } from "../../infra/lab/stage/apply.ts";
import type { Sandbox } from "../../infra/sandbox/index.ts";
import { installRelay, startRelayBeside, throughWorker } from "../../infra/lab/stage/relay.ts";
import { startWorker } from "../../infra/lab/stage/worker.ts";

/**
 * True if Lifeboat runs as a pod in the cluster. Every file of test/live except the folder `worker` runs both ways:
 * `LIFEBOAT_FORM=in-cluster npx vitest run test/live`.
 */
export const IS_IN_CLUSTER = process.env["LIFEBOAT_FORM"] === "in-cluster";

export interface FormOptions {
  readonly cluster: string;
  readonly webhookToken: string;
  readonly optional: readonly string[];
  readonly onLog: (line: string) => void;
  readonly relay: boolean | undefined;
  /** Called when the CustomResourceDefinitions exist, but before Lifeboat has permission to read its configuration. */
  readonly configure: () => Promise<void>;
}

export interface RunningForm {
  readonly url: string;
  fetch(path: string, init?: Asked): Promise<Answered>;
  /** Starts the work that Lifeboat does every minute. */
  scheduled(time?: Date): Promise<void>;
  stop(): Promise<void>;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  json(): Promise<unknown>;
}

export interface Form {
  current(): RunningForm;
  restart(): Promise<void>;
  another(): Promise<RunningForm>;
  reinstall(optional: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

const RELAY_SECRET = `whsec_${Buffer.alloc(32, "relay of the stage").toString("base64")}`;

export async function startWorkerForm(sandbox: Sandbox, options: FormOptions): Promise<Form> {
  const { client, authority, url: server } = sandbox;
  const { cluster, webhookToken, optional, onLog, configure } = options;
  const relaySecret = options.relay ? { relaySecret: RELAY_SECRET } : {};
  const install = (url: string, files = optional) =>
    applyLifeboat(client, { url: `${url}/clusters/${cluster}`, webhookToken, caPem: authority.caPem, optional: files });
  const { token } = await install("https://127.0.0.1:1");
  const clusters = { [cluster]: { server, token, webhookToken, ...relaySecret } };
  const start = (port: number) => startWorker({ authority, clusters, port, onLog });
  let worker = await start(0);
  await install(worker.url);
  await configure();
  const relay = options.relay
    ? startRelayBeside({
        kubeConfig: await installRelay(sandbox),
        endpoint: new URL(`${worker.url}/clusters/${cluster}/events`),
        secret: RELAY_SECRET,
        fetch: throughWorker(() => worker),
      })
    : undefined;
  return {
    current: () => worker,
    async restart() {
      worker = await start(worker.port);
    },
    another: () => start(0),
    async reinstall(files) {
      await install(worker.url, files);
    },
    async stop() {
      await relay?.stop();
      await worker.stop();
    },
  };
}
