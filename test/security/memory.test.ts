/** Objects as large as tenants may make them, in an isolate of limited memory. */
import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CANNED_VMI, list } from "../functions/support/canned-cluster.ts";
import { type Behaviour, type StubServer, startStubServer } from "../functions/support/stub-server.ts";

/** A Worker has 128 for everything that it does at a time. */
const MEGABYTES = 96;
const VMIS = 120;
const TENANTS = 30;
/** As many as fit into one answer. */
const BUDGETS = 30;

/** So many of one object, page by page. Whoever has read enough hangs up. */
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
const ONE_EACH = list(...Array.from({ length: TENANTS }, (_, i) => of(`tenant-${i}`)));

const servers: StubServer[] = [];
let withVmis: StubServer;
let withBudgets: StubServer;
beforeAll(async () => {
  withVmis = await startStubServer(() => LARGE_VMIS);
  withBudgets = await startStubServer(({ path }) => {
    if (path.endsWith("/poddisruptionbudgets")) return LARGE_BUDGETS;
    return path.endsWith("/virtualmachineinstances") ? ONE_EACH : list();
  });
  servers.push(withVmis, withBudgets);
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
