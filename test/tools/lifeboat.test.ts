/**
 * Lifeboat beside a sandbox: the manifests as they are installed, the Worker as it comes and goes.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { pathOf, secrets } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat } from "../../infra/tools/apply.ts";
import { startLifeboat, type Lifeboat } from "../../infra/tools/lifeboat.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";
import { startWorker } from "../../infra/tools/worker.ts";

let sandbox: Sandbox;
let lifeboat: Lifeboat;

beforeAll(async () => {
  sandbox = await startSandbox();
  lifeboat = await startLifeboat(sandbox);
});
afterAll(async () => {
  await lifeboat.worker.stop();
  await sandbox.stop();
});

test("installed again, the token stays what it was", async () => {
  const tokens = async () => (await sandbox.client.list(secrets, "lifeboat-system")).items.map(({ data }) => data);
  const before = await tokens();
  const { token } = await applyLifeboat(sandbox.client, { ...lifeboat, caPem: sandbox.caPem });
  expect(await tokens()).toEqual(before);
  const answer = await sandbox.client.raw({
    method: "GET",
    path: pathOf({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true }),
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.code).toBe(200);
});

test("a Worker that went down comes back where it was", async () => {
  const { port, url } = lifeboat.worker;
  const clusters = {};
  const { authority } = sandbox;
  await lifeboat.worker.stop();
  const back = await startWorker({ authority, clusters, port });
  expect(back.url).toBe(url);
  expect((await back.fetch("/healthz")).status).toBe(200);
  await back.stop();
  lifeboat = await startLifeboat(sandbox);
});

test("two clusters, two Workers: each is trusted by its own, and one may serve both", async () => {
  const other = await startSandbox({ empty: true });
  const entry = {
    server: other.url,
    token: other.adminToken,
    webhookToken: "w".repeat(16),
    operatorToken: "o".repeat(16),
  };
  const { authority } = sandbox;
  const distrusting = await startWorker({ authority, clusters: { other: entry } });
  const trusting = await startWorker({ authority, clusters: { other: entry }, trusted: [other.caPem] });
  const ask = async (worker: typeof trusting) => {
    const answer = await worker.fetch("/clusters/other/readyz", {
      headers: { authorization: `Bearer ${entry.operatorToken}` },
    });
    await answer.text();
    return answer.status;
  };
  // The one cannot ask, the other has asked.
  expect([await ask(distrusting), await ask(trusting)]).toEqual([503, 200]);
  await Promise.all([distrusting.stop(), trusting.stop(), other.stop()]);
});
