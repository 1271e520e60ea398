/** A cluster whose webhooks lead to the product's app in this process, where its functions can be counted. */
import { once } from "node:events";
import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { getRequestListener } from "@hono/node-server";
import { createApp } from "../../../functions/app.ts";
import type { Env } from "../../../functions/env.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { runTick } from "../../../functions/schedule.ts";
import { freePort, type SimulatedSandbox, startSandbox } from "../../sandbox/index.ts";
import { applyLifeboat, configureLifeboat } from "../../lab/stage/apply.ts";
import { PLATFORM } from "../../lab/stage/platform.ts";
import { createNodes, createVms } from "../../lab/stage/scene.ts";

export const CLUSTER = "prod";
const WEBHOOK_TOKEN = "webhook-token-of-the-count";

export interface Place {
  readonly sandbox: SimulatedSandbox;
  /** Called when the first thing is put off until after an answer, or when there is an answer. */
  onAnswer: () => void;
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
  const app = createApp(PLATFORM, state);
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
  const listener = getRequestListener(async (request) => {
    const answer = await app.fetch(request, env, context);
    place.onAnswer();
    return answer;
  });
  const server = createServer({ cert, key }, (incoming, outgoing) => void listener(incoming, outgoing));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const place: Place = {
    sandbox,
    onAnswer: () => undefined,
    tick: (time) => runTick(time.getTime(), { env, platform: PLATFORM, state }),
    async settled() {
      while (after.length > 0) await after.shift();
    },
    async stop() {
      await place.settled();
      server.closeAllConnections();
      server.close();
      await sandbox.stop();
    },
  };
  return place;
}
