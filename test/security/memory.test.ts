/** Objects as large as tenants may make them, in an isolate of limited memory. */
import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CANNED_POD, CANNED_VMI, list } from "../functions/support/canned-cluster.ts";
import { type Behaviour, json, type StubServer, startStubServer } from "../functions/support/stub-server.ts";

/** A Worker has 128 for everything that it does at a time. */
const MEGABYTES = 96;
const VMIS = 120;
const TENANTS = 30;
/** As many as fit into one answer. */
const BUDGETS = 30;
const TAKERS = 10;
/** On each of them. */
const PODS = 8;

/** So many of one object, page by page. The client hangs up when it has read enough. */
function many(count: number, object: unknown): Behaviour {
  const text = JSON.stringify(object);
  return async (response, { query }) => {
    const from = Number(query.get("continue") ?? 0);
    const to = Math.min(count, from + Number(query.get("limit")));
    const parts = function* () {
      yield `{"kind":"List","metadata":{"continue":"${to < count ? to : ""}"},"items":[${text}`;
      for (let i = from + 1; i < to; i++) yield `,${text}`;
      yield "]}";
    };
    await pipeline(parts, response).catch(() => undefined);
  };
}

const of = (namespace: string) => ({ ...CANNED_VMI, metadata: { ...CANNED_VMI.metadata, namespace } });
/** About what etcd takes. */
const volumes = [{ name: "seed", cloudInitNoCloud: { userData: "x".repeat(1_400_000) } }];
const LARGE_VMIS = many(VMIS, { ...CANNED_VMI, spec: { ...CANNED_VMI.spec, volumes } });
/** About what fits into annotations. */
const annotations = { note: "x".repeat(250_000) };
const LARGE_BUDGETS = many(BUDGETS, { metadata: { ...CANNED_VMI.metadata, annotations }, spec: {} });
const containers = [{ name: "c", env: [{ name: "x", value: "x".repeat(1_100_000) }] }];
const ONE_EACH = list(...Array.from({ length: TENANTS }, (_, i) => of(`tenant-${i}`)));

const LARGE_PODS = many(PODS, {
  ...CANNED_POD,
  metadata: { ...CANNED_POD.metadata, annotations },
  spec: { ...CANNED_POD.spec, containers },
});
const conditions = [{ type: "Ready", status: "True" }];
const nodeOf = (name: string, pressure: readonly object[] = []) => ({
  metadata: { name, uid: name, resourceVersion: "1" },
  spec: {},
  status: { allocatable: { memory: "64Gi" }, conditions: [...conditions, ...pressure] },
});
const PRESSED = nodeOf("node-0", [{ type: "MemoryPressure", status: "True" }]);
const NODES = list(...Array.from({ length: TAKERS }, (_, i) => nodeOf(`node-${i + 1}`)));

const servers: StubServer[] = [];
let withVmis: StubServer;
let withBudgets: StubServer;
let withPods: StubServer;
beforeAll(async () => {
  withVmis = await startStubServer(() => LARGE_VMIS);
  withBudgets = await startStubServer(({ path }) => {
    if (path.endsWith("/poddisruptionbudgets")) return LARGE_BUDGETS;
    return path.endsWith("/virtualmachineinstances") ? ONE_EACH : list();
  });
  withPods = await startStubServer(({ path }) => {
    if (path.endsWith("/pods")) return LARGE_PODS;
    return path.endsWith("/nodes") ? NODES : path.endsWith("/node-0") ? json(PRESSED) : list();
  });
  servers.push(withVmis, withBudgets, withPods);
});
afterAll(async () => {
  for (const server of servers) await server.stop();
});

async function run(how: string, server: StubServer): Promise<unknown> {
  const worker = new Worker(new URL("memory-isolate.ts", import.meta.url), {
    workerData: { server: server.url, how },
    resourceLimits: { maxOldGenerationSizeMb: MEGABYTES },
  });
  const [answer]: readonly unknown[] = await once(worker, "message");
  await worker.terminate();
  return answer;
}

test("a page of them as a whole is more than it holds", async () => {
  await expect(run("at once", withVmis)).rejects.toMatchObject({ code: "ERR_WORKER_OUT_OF_MEMORY" });
});

test("Lifeboat reads them all", async () => {
  expect(await run("as Lifeboat", withVmis)).toBe(VMIS);
});

test("and the budgets of thirty tenants, each of them large", { timeout: 60_000 }, async () => {
  expect(await run("budgets", withBudgets)).toBe(TENANTS * BUDGETS);
});

test("and the pods of ten nodes, each of them large", { timeout: 60_000 }, async () => {
  // On a slow machine some of them take too long.
  expect(await run("rooms", withPods)).toBeGreaterThan(0);
});
