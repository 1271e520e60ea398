/**
 * Runs Lifeboat outside of the cluster: Workers behind one address, and the relay. One workerd process can simulate all
 * Workers, because it keeps separate memory for each cluster name in the registry.
 */
import type { ServerResponse } from "node:http";
import { Agent, createServer } from "node:https";
import { createSecureContext } from "node:tls";
import type { Authority } from "../../../sandbox/index.ts";
import { applyLifeboat } from "../../stage/apply.ts";
import { installRelay, startRelayBeside } from "../../stage/relay.ts";
import { tickTime } from "../../stage/tick-times.ts";
import { startWorker } from "../../stage/worker.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { forward, listenOnLoopback, stopListening } from "../links.ts";
import { persist } from "../wait.ts";
import type { Form, FormOptions, Proxy, Replica } from "./form.ts";

const WEBHOOK_TOKEN = "webhook-token-of-the-chaos-runs";
const RELAY_SECRET = `whsec_${Buffer.alloc(32, "relay of the chaos runs").toString("base64")}`;
/** The maximum wait for pending requests at the end of a run. */
const PATIENCE_MS = 60_000;

export async function startWorkerForm({ sandbox, links, optional }: FormOptions): Promise<Form> {
  const { client, authority, caPem } = sandbox;
  const proxy = await startProxy(authority);
  const { token } = await applyLifeboat(client, { url: proxy.url, webhookToken: WEBHOOK_TOKEN, caPem, optional });
  const relayTo = {
    kubeConfig: await installRelay(sandbox),
    endpoint: new URL(`${proxy.url}/events`),
    secret: RELAY_SECRET,
    fetch,
  };
  const bundle = await buildWorker();
  const worker = await startWorker({ authority, clusters: {}, registry: true, bundle });
  let count = 0;

  return {
    proxy,
    async start(onDeath) {
      const name = `worker-${++count}`;
      const link = links.open(name, onDeath);
      const entry = { server: link.url, token, webhookToken: WEBHOOK_TOKEN, relaySecret: RELAY_SECRET };
      // Repeats the registration if the connection to Miniflare breaks.
      await persist(() => worker.registry.set(name, entry));
      const url = `${worker.url}/clusters/${name}`;
      return {
        name,
        url,
        link,
        async reconcile() {
          const headers = { authorization: `Bearer ${WEBHOOK_TOKEN}` };
          const signal = AbortSignal.timeout(PATIENCE_MS);
          await (await fetch(`${url}/reconcile`, { method: "POST", headers, signal })).text();
        },
        tick: () => worker.scheduled(tickTime(name, "small")),
      };
    },
    async end({ name, link }) {
      link.close();
      await persist(() => worker.registry.remove(name));
    },
    startRelay: () => startRelayBeside(relayTo),
    problems: () => Promise.resolve([]),
    async stop() {
      await worker.stop();
      await proxy.stop();
    },
  };
}

interface RunningProxy extends Proxy {
  readonly url: string;
  stop(): Promise<void>;
}

async function startProxy(authority: Authority): Promise<RunningProxy> {
  const { certPem, keyPem } = await authority.issue(["127.0.0.1", "localhost"]);
  // Closes idle connections after 4 s, because workerd closes them after 5 s. Connections then break only because of
  // the run's faults.
  const secureContext = createSecureContext({ ca: authority.caPem });
  const agent = new Agent({ keepAlive: true, timeout: 4000, secureContext });
  const open = new Map<ServerResponse, string>();
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const answering = proxy.answering();
    if (answering === undefined) return void response.destroy();
    open.set(response, answering.name);
    response.on("close", () => open.delete(response));
    forward(`${answering.url}${request.url ?? ""}`, agent, { request, response });
  });
  const port = await listenOnLoopback(server);
  const proxy: RunningProxy = {
    url: `https://127.0.0.1:${port}`,
    answering: (): Replica | undefined => undefined,
    drop(name) {
      for (const [response, by] of open) if (by === name) response.destroy();
    },
    async stop() {
      await stopListening(server);
      agent.destroy();
    },
  };
  return proxy;
}
