/**
 * Lifeboat in the cluster: drains while its replicas come and go, and their tokens are renewed. The webhook fails closed here, so a review that no replica answers ends the drain with an error.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { createVirtualMachineInstance, nodes, pods } from "../../infra/sandbox/index.ts";
import { type InCluster, isReady, startInCluster } from "./in-cluster-stage.ts";
import { closeQueue, NAMESPACE, openQueue } from "./stage.ts";
import { evacuationsOf, hasSettledAwayFrom, launcherOf, startQueued, untilVmi } from "./vm.ts";

const NODES = ["node01", "node02", "node03"];
/** Where a replica runs, unless a test asks for another one. */
let node = "node01";
let stage: InCluster;
beforeAll(async () => {
  stage = await startInCluster();
});
afterEach(async () => {
  node = "node01";
  const { client } = stage;
  await openQueue(client);
  const body = { spec: { unschedulable: null } };
  for (const name of NODES) await client.patch(nodes, { name }, { type: "merge", body });
  await stage.untilReady();
});
afterAll(() => stage.stop());

async function createVms(of: string, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, i) => `${of}-${i + 1}`);
  for (const name of names)
    await createVirtualMachineInstance(stage.client, {
      namespace: NAMESPACE,
      name,
      node,
      evictionStrategy: "LiveMigrate",
    });
  return names;
}

function drain() {
  const signal = AbortSignal.timeout(100_000);
  return { done: drainNode({ client: stage.client, node, onLine: () => undefined, signal, retryMs: 200, pollMs: 50 }) };
}

async function expectMoved(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const vmi = await untilVmi(stage.client, name, "settled elsewhere", hasSettledAwayFrom(node));
    expect(vmi.status?.phase).toBe("Running");
    const ended = [{ spec: { cause: "ApiEviction" }, status: { phase: "Moved", attempts: 0 } }];
    await expect.poll(() => evacuationsOf(stage.client, name)).toMatchObject(ended);
  }
}

async function replicaBy(isWanted: (name: string) => boolean) {
  const found = (await stage.replicas()).find(({ metadata }) => isWanted(metadata.name));
  if (found === undefined) throw new Error("no such replica");
  return found;
}

test("a drain of a replica's own node, and all tokens are renewed, and another replica is deleted", async () => {
  const names = await createVms("drained", 3);
  const { done } = await startQueued(stage.client, names, drain);
  await stage.sandbox.processes.renewTokens();
  await stage.untilReady();
  // The drain itself evicts one of them.
  await stage.client.delete(pods, (await replicaBy(() => true)).metadata);
  expect(await done).toBe(true);
  await expectMoved(names);
  await stage.untilReady();
}, 120_000);

/** A review that a killed process was working on is answered by nothing but the failurePolicy. */
test(
  "the leader is killed, and later gone for good: another replica ticks, and nothing is lost",
  { tags: ["nightly"], timeout: 120_000 },
  async () => {
    await stage.setFailurePolicy("Ignore");
    const used = (await stage.replicas()).map(({ spec }) => spec?.nodeName);
    node = NODES.find((name) => !used.includes(name)) ?? "";
    const names = await createVms("led", 4);
    const leader = (await stage.leader()) ?? "";
    const gone = await replicaBy((name) => name === leader);
    const { done } = await startQueued(stage.client, names, drain);
    stage.sandbox.processes.kill(gone.metadata.uid);
    await stage.untilReady();
    expect(await stage.leader()).toBe(leader);
    await stage.client.delete(pods, gone.metadata, { gracePeriodSeconds: 0 });
    expect(await done).toBe(true);
    await expectMoved(names);
    await expect.poll(() => stage.leader(), { timeout: 30_000 }).not.toBe(leader);
    await stage.setFailurePolicy("Fail");
  },
);

test("a replica is told to end: no deletion that the guard refuses goes through meanwhile", async () => {
  await closeQueue(stage.client);
  await createVms("refused", 1);
  const { metadata } = await launcherOf(stage.client, "refused-1");
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", lastTransitionTime };
  const status = { conditions: [condition] };
  await stage.client.patch(pods, metadata, { type: "strategic", body: { status } }, { subresource: "status" });
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
  const scheduler = stage.client.as("system:kube-scheduler");
  const codes = new Set<number>();
  const old = await replicaBy(() => true);
  await stage.client.delete(pods, old.metadata);
  const isGone = async () => {
    codes.add((await scheduler.raw({ method: "DELETE", path, body: {} })).code);
    return (await stage.client.get(pods, old.metadata))?.metadata.uid !== old.metadata.uid;
  };
  await expect.poll(isGone, { timeout: 60_000 }).toBe(true);
  expect([...codes]).toEqual([429]);
}, 120_000);

test("probes and metrics: each replica's own, and the cluster's once", async () => {
  const leader = await stage.leader();
  const [own, other] = [await replicaBy((name) => name === leader), await replicaBy((name) => name !== leader)];
  expect(isReady(own)).toBe(true);
  for (const pod of [own, other]) {
    expect((await stage.ask(pod, "/healthz")).code).toBe(200);
    const { text } = await stage.ask(pod, "/metrics");
    expect(text).toContain('lifeboat_relay_watching{watch="pods"}');
    expect(text.match(/# EOF\n/g)).toHaveLength(1);
    expect(text.includes("lifeboat_build_info")).toBe(pod === own);
  }
  expect((await stage.ask(own, "/metrics")).text).toContain('lifeboat_webhook_problems{webhook="evictions"} 0\n');
  await stage.client.delete(pods, own.metadata);
  await expect.poll(async () => (await stage.ask(own, "/readyz").catch(() => ({ code: 0 }))).code).toBe(503);
});
