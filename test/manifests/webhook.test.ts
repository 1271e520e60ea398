import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat } from "../../infra/tools/apply.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";
import { startReviewRecorder, type ReviewRecorder } from "./review-recorder.ts";

/** The shipped webhook configuration in an API server: what it sends to Lifeboat, and what it does not. */
const namespace = "default";
let sandbox: Sandbox;
let webhook: ReviewRecorder;

beforeAll(async () => {
  sandbox = await startSandbox({ terminationSeconds: 0 });
  webhook = await startReviewRecorder(sandbox.authority);
  await applyLifeboat(sandbox.client, { url: webhook.url, caPem: sandbox.caPem });
});
afterAll(async () => {
  await webhook.stop();
  await sandbox.stop();
});
beforeEach(() => {
  webhook.asked.length = 0;
});

async function createPod(name: string) {
  await sandbox.client.create(pods, {
    metadata: { namespace, name },
    spec: { containers: [{ name: "c", image: "example.com/c" }] },
  });
}

async function evict(name: string, options: { apiVersion?: string; query?: Record<string, string> } = {}) {
  const { apiVersion = "policy/v1", query = {} } = options;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const body = { apiVersion, kind: "Eviction", metadata: { namespace, name } };
  return sandbox.client.raw({ method: "POST", path, body, query });
}

describe("an eviction of a pod named", () => {
  // prettier-ignore
  const rows: readonly [string, boolean][] = [
    ["virt-launcher-web-abcde",  true ],
    ["hp-volume-fghij",          true ],
    ["web-abcde",                false],
    ["my-virt-launcher-abcde",   false],
    ["virt-launcherless-abcde",  false],
    ["hp-volumes-fghij",         false],
    ["virt-api-abcde",           false],
  ];
  test.each(rows)("%s is sent: %s", async (name, sent) => {
    await createPod(name);
    expect((await evict(name)).code).toBe(201);
    expect(webhook.asked.map((request) => request.name)).toEqual(sent ? [name] : []);
  });
});

test("nor is any namespace exempt", async () => {
  const key = { namespace: "kube-system", name: "virt-launcher-system-abcde" };
  const spec = { containers: [{ name: "c", image: "example.com/c" }] };
  await sandbox.client.create(pods, { metadata: key, spec });
  const path = `/api/v1/namespaces/${key.namespace}/pods/${key.name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: key };
  expect((await sandbox.client.raw({ method: "POST", path, body })).code).toBe(201);
  expect(webhook.asked.map((request) => request.name)).toEqual([key.name]);
});

test.each(["policy/v1", "policy/v1beta1"])("evictions of %s are sent", async (apiVersion) => {
  const name = `virt-launcher-${apiVersion.replace("policy/", "")}`;
  await createPod(name);
  expect((await evict(name, { apiVersion })).code).toBe(201);
  expect(webhook.asked).toMatchObject([{ name, object: { apiVersion: "policy/v1" } }]);
});

test("dry runs are sent, as such", async () => {
  await createPod("virt-launcher-dry");
  expect((await evict("virt-launcher-dry", { query: { dryRun: "All" } })).code).toBe(201);
  expect(webhook.asked).toMatchObject([{ name: "virt-launcher-dry", dryRun: true }]);
});

test("nothing else that happens to a launcher pod is sent", async () => {
  const name = "virt-launcher-other";
  await createPod(name);
  const labels = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
  await sandbox.client.patch(pods, { namespace, name }, labels);
  await sandbox.client.delete(pods, { namespace, name });
  expect(webhook.asked).toEqual([]);
});

test("with the webhook down an eviction is decided without it", async () => {
  await createPod("virt-launcher-alone");
  await webhook.stop();
  expect((await evict("virt-launcher-alone")).code).toBe(201);
  webhook = await startReviewRecorder(sandbox.authority);
});
