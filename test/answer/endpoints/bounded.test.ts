/** What a look costs is what is under way, whatever else is in the cluster; and a tenant's budgets are that tenant's trouble. */
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createFinishedMigrations, createPlaces, createVms, type Vm } from "../../../infra/lab/bench/population.ts";
import { namespaces, podDisruptionBudgets } from "../../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { evacuations } from "../../../infra/lab/stage/evacuations.ts";
import { asWebhook, type Doors, NOW, openDoors } from "../../support/doors.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

const UNDER_WAY = 3;
const VMS = 60;
/** A minute that is not one for a full scan. */
const LIGHT = tickTime("prod", "small");

let cluster: TestCluster;
let doors: Doors;
let vms: readonly Vm[];
let objects = 0;
const reach = globalThis.fetch;

beforeAll(async () => {
  cluster = await startTestCluster();
  // Nothing acts in this cluster, and Lifeboat waits for KubeVirt.
  await cluster.configure({ evacuation: { adoptSeconds: 604_800 } });
  await createPlaces(cluster.client, 0, 2 * VMS);
  vms = await createVms(cluster.client, 0, VMS);
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const answer = await reach(url, init);
    objects += objectsIn(await answer.clone().json());
    return answer;
  });
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await cluster.stop();
});
beforeEach(() => {
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
});

function objectsIn(body: unknown): number {
  const items: unknown = typeof body === "object" && body !== null && "items" in body ? body.items : undefined;
  return Array.isArray(items) ? items.length : 1;
}

async function scan(): Promise<unknown> {
  const { body } = await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
  return body;
}

async function objectsOfTick(): Promise<number> {
  objects = 0;
  await doors.tick(LIGHT);
  return objects;
}

test("a tick reads what is under way: neither other VMs nor their finished migrations", async () => {
  const moving = vms.slice(0, UNDER_WAY);
  for (const { namespace, name, node } of moving) {
    const patch = { type: "merge", body: { status: { evacuationNodeName: node } } } as const;
    await cluster.client.patch(kubevirt.virtualMachineInstances, { namespace, name }, patch);
  }
  await scan();
  expect((await cluster.client.list(evacuations)).items).toHaveLength(UNDER_WAY);
  const before = await objectsOfTick();

  await createVms(cluster.client, VMS, 2 * VMS);
  await createFinishedMigrations(cluster.client, vms.slice(UNDER_WAY));
  expect(await objectsOfTick()).toBe(before);
});

const LARGE = "x".repeat(250_000);

test("200 budgets of 250 KB in a tenant's namespace: every other VM gets what it is to get", async () => {
  const { client } = cluster;
  await client.create(namespaces, { metadata: { name: "greedy" } });
  for (let index = 0; index < 200; index++) {
    // Labelled as if they were Lifeboat's: any others are not even listed.
    const labels = { "app.kubernetes.io/managed-by": "lifeboat" };
    await client.create(podDisruptionBudgets, {
      metadata: { namespace: "greedy", name: `large-${index}`, labels, annotations: { note: LARGE } },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "none" } } },
    });
  }
  await client.create(kubevirt.virtualMachineInstances, {
    metadata: { namespace: "greedy", name: "own" },
    spec: { domain: { devices: {} }, evictionStrategy: "LiveMigrate" },
    status: { phase: "Running", nodeName: "node01" },
  });
  await cluster.createVm({ name: "new", strategy: "LiveMigrate" });
  await scan();
  const { items } = await client.list(podDisruptionBudgets, "apps");
  expect(items.map(({ metadata }) => metadata.ownerReferences?.[0]?.name)).toEqual(["new"]);
  expect(doors.now()).toEqual(NOW);
});
