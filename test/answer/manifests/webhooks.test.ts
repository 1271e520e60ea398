/**
 * Tests which evictions and deletions an API server sends to Lifeboat's webhooks, with the shipped webhook
 * configurations.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { pods, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { applyLifeboat } from "../../../infra/lab/stage/apply.ts";

const TOKEN = "token";
const Review = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  request: z.object({ uid: z.string(), name: z.string(), operation: z.string() }),
});

/**
 * The reviewed requests and their endpoints. This is a set, because the API server sends a deletion to the webhook
 * twice if it removes the pod at once.
 */
const asked = new Set<string>();
let sandbox: Sandbox;
let webhook: Server;

async function answerTo(incoming: IncomingMessage): Promise<string> {
  const { request, ...head } = Review.parse(await json(incoming));
  asked.add(`${request.operation} ${request.name} at ${incoming.url?.split("?")[0]}`);
  return JSON.stringify({ ...head, response: { uid: request.uid, allowed: true } });
}

async function startWebhook(): Promise<string> {
  const { certPem, keyPem } = await sandbox.authority.issue(["127.0.0.1"]);
  webhook = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    answerTo(incoming).then(
      (text) => outgoing.end(text),
      () => outgoing.destroy(),
    );
  });
  await once(webhook.listen(0, "127.0.0.1"), "listening");
  const address = webhook.address();
  return `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

async function stopWebhook(): Promise<void> {
  webhook.closeAllConnections();
  await once(webhook.close(), "close");
}

beforeAll(async () => {
  // The sandbox has no nodes, so only the tests delete pods, and the webhook records no other deletions.
  sandbox = await startSandbox({ terminationSeconds: 0 });
  const site = { url: await startWebhook(), webhookToken: TOKEN, caPem: sandbox.caPem };
  await applyLifeboat(sandbox.client, { ...site, optional: ["optional/guard/guard.yaml"] });
});
afterAll(() => sandbox.stop());
beforeEach(() => asked.clear());

type Labels = Readonly<Record<string, string>> | undefined;

async function createPod(namespace: string, name: string, labels?: Labels): Promise<string> {
  const spec = { containers: [{ name: "c", image: "example.com/c" }] };
  await sandbox.client.create(pods, { metadata: { namespace, name, ...(labels && { labels }) }, spec });
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

// prettier-ignore
test.each<[namespace: string, name: string, isSent: boolean]>([
  ["default",     "virt-launcher-web-abcde",    true ],
  ["default",     "hp-volume-fghij",            true ],
  ["default",     "web-abcde",                  false],
  ["kube-system", "virt-launcher-system-abcde", true ],
])("an eviction in namespace %s of pod %s is sent: %s", async (namespace, name, isSent) => {
  await evict(await createPod(namespace, name), { namespace, name });
  expect([...asked]).toEqual(isSent ? [`CREATE ${name} at /admission/evictions/${TOKEN}`] : []);
});

async function evict(path: string, metadata: object): Promise<void> {
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
  expect((await sandbox.client.raw({ method: "POST", path: `${path}/eviction`, body })).code).toBe(201);
}

const SCHEDULER = "system:kube-scheduler";
const LAUNCHER = { "kubevirt.io": "virt-launcher" };
let created = 0;

/**
 * Deletes a new pod as the user. Returns true if the API server called the guard's webhook. Fails if the API server
 * called another endpoint.
 */
async function isSent(user: string, labels: Labels, status?: object): Promise<boolean> {
  const name = `virt-launcher-${++created}`;
  const path = await createPod("default", name, labels);
  const patch = { type: "merge", body: { status } } as const;
  if (status) await sandbox.client.patch(pods, { namespace: "default", name }, patch, { subresource: "status" });
  const client = sandbox.client.as(user, ["system:masters", "system:authenticated"]);
  expect((await client.raw({ method: "DELETE", path })).code).toBe(200);
  if (asked.size > 0) expect([...asked]).toEqual([`DELETE ${name} at /admission/deletions/${TOKEN}`]);
  return asked.size > 0;
}

describe("a deletion of a launcher pod by", () => {
  // prettier-ignore
  const rows: readonly [string, boolean][] = [
    [SCHEDULER,                                                     true ],
    ["system:serviceaccount:kube-system:node-controller",           true ],
    ["system:serviceaccount:kube-system:taint-eviction-controller", true ],
    ["system:serviceaccount:kube-system:device-taint-eviction-controller", true ],
    ["system:serviceaccount:kube-system:karpenter",                 true ],
    ["system:serviceaccount:karpenter:karpenter",                   true ],
    ["kubernetes-admin",                                            false],
    ["system:kube-controller-manager",                              false],
    ["system:serviceaccount:kube-system:namespace-controller",      false],
    ["system:serviceaccount:lifeboat-system:lifeboat",              false],
    ["system:serviceaccount:default:node-controller",               false],
  ];
  test.each(rows)("%s is reviewed: %s", async (user, sent) => {
    expect(await isSent(user, LAUNCHER)).toBe(sent);
  });
});

describe("a deletion by the scheduler of a pod with the labels", () => {
  // prettier-ignore
  test.each<[Labels, boolean]>([
    [LAUNCHER,                              true ],
    [{ "kubevirt.io": "hotplug-disk" },     true ],
    [{ "kubevirt.io": "virt-api" },         false],
    [{},                                    false],
    // If a pod without labels caused a CEL error, the API server would skip the webhook or refuse the deletion.
    [undefined,                             false],
  ])("%j is reviewed: %s", async (labels, sent) => {
    expect(await isSent(SCHEDULER, labels)).toBe(sent);
  });
});

const ready = (status: string, reason?: string) => ({ type: "Ready", status, ...(reason && { reason }) });

/**
 * In the condition Ready of a pod that is not ready, the kubelet sets a reason (kubernetes/kubernetes
 * pkg/kubelet/status/generate.go). If the node is lost, MarkPodsNotReady in pkg/controller/util/node sets no reason.
 */
describe("a deletion by the scheduler of a launcher pod", () => {
  const disrupted = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
  const tainted = { ...disrupted, reason: "DeletionByTaintManager" };
  const contained = { type: "ContainersReady", status: "True" };
  // prettier-ignore
  test.each<[string, readonly object[] | undefined, boolean]>([
    ["that is ready is reviewed",                                            [contained, ready("True"), disrupted],                                   true ],
    ["that is not ready because of its guest is reviewed",                   [ready("False", "ContainersNotReady"), disrupted],                       true ],
    ["that is not ready because its node is lost is not reviewed",           [contained, ready("False"), disrupted],                                  false],
    ["with a taint's condition, which a policy refuses, is not reviewed",    [contained, ready("True"), tainted],                                     false],
    ["without a status is reviewed",                                         undefined,                                                               true ],
  ])("%s", async (_, conditions, sent) => {
    const status = conditions && { conditions };
    expect(await isSent(SCHEDULER, LAUNCHER, status)).toBe(sent);
  });
});

test("with Lifeboat down, evictions and deletions without policies are allowed", async () => {
  const key = { namespace: "default", name: "virt-launcher-alone" };
  const path = await createPod(key.namespace, key.name);
  await stopWebhook();
  await evict(path, key);
  expect(await isSent(SCHEDULER, LAUNCHER)).toBe(false);
});
