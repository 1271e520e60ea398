/** How long a drain takes is foretold: random drains in a cluster whose clock the test moves. */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  applyManifests,
  core,
  createNode,
  createSteppedClock,
  createVirtualMachineInstance,
  KUBEVIRT,
  kubevirt,
  kubeVirts,
  type SimulatedSandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { observePreflight } from "../../../shared/preflight/observe.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { connectTo } from "../../support/kube/connected.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { trust } from "../../support/test-cluster.ts";
import { settings } from "../../support/fixtures.ts";

const NAMESPACE = "vms";
const MEMORY_GIB = [1, 1, 2, 2, 4, 8, 16, 4];
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };
const FLAGS = { force: false, deleteEmptyDirData: false };

const clock = createSteppedClock();
let sandbox: SimulatedSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock });
  trust(sandbox);
  await applyManifests(sandbox.client, readManifests("crds/evacuations.yaml"));
  for (const name of ["node01", "node02"]) await createNode(sandbox.client, name, CAPACITY);
  for (const [index, memory] of MEMORY_GIB.entries()) {
    const vm = { namespace: NAMESPACE, name: `vm-${index}`, node: "node01", memory: `${memory}Gi` };
    await createVirtualMachineInstance(sandbox.client, { ...vm, evictionStrategy: "LiveMigrate" });
  }
});
afterAll(() => sandbox.stop());

async function cordon(name: string, unschedulable: boolean): Promise<void> {
  await sandbox.client.patch(core.nodes, { name }, { type: "merge", body: { spec: { unschedulable } } });
}

const nodesOfVms = async () =>
  (await sandbox.client.list(kubevirt.virtualMachineInstances, NAMESPACE)).items.map(({ status }) => status?.nodeName);

async function evictAll(node: string): Promise<void> {
  const { items } = await sandbox.client.list(core.pods, NAMESPACE, { fieldSelector: `spec.nodeName=${node}` });
  for (const { metadata } of items.filter(({ status }) => status?.phase === "Running")) {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}/eviction`;
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: NAMESPACE, name: metadata.name } };
    await sandbox.client.raw({ method: "POST", path, body });
  }
}

/** Before and after the memory, and for a GiB of it. */
const [AROUND_SECONDS, SECONDS_PER_GIB] = [12, 4];

interface Drain {
  readonly atOnce: number;
  /** Of each VM: how much longer it takes. */
  readonly busy: readonly number[];
}

function isNear({ time, took }: Awaited<ReturnType<typeof drained>>): boolean {
  return time !== undefined && took <= 2 * time.seconds.least && took >= time.seconds.most / 2;
}

/** Foretold, and what it took; both in seconds. */
async function drained([from, to]: readonly [string, string], { atOnce, busy }: Drain) {
  const limits = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: atOnce };
  const body = { spec: { configuration: { migrations: limits } } };
  await sandbox.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
  sandbox.migrations.configure({
    seconds: ({ name }) => {
      const index = Number(name.slice("vm-".length));
      return AROUND_SECONDS + SECONDS_PER_GIB * (MEMORY_GIB[index] ?? 0) * (busy[index] ?? 1);
    },
  });
  await cordon(from, true);
  await cordon(to, false);
  const cluster = connectTo({ server: sandbox.url, token: sandbox.adminToken, fetch });
  const observer = { cluster, settings: settings({ limits }), now: clock.now() };
  const facts = await observePreflight(from, FLAGS, observer);
  const time = facts && preflight(facts).time;
  const began = clock.now().getTime();
  // As `kubectl drain` does.
  for (let second = 0; (await nodesOfVms()).includes(from); second++) {
    if (second % 5 === 0) await evictAll(from);
    clock.advance(1000);
  }
  return { time, took: (clock.now().getTime() - began) / 1000 };
}

test("given a finished migration, nine of ten drains take no less than half and no more than twice of what is foretold", async () => {
  const busy = fc.array(fc.double({ min: 0.6, max: 1.6, noNaN: true }), { minLength: 8, maxLength: 8 });
  const atOnce = fc.integer({ min: 1, max: 5 });
  const drains = fc.sample(fc.record({ atOnce, busy }), { numRuns: 11, seed: 7 });
  const found: Awaited<ReturnType<typeof drained>>[] = [];
  for (const [index, drain] of drains.entries()) {
    const way = index % 2 === 0 ? (["node01", "node02"] as const) : (["node02", "node01"] as const);
    found.push(await drained(way, drain));
  }
  const known = found.slice(1);
  expect(known.filter(isNear).length).toBeGreaterThanOrEqual(known.length * 0.9);
}, 180_000);
