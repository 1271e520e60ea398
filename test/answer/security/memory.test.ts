/**
 * Objects as large as tenants may make them, in an isolate of limited memory.
 * @module-tag nightly
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import { json } from "../../support/answers.ts";
import { CANNED_POD, CANNED_VMI, configured, list } from "../../support/canned-cluster.ts";
import type { Behaviour } from "../../support/answers.ts";
import { type StubServer, startStubServer } from "../../support/stub-server.ts";

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
  return ({ query }) => {
    const from = Number(query.get("continue") ?? 0);
    const to = Math.min(count, from + Number(query.get("limit")));
    const parts = function* () {
      yield `{"kind":"List","metadata":{"continue":"${to < count ? to : ""}"},"items":[${text}`;
      for (let i = from + 1; i < to; i++) yield `,${text}`;
      yield "]}";
    };
    return new Response(ReadableStream.from(parts()).pipeThrough(new TextEncoderStream()));
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
  metadata: {
    ...CANNED_POD.metadata,
    creationTimestamp: "2026-11-20T11:00:00Z",
    annotations: { ...CANNED_POD.metadata.annotations, ...annotations },
  },
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

/** Whole but for its last byte, so that all answers are on their way at the same time. */
function nearlyAll(object: unknown): Behaviour {
  const text = JSON.stringify(object);
  const parts = async function* () {
    yield text.slice(0, -1);
    await delay(1000);
    yield text.slice(-1);
  };
  return () => new Response(ReadableStream.from(parts()).pipeThrough(new TextEncoderStream()));
}
/** Nothing of the one is needed, all of the other. */
const UNREAD = { ...CANNED_POD, spec: { ...CANNED_POD.spec, containers } };
const labels = Object.fromEntries(
  Array.from({ length: 12_000 }, (_, i) => [`tenants.example.com/${i}`, "x".repeat(63)]),
);
const KEPT = {
  ...CANNED_POD,
  metadata: { ...CANNED_POD.metadata, labels: { ...CANNED_POD.metadata.labels, ...labels } },
};
const LARGE_VMI = { ...CANNED_VMI, spec: { ...CANNED_VMI.spec, volumes } };

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
    if (path.endsWith("/virtualmachineinstances")) return list(CANNED_VMI);
    return path.endsWith("/nodes") ? NODES : path.endsWith("/node-0") ? json(PRESSED) : list();
  });
  servers.push(withVmis, withBudgets, withPods);
});
afterAll(async () => {
  for (const server of servers) await server.stop();
});

const run = (how: string, { url: server }: StubServer) => runIn("memory-isolate.ts", { server, how });

async function runIn(file: string, workerData: unknown): Promise<unknown> {
  const worker = new Worker(new URL(file, import.meta.url), {
    workerData,
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

test("and the budgets of thirty tenants, each of them large", async () => {
  expect(await run("budgets", withBudgets)).toBe(TENANTS * BUDGETS);
});

test("and the pods of ten nodes that could take a VM, each of them large", { timeout: 120_000 }, async () => {
  expect(await run("rooms", withPods)).toBe(TAKERS);
});

describe.each([
  ["a pod of which nothing is needed", UNREAD],
  ["a pod with 12,000 labels", KEPT],
])("120 evictions at a time, as a dry run, of %s", (_, pod) => {
  test("are answered, those that there is no room for with 429", { timeout: 60_000 }, async () => {
    const [large, larger] = [nearlyAll(pod), nearlyAll(LARGE_VMI)];
    const server = await startStubServer(({ path }) => {
      if (path.includes("/pods/")) return large;
      if (path.includes("/virtualmachineinstances/")) return larger;
      return path.includes("/lifeboatconfigurations/") ? configured({}) : list();
    });
    onTestFinished(() => server.stop());
    const { busy, reviewed } = Counts.parse(await runIn("review-isolate.ts", { server: server.url, reviews: 120 }));
    expect(reviewed).toBeGreaterThan(0);
    expect(busy).toBeGreaterThan(0);
    expect(busy + reviewed).toBe(120);
  });
});

const Counts = z.object({ busy: z.number(), reviewed: z.number() });

test.each(["prod", "a cluster that there is not"])(
  "nothing is kept of strangers' sign-ins to %s",
  { timeout: 180_000 },
  async (cluster) => {
    // A digest takes about 200 bytes.
    expect(await runIn("sign-in-isolate.ts", { cluster, signIns: 4000 })).toBeLessThan(50);
  },
);
