/**
 * Tests drains while two in-cluster replicas of Lifeboat restart and their tokens are renewed. The failurePolicy is
 * Fail, so the drain fails if no replica answers a review.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { configureLifeboat, GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { IS_REAL, startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { applyInCluster, SERVER, serverImages } from "../../infra/lab/stage/in-cluster.ts";
import {
  createNode,
  createVirtualMachineInstance,
  isSimulated,
  isTrue,
  leases,
  migrations,
  nodes,
  type Pod,
  pods,
  type Sandbox,
  type SimulatedSandbox,
} from "../../infra/sandbox/index.ts";
import { keepLogsOfFailure } from "../support/setup/keep-logs.ts";
import { areWebhooksPointed, until } from "./in-cluster-form.ts";
import { mutatingConfigurations } from "../../infra/lab/stage/webhooks.ts";
import { closeQueue, NAMESPACE, openQueue, QUICK, WEBHOOK_CONFIGURATIONS } from "./stage.ts";
import { evacuationsOf, hasSettledAwayFrom, launcherOf, setDisrupted, startQueued, untilVmi } from "./vm.ts";

const NODES = ["node01", "node02", "node03"];
const PROBES_PORT = 8080;
/**
 * A migration must take longer than the relay needs to react. A real API server sends events later than a simulated API
 * server.
 */
const MIGRATION_SECONDS = IS_REAL ? 3 : 0.3;

let sandbox: Sandbox;
beforeAll(async () => {
  const images = serverImages();
  sandbox = await startSandboxAsChosen({ migrationSeconds: MIGRATION_SECONDS, terminationSeconds: 0.05, images });
  for (const name of NODES) await createNode(sandbox.client, name);
  await applyInCluster(sandbox.client, GUARD_FILES);
  const featureGates = { PreemptionEvictionLiveMigration: true };
  await configureLifeboat(sandbox.client, { ...QUICK, featureGates });
  await untilReady();
  await until("has a caBundle in each webhook object", () => areWebhooksPointed(sandbox.client));
  // With the shipped failurePolicy Ignore, the test would not notice a failed review.
  await setFailurePolicy("Fail");
});
afterEach(async () => {
  await openQueue(sandbox.client);
  const body = { spec: { unschedulable: null } };
  for (const name of NODES) await sandbox.client.patch(nodes, { name }, { type: "merge", body });
  await untilReady();
});
afterAll(async () => {
  await keepLogsOfFailure(sandbox);
  await sandbox.stop();
});

async function replicas(): Promise<readonly Pod[]> {
  const { items } = await sandbox.client.list(pods, SERVER.namespace);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function replicaBy(isWanted: (name: string) => boolean): Promise<Pod> {
  const found = (await replicas()).find(({ metadata }) => isWanted(metadata.name));
  if (found === undefined) throw new Error("no such replica");
  return found;
}

const isReady = ({ status }: Pod) => isTrue(status?.conditions, "Ready");
const untilReady = () => until("is ready twice", async () => (await replicas()).filter(isReady).length >= 2);

const holder = async () => (await sandbox.client.get(leases, SERVER))?.spec?.holderIdentity;

function simulated(): SimulatedSandbox {
  if (!isSimulated(sandbox)) throw new Error("a real control plane injects no faults");
  return sandbox;
}

async function setFailurePolicy(value: "Fail" | "Ignore"): Promise<void> {
  const body = [{ op: "replace", path: "/webhooks/0/failurePolicy", value }];
  for (const resource of [WEBHOOK_CONFIGURATIONS, mutatingConfigurations]) {
    const { items } = await sandbox.client.list(resource);
    for (const { metadata } of items.filter((one) => one.metadata.name.startsWith("lifeboat")))
      await sandbox.client.patch(resource, metadata, { type: "json", body });
  }
}

async function createVms(of: string, node: string, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, i) => `${of}-${i + 1}`);
  const vm = { namespace: NAMESPACE, node, evictionStrategy: "LiveMigrate" };
  for (const name of names) await createVirtualMachineInstance(sandbox.client, { ...vm, name });
  return names;
}

function drain(node: string) {
  const signal = AbortSignal.timeout(100_000);
  const quick = { onLine: () => undefined, retryMs: 200, pollMs: 50 };
  return { done: drainNode({ client: sandbox.client, node, signal, ...quick }) };
}

async function expectMoved(names: readonly string[], node: string): Promise<void> {
  for (const name of names) {
    const vmi = await untilVmi(sandbox.client, name, "settled elsewhere", hasSettledAwayFrom(node));
    expect(vmi.status?.phase).toBe("Running");
    const ended = [{ spec: { cause: "ApiEviction" }, status: { phase: "Moved", attempts: 0 } }];
    await expect.poll(() => evacuationsOf(sandbox.client, name)).toMatchObject(ended);
  }
}

test("while a drain evicts a replica, renewed tokens and a deleted replica lose no VM and no migration's cause", async () => {
  const names = await createVms("drained", "node01", 3);
  const { done } = await startQueued(sandbox.client, names, () => drain("node01"));
  await sandbox.processes.renewTokens();
  await untilReady();
  await sandbox.client.delete(pods, (await replicaBy(() => true)).metadata);
  expect(await done).toBe(true);
  await expectMoved(names, "node01");
  const causes = async () => {
    const { items } = await sandbox.client.list(migrations, NAMESPACE);
    const own = items.filter(({ metadata }) => metadata.annotations?.["kubevirt.io/evacuationMigration"] === "node01");
    return own.map(({ metadata }) => metadata.annotations?.["lifeboat.dev/cause"]);
  };
  await expect.poll(causes).toEqual(names.map(() => "ApiEviction"));
  await untilReady();
}, 120_000);

/** The failurePolicy is Ignore in this test, because a killed process cannot answer a review. */
test(
  "when the leader is killed and later deleted, another replica takes the Lease, and no VM is lost",
  { tags: ["nightly"], timeout: 120_000 },
  async () => {
    await setFailurePolicy("Ignore");
    const used = (await replicas()).map(({ spec }) => spec?.nodeName);
    const node = NODES.find((name) => !used.includes(name)) ?? "";
    const names = await createVms("led", node, 4);
    const leader = (await holder()) ?? "";
    const gone = await replicaBy((name) => name === leader);
    const { done } = await startQueued(sandbox.client, names, () => drain(node));
    sandbox.processes.kill(gone.metadata.uid);
    await untilReady();
    expect(await holder()).toBe(leader);
    await sandbox.client.delete(pods, gone.metadata, { gracePeriodSeconds: 0 });
    expect(await done).toBe(true);
    await expectMoved(names, node);
    await expect.poll(holder, { timeout: 30_000 }).not.toBe(leader);
    await setFailurePolicy("Fail");
  },
);

/**
 * Counts the requests in the VMs' namespace. The other requests depend on the drain's duration and not on the number of
 * VMs. `npm run bench` measures all requests of a drain of 200 VMs.
 */
test(
  "a drain makes at most 18 requests for each VM in its namespace",
  { tags: ["faults"], timeout: 120_000 },
  async () => {
    const names = await createVms("counted", "node01", 6);
    const { faults } = simulated().apiServer;
    const match = { users: ["system:serviceaccount:lifeboat-system:lifeboat"] };
    // The delay of 0 ms makes `faults` record the requests, and changes none of them.
    const stop = faults.inject({ match, effect: { type: "Latency", milliseconds: 0 } });
    const { done } = await startQueued(sandbox.client, names, () => drain("node01"));
    expect(await done).toBe(true);
    await expectMoved(names, "node01");
    stop();
    const counted = faults.injected.filter(({ path }) => path.includes(`/namespaces/${NAMESPACE}/`));
    expect(counted.length / names.length).toBeLessThanOrEqual(18);
  },
);

test("while a replica terminates, the guard refuses every deletion", async () => {
  await closeQueue(sandbox.client);
  await createVms("refused", "node01", 1);
  const launcher = await launcherOf(sandbox.client, "refused-1");
  await setDisrupted(sandbox.client, launcher, "PreemptionByScheduler");
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${launcher.metadata.name}`;
  const scheduler = sandbox.client.as("system:kube-scheduler");
  const codes = new Set<number>();
  const old = await replicaBy(() => true);
  await sandbox.client.delete(pods, old.metadata);
  const isGone = async () => {
    codes.add((await scheduler.raw({ method: "DELETE", path, body: {} })).code);
    return (await sandbox.client.get(pods, old.metadata))?.metadata.uid !== old.metadata.uid;
  };
  await expect.poll(isGone, { timeout: 60_000 }).toBe(true);
  expect([...codes]).toEqual([429]);
}, 120_000);

async function ask({ metadata }: Pod, path: string) {
  const port = sandbox.processes.portOf(metadata.uid, PROBES_PORT) ?? 0;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return { code: answer.status, text: await answer.text() };
}

test("each replica serves its own probes and metrics, and only the leader serves the cluster's metrics", async () => {
  const leader = await holder();
  const [own, other] = [await replicaBy((name) => name === leader), await replicaBy((name) => name !== leader)];
  expect(isReady(own)).toBe(true);
  // Makes this change before the first request, because the port of the probes caches an answer for half a minute.
  const changed = { op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: "" };
  await sandbox.client.patch(mutatingConfigurations, { name: "lifeboat-guard" }, { type: "json", body: [changed] });
  for (const pod of [own, other]) {
    expect((await ask(pod, "/healthz")).code).toBe(200);
    const { text } = await ask(pod, "/metrics");
    expect(text).toContain('lifeboat_relay_watching{watch="pods"}');
    expect(text.match(/# EOF\n/g)).toHaveLength(1);
    expect(text.includes("lifeboat_build_info")).toBe(pod === own);
  }
  expect((await ask(own, "/metrics")).text).toContain('lifeboat_webhook_problems{webhook="evictions"} 0\n');
  expect((await ask(own, "/metrics")).text).toContain('lifeboat_webhook_problems{webhook="deletions"} 1\n');
  await applyInCluster(sandbox.client, ["optional/guard/guard.yaml"]);
  const [, due = ""] =
    /^lifeboat_certificate_renewal_timestamp_seconds (\S+)$/m.exec((await ask(own, "/metrics")).text) ?? [];
  expect(Number(due) * 1000 - Date.now()).toBeGreaterThan(3000 * 86_400_000);
  await sandbox.client.delete(pods, own.metadata);
  await expect.poll(async () => (await ask(own, "/readyz").catch(() => ({ code: 0 }))).code).toBe(503);
}, 120_000);
