/** Tests pods that run as processes of this machine, and webhooks behind a Service. */
import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { deployments, namespaces, pods, serviceAccounts } from "../actors/resources.ts";
import { createNode } from "../fleet.ts";
import type { Images } from "../processes/images.ts";
import { type Sandbox, startSandbox } from "../sandbox.ts";

/**
 * A program that answers with its environment variables and its token. After a request for `/unready`, its readiness
 * probe fails. It exits 50 ms after SIGTERM.
 */
const PROGRAM = `
const { readFileSync } = require("node:fs");
const token = () => readFileSync(process.env.ROOT + "/account/token", "utf8");
let ready = true;
const server = require("node:http").createServer((request, response) => {
  if (request.url === "/unready") ready = false;
  if (request.url === "/ready") return response.writeHead(ready ? 200 : 503).end();
  response.end(JSON.stringify({ env: process.env, token: token(), pid: process.pid }));
});
server.listen(process.env.PORT);
process.on("SIGTERM", () => setTimeout(() => process.exit(0), 50));
`;

const IMAGES: Images = new Map([
  [
    "example.com/program:1",
    ({ env, root, portOf }) => ({
      command: process.execPath,
      args: ["-e", PROGRAM],
      env: { ...env, ROOT: root, PORT: String(portOf(80)) },
    }),
  ],
]);

const TOKEN = { serviceAccountToken: { path: "token", expirationSeconds: 3600 } };
const CA = { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } };
const TEMPLATE = {
  metadata: { labels: { app: "program" } },
  spec: {
    serviceAccountName: "program",
    terminationGracePeriodSeconds: 5,
    containers: [
      {
        name: "program",
        image: "example.com/program:1",
        env: [
          { name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "COLOUR", value: "blue" },
        ],
        ports: [{ name: "http", containerPort: 80 }],
        readinessProbe: { httpGet: { path: "/ready", port: "http" }, periodSeconds: 1, failureThreshold: 1 },
        volumeMounts: [{ name: "account", mountPath: "/account" }],
      },
    ],
    volumes: [{ name: "account", projected: { sources: [TOKEN, CA] } }],
  },
};

let sandbox: Sandbox;
afterEach(() => sandbox.stop());

async function start(replicas: number): Promise<void> {
  sandbox = await startSandbox({ images: IMAGES });
  const { client } = sandbox;
  await createNode(client, "node01");
  await client.create(namespaces, { metadata: { name: "programs" } });
  await client.create(serviceAccounts, { metadata: { namespace: "programs", name: "program" } });
  const spec = { replicas, selector: { matchLabels: { app: "program" } }, template: TEMPLATE };
  await client.create(deployments, { metadata: { namespace: "programs", name: "program" }, spec });
  await expect.poll(ready, { timeout: 10_000 }).toHaveLength(replicas);
}

async function live() {
  return (await sandbox.client.list(pods, "programs")).items;
}

async function ready() {
  const isReady = ({ status }: Awaited<ReturnType<typeof live>>[number]) =>
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
  return (await live()).filter(isReady);
}

async function only() {
  const [pod] = await ready();
  if (pod === undefined) throw new Error("no pod is ready");
  const port = () => sandbox.processes.portOf(pod.metadata.uid, 80);
  const ask = async (path = "/") => await (await fetch(`http://127.0.0.1:${port()}${path}`)).json();
  return { pod, ask: ask as (path?: string) => Promise<{ env: Record<string, string>; token: string; pid: number }> };
}

test("a Deployment's pods run processes with their environment, and tokens that the API server accepts", async () => {
  await start(1);
  const { pod, ask } = await only();
  const { env, token } = await ask();
  const { hostname, port } = new URL(sandbox.url);
  expect(env).toMatchObject({ WHO: pod.metadata.name, COLOUR: "blue", KUBERNETES_SERVICE_HOST: hostname });
  expect(env.KUBERNETES_SERVICE_PORT).toBe(port);
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const { body } = await sandbox.client.raw({ method: "POST", path, body: review });
  expect(body).toMatchObject({ status: { user: { username: "system:serviceaccount:programs:program" } } });
  await sandbox.processes.renewTokens();
  expect(hash((await ask()).token)).not.toBe(hash(token));
});

test("the readiness of a pod follows its probe", async () => {
  await start(1);
  const { ask } = await only();
  await ask("/unready");
  await expect.poll(ready, { timeout: 5_000 }).toEqual([]);
});

test("a killed process is restarted in the same pod", async () => {
  await start(1);
  const { pod, ask } = await only();
  const { pid } = await ask();
  sandbox.processes.kill(pod.metadata.uid);
  await expect
    .poll(
      () =>
        ask().then(
          (answer) => answer.pid,
          () => pid,
        ),
      { timeout: 10_000 },
    )
    .not.toBe(pid);
  expect((await live()).map(({ metadata }) => metadata.uid)).toEqual([pod.metadata.uid]);
});

test("the process of a deleted pod ends, and another pod replaces it", async () => {
  await start(2);
  const [gone] = await ready();
  await sandbox.client.delete(pods, gone?.metadata ?? { name: "" });
  const isGone = async () => (await live()).every(({ metadata }) => metadata.uid !== gone?.metadata.uid);
  await expect.poll(isGone, { timeout: 5_000 }).toBe(true);
  await expect.poll(ready, { timeout: 10_000 }).toHaveLength(2);
});

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
