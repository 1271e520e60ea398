/**
 * Runs Lifeboat's replicas in the cluster, behind a Service. Each replica is a server in this process, and one pod
 * represents all replicas. A killed replica restarts under the same name, as a container does.
 */
import { Agent } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import * as z from "zod/mini";
import type { Clock } from "../../../relay/clock.ts";
import { createNode, kubeconfigOf, leases, nodes, pods, serviceAccounts } from "../../../sandbox/index.ts";
import { type Server, startServer } from "../../../server/server.ts";
import { applyInCluster, codeFrom, inClusterManifests, SERVER } from "../../stage/in-cluster.ts";
import { mutatingConfigurations, webhookConfigurations } from "../../stage/webhooks.ts";
import { listenOnLoopback } from "../links.ts";
import type { Form, FormOptions, Proxy, Replica } from "./form.ts";

export const NODE = "lifeboat";
export const CONTROL_PLANE = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };
const CLUSTER = "local";
const WEBHOOK_TOKEN = "token-of-the-chaos-runs";
const HTTPS_PORT = 8443;
/** A replica answers an invalid review with this status code if the webhook token is valid. */
const NO_REVIEW = 400;
const WEBHOOKS = [
  ["lifeboat", webhookConfigurations],
  ["lifeboat-guard", mutatingConfigurations],
] as const;
/** Another client that acquires the replicas' Lease. */
export const STRANGER = "stranger";
const PATIENCE_MS = 60_000;
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

export async function startInClusterForm({ sandbox, links, optional }: FormOptions): Promise<Form> {
  const { client } = sandbox;
  const proxy = await startProxy();
  await applyInCluster(client, optional, { webhookToken: WEBHOOK_TOKEN });
  await createNode(client, NODE);
  await client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints: [CONTROL_PLANE] } } });
  const { metadata } = await client.create(pods, playingReplicas());
  sandbox.network.lead(metadata.uid, HTTPS_PORT, proxy.port);
  const account = { namespace: SERVER.namespace, name: "lifeboat" };
  const { token } = z.parse(TokenRequest, await client.post(serviceAccounts, account, "token", { spec: {} })).status;

  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const servers = new Map<string, Server>();
  /** The names of replicas that have stopped. A new replica gets one of these names. */
  const free: string[] = [];
  let count = 0;

  const startReplica = async (onDeath: () => void): Promise<Replica> => {
    const name = free.pop() ?? `lifeboat-server-${++count}`;
    const watches = links.open(`${name}.watches`, () => undefined);
    const link = links.open(name, () => {
      watches.close();
      onDeath();
    });
    const opened = Promise.withResolvers<number>();
    const running = await startServer({
      environment: { cluster: CLUSTER, identity: name, httpsPort: 0, port: 0, root: "" },
      account: {
        server: link.url,
        kubeConfig: kubeconfigOf({ url: watches.url, user: name, token }),
        token: () => token,
      },
      clock: FAST_CLOCK,
      log(_, message, details = {}) {
        if (message === "serving") opened.resolve(Number(details["port"]));
      },
      onFatal: opened.reject,
    });
    servers.set(name, running);
    const url = `https://127.0.0.1:${await opened.promise}`;
    const headers = { authorization: `Bearer ${WEBHOOK_TOKEN}` };
    return {
      name,
      url,
      link,
      watches,
      async reconcile() {
        const signal = AbortSignal.timeout(PATIENCE_MS);
        await codeFrom(`${url}/clusters/${CLUSTER}/reconcile`, { headers, agent, signal });
      },
      tick: () => Promise.resolve(),
    };
  };

  /** Connects as the API server does, and trusts only the webhook's caBundle. Returns the problems. */
  const problemsOf = async ([name, resource]: (typeof WEBHOOKS)[number]): Promise<readonly string[]> => {
    const [webhook] = (await client.get(resource, { name }))?.webhooks ?? [];
    const { caBundle = "", service } = webhook?.clientConfig ?? {};
    const options = { ca: Buffer.from(caBundle, "base64"), agent: false };
    const answer = await codeFrom(`https://127.0.0.1:${proxy.port}${service?.path}`, options).catch(String);
    return answer === NO_REVIEW ? [] : [`no replica answers the webhook ${name}: ${answer}`];
  };

  return {
    proxy,
    start: startReplica,
    async end({ name, link }) {
      const server = servers.get(name);
      servers.delete(name);
      const wasDead = link.isDead;
      if (wasDead) free.push(name);
      await server?.stop();
      if (!wasDead) free.push(name);
      link.close();
    },
    startRelay: () => ({ stop: () => Promise.resolve() }),
    async problems(names) {
      const holder = (await client.get(leases, SERVER))?.spec?.holderIdentity ?? "";
      const isHeld = names.includes(holder) || holder === STRANGER;
      const problems = await Promise.all(WEBHOOKS.map(problemsOf));
      return [...(isHeld ? [] : [`no replica holds the Lease; holder: ${holder || "none"}`]), ...problems.flat()];
    },
    async stop() {
      agent.destroy();
      await proxy.stop();
    },
  };
}

/** Simulates Lifeboat's Service, which forwards TLS connections to the replicas in turn. */
async function startProxy(): Promise<Proxy & { readonly port: number; stop(): Promise<void> }> {
  const open = new Map<Socket, string>();
  const server = createServer((socket) => {
    const answering = proxy.answering();
    if (answering === undefined) return void socket.destroy();
    const behind = connect(Number(new URL(answering.url).port), "127.0.0.1");
    open.set(socket, answering.name);
    socket.on("close", () => open.delete(socket));
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  const proxy = {
    port: await listenOnLoopback(server),
    answering: (): Replica | undefined => undefined,
    drop(name: string) {
      for (const [socket, by] of open) if (by === name) socket.destroy();
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open.keys()) socket.destroy();
      await closed;
    },
  };
  return proxy;
}

const Shipped = z.object({
  spec: z.object({
    template: z.object({ spec: z.object({ tolerations: z.array(z.record(z.string(), z.unknown())) }) }),
  }),
});

function shippedTolerations() {
  const [found] = inClusterManifests().filter(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === SERVER.name,
  );
  return z.parse(Shipped, found).spec.template.spec.tolerations;
}

/** Simulates the replicas' pod. The pod is ready at once, because no process runs in it. */
function playingReplicas() {
  const labels = { "app.kubernetes.io/name": SERVER.name };
  const ports = [{ name: "https", containerPort: HTTPS_PORT }];
  const containers = [{ name: "server", image: "registry.example.com/lifeboat", ports }];
  return { metadata: { ...SERVER, labels }, spec: { nodeName: NODE, tolerations: shippedTolerations(), containers } };
}

/** A replica pauses this long between two renewals of the Lease, and before it stops. */
const SECONDS_5_MS = 5000;
/** Only the pause until the next full minute is longer than 30 s. */
const LONG_MS = 30_000;
const SPEED = 20;

/** Shortens the pauses of exactly 5 s and of more than 30 s, because a run is short. */
const FAST_CLOCK: Clock = {
  now: () => new Date(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms === SECONDS_5_MS || ms > LONG_MS ? ms / SPEED : ms);
    return () => clearTimeout(timer);
  },
};
