/**
 * One deployment, several clusters: what happens to one never touches another.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat, configureLifeboat } from "../../infra/tools/apply.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { type RunningWorker, startWorker } from "../../infra/tools/worker.ts";
import { NAMESPACE } from "./stage.ts";
import { evict, getVmi, hasSettledAwayFrom, launchersOf, untilVmi } from "./vm.ts";

const NAMES = ["east", "west"] as const;
type Name = (typeof NAMES)[number];

let clusters: Record<Name, Sandbox>;
let worker: RunningWorker;
const logged: string[] = [];

beforeAll(async () => {
  const [east, west] = await Promise.all(
    NAMES.map(() => startSandbox({ migrationSeconds: 0.1, terminationSeconds: 0.05 })),
  );
  if (east === undefined || west === undefined) throw new Error("no sandboxes");
  clusters = { east, west };
  const nowhere = "https://127.0.0.1:1/";
  const entries = await Promise.all(
    NAMES.map(async (name) => {
      const { client, caPem, url: server } = clusters[name];
      const { token } = await applyLifeboat(client, { url: nowhere, caPem });
      return [name, { server, token, webhookToken: `the-token-of-${name}` }] as const;
    }),
  );
  worker = await startWorker({
    authority: east.authority,
    trusted: [west.caPem],
    clusters: Object.fromEntries(entries),
    onLog: (line) => logged.push(line),
  });
  for (const name of NAMES) {
    const url = `${worker.url}/clusters/${name}/admission/evictions/the-token-of-${name}`;
    await applyLifeboat(clusters[name].client, { url, caPem: east.caPem });
    await configureLifeboat(clusters[name].client, { evacuation: { adoptSeconds: 0 } });
    for (const node of ["node01", "node02"]) await createNode(clusters[name].client, node);
    await createVirtualMachineInstance(clusters[name].client, {
      namespace: NAMESPACE,
      name: "vm",
      evictionStrategy: "LiveMigrate",
      node: "node01",
    });
  }
});
afterAll(async () => {
  await worker.stop();
  await clusters.west.stop();
});

function reconcile(name: Name, token = `the-token-of-${name}`) {
  return worker.fetch(`/clusters/${name}/reconcile`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
}

test("a token opens its own cluster only", async () => {
  expect((await reconcile("east")).status).toBe(200);
  expect((await reconcile("west", "the-token-of-east")).status).toBe(401);
});

test("with one API server gone, the other cluster's evictions, ticks and reconciles go on", async () => {
  await clusters.east.stop();
  const gone = await reconcile("east");
  expect(gone.status).toBe(503);
  expect(await gone.json()).toEqual({
    error: { reason: "ClusterUnavailable", message: "the API server cannot be reached" },
  });
  expect((await reconcile("west")).status).toBe(200);

  const { client } = clusters.west;
  const [launcher] = await launchersOf(client, await getVmi(client, "vm"));
  if (launcher === undefined) throw new Error("no launcher");
  expect(await evict(client, launcher)).toMatchObject({ code: 429 });
  // A full tick: every tenth minute.
  await worker.scheduled(new Date("2026-01-01T00:10:00Z"));
  await untilVmi(client, "vm", "moved", hasSettledAwayFrom("node01"));
  const { items } = await client.list(pods, NAMESPACE, { labelSelector: "kubevirt.io=virt-launcher" });
  expect(items.filter((pod) => pod.status?.phase === "Running").map((pod) => pod.spec?.nodeName)).toEqual(["node02"]);
});

test("nothing that was logged holds a token", () => {
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line.includes("token-of-"))).toEqual([]);
});
