/**
 * Runs Lifeboat as a Deployment on its own node. The Deployment has only one replica, because a test's request for a
 * full scan makes only one replica read a changed configuration.
 */
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { deployments, type KubeClient, nodes, pods, type Resource, type Sandbox } from "../../infra/sandbox/index.ts";
import * as z from "zod/mini";
import type { Manifest } from "../../infra/cli/install/manifests.ts";
import { isDeployment } from "../../infra/cli/install/plan.ts";
import { applyAsCommand } from "../../infra/lab/stage/apply.ts";
import { HOST } from "../../infra/server/names.ts";
import { applyInCluster, inClusterManifests, SERVER } from "../../infra/lab/stage/in-cluster.ts";
import type { Answered, Asked, Form, FormOptions, RunningForm } from "./form.ts";

const WEBHOOK_PORT = 8443;
const WEBHOOK_CONFIGURATIONS: Resource = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};
export const NODE = "lifeboat";
const LABELS = { "kubernetes.io/hostname": NODE };
const TOLERATIONS = [{ operator: "Exists" }];
const TAINT = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };

export async function startInClusterForm(sandbox: Sandbox, options: FormOptions): Promise<Form> {
  const { client } = sandbox;
  const { cluster, webhookToken, optional, configure } = options;
  const install = (files: readonly string[]) =>
    applyInCluster(client, files, { cluster, webhookToken, isWanted: (manifest) => !isDeployment(manifest) });
  await install(optional);
  await configure();
  await client.create(nodes, { metadata: { name: NODE, labels: LABELS }, spec: { taints: [TAINT] } });
  await applyAsCommand(client, inClusterManifests([], { cluster }).filter(isDeployment).map(placed));
  const scale = async (replicas: number) => {
    await client.patch(deployments, SERVER, { type: "merge", body: { spec: { replicas } } });
  };
  const live = async () => (await client.list(pods, SERVER.namespace)).items;
  const port = async () => {
    const [pod] = await live();
    return pod === undefined ? undefined : sandbox.processes.portOf(pod.metadata.uid, WEBHOOK_PORT);
  };
  const ask = async (path: string, init: Asked = {}): Promise<Answered> =>
    await answerOf((await port()) ?? 0, path, init);
  const isServing = async () => (await ask("/healthz").catch(() => undefined))?.status === 200;
  const isReady = async () => (await live()).every(({ status }) => status?.conditions?.some(isReadyCondition));
  const isAsked = () => areWebhooksPointed(client);
  const start = async () => {
    await scale(1);
    await until("serves", isServing);
    await until("is ready", isReady);
    await until("has a caBundle in each webhook object", isAsked);
  };
  const running: RunningForm = {
    url: `https://${HOST}`,
    fetch: ask,
    // Requests a full scan, because the server's own timer fires only at full minutes.
    async scheduled() {
      const headers = { authorization: `Bearer ${webhookToken}` };
      await (await ask(`/clusters/${cluster}/reconcile`, { method: "POST", headers })).text();
    },
    async stop() {
      await scale(0);
      for (const { metadata } of await live()) await client.delete(pods, metadata, { gracePeriodSeconds: 0 });
      await until("is gone", async () => (await live()).length === 0);
    },
  };
  await start();
  return {
    stop: () => running.stop(),
    current: () => running,
    restart: start,
    another: () => Promise.resolve({ ...running, stop: nothing }),
    async reinstall(files) {
      await install(files);
      await until("has a caBundle in each webhook object", isAsked);
    },
  };
}

/** Returns true if each webhook object has its caBundle. Lifeboat writes the objects one after another. */
export async function areWebhooksPointed(client: KubeClient): Promise<boolean> {
  const { items } = await client.list(WEBHOOK_CONFIGURATIONS);
  const ours = items.filter(({ metadata }) => metadata.name.startsWith("lifeboat"));
  return ours.length > 0 && ours.every((one) => JSON.stringify(one).includes('"caBundle"'));
}

const isReadyCondition = ({ type, status }: { readonly type: string; readonly status: string }) =>
  type === "Ready" && status === "True";

const Deployment = z.looseObject({
  spec: z.looseObject({ template: z.looseObject({ spec: z.looseObject({}) }) }),
});

function placed(manifest: Manifest): Manifest {
  if (!isDeployment(manifest)) return manifest;
  const { spec } = Deployment.parse(manifest);
  const template = {
    ...spec.template,
    spec: { ...spec.template.spec, nodeSelector: LABELS, tolerations: TOLERATIONS },
  };
  return { ...manifest, spec: { ...spec, replicas: 1, template } };
}

/** Polls without `expect`, because some stages start in `beforeAll`, in which `expect.poll` does not work. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = AbortSignal.timeout(60_000);
  while (!(await isSo())) {
    if (end.aborted) throw new Error(`waited a minute in vain until Lifeboat ${what}`);
    await delay(50);
  }
}

const nothing = () => Promise.resolve();

async function answerOf(port: number, path: string, { method = "GET", headers = {}, body }: Asked): Promise<Answered> {
  const options = { host: "127.0.0.1", port, path, method, headers, rejectUnauthorized: false };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(options).on("error", reject).on("response", resolve).end(body);
  });
  response.setEncoding("utf8");
  const text = (await response.toArray()).join("");
  const type = response.headers["content-type"] ?? "";
  return new Response(text, { status: response.statusCode ?? 0, headers: { "content-type": type } });
}
