/** A cluster whose webhooks lead to the product's app in this process, where its functions can be counted. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { createApp } from "../../../functions/app.ts";
import type { Env, Platform } from "../../../functions/env.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { runTick } from "../../../functions/schedule.ts";
import { freePort, type SimulatedSandbox, startSandbox } from "../../sandbox/index.ts";
import { applyLifeboat, configureLifeboat } from "../../lab/stage/apply.ts";
import { createNodes, createVms } from "../../lab/stage/scene.ts";

export const CLUSTER = "prod";
const WEBHOOK_TOKEN = "webhook-token-of-the-count";

export interface Place {
  readonly sandbox: SimulatedSandbox;
  /** A file. */
  readonly kubeconfig: string;
  /** Called when the first thing is put off until after an answer, or when there is an answer. */
  onAnswer: () => void;
  request(path: string, init?: RequestInit): Promise<Response>;
  tick(time: Date): Promise<void>;
  /** Resolves when nothing follows any answer any more. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPlace(): Promise<Place> {
  const sandbox = await startSandbox({ migrationSeconds: 3600 });
  const { client, authority, caPem } = sandbox;
  setDefaultCACertificates([...getCACertificates("default"), caPem]);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}/clusters/${CLUSTER}`;
  const { token } = await applyLifeboat(client, {
    url,
    webhookToken: WEBHOOK_TOKEN,
    caPem,
    optional: ["optional/guard/guard.yaml"],
  });
  await configureLifeboat(client, { featureGates: { PreemptionEvictionLiveMigration: true } });
  await createNodes(client, ["node-1", "node-2"]);
  const vms = ["first", "preempted", "warm", "warm-too"];
  await createVms(
    client,
    vms.map((name) => ({ namespace: "apps", name, node: "node-1", evictionStrategy: "LiveMigrate" })),
  );

  const env: Env = {
    CLUSTERS: JSON.stringify({ [CLUSTER]: { server: sandbox.url, token, webhookToken: WEBHOOK_TOKEN } }),
  };
  const state = newIsolateState();
  const app = createApp(platform, state);
  const after: Promise<unknown>[] = [];
  const context = {
    waitUntil(promise: Promise<unknown>) {
      place.onAnswer();
      after.push(promise);
    },
    passThroughOnException: () => undefined,
    props: {},
  };
  const { certPem: cert, keyPem: key } = await authority.issue(["127.0.0.1"]);
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: await buffer(incoming) };
    const result = await app.request(incoming.url ?? "", init, env, context);
    place.onAnswer();
    response.writeHead(result.status, { "content-type": "application/json" }).end(await result.text());
  };
  const server = createServer({ cert, key }, (incoming, response) => void answer(incoming, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-files-run-"));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  const place: Place = {
    sandbox,
    kubeconfig,
    onAnswer: () => undefined,
    request: async (path, init) => await app.request(path, init, env, context),
    tick: (time) => runTick(time.getTime(), { env, platform, state }),
    async settled() {
      while (after.length > 0) await after.shift();
    },
    async stop() {
      await place.settled();
      server.closeAllConnections();
      server.close();
      await sandbox.stop();
      await rm(folder, { recursive: true });
    },
  };
  return place;
}

const platform: Platform = {
  fetch: (url, init) => fetch(url, init),
  now: () => new Date(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  timeout: (ms) => AbortSignal.timeout(ms),
  random: () => 0,
  log: () => undefined,
};
