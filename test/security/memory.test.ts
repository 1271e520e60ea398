/** Objects as large as a tenant may make them, in an isolate of limited memory. */
import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CANNED_VMI } from "../functions/support/canned-cluster.ts";
import { type StubServer, startStubServer } from "../functions/support/stub-server.ts";

const VMIS = 120;
/** About what etcd takes. */
const BYTES = 1_400_000;
/** A Worker has 128 for everything that it does at a time. */
const MEGABYTES = 96;

let server: StubServer;
beforeAll(async () => {
  const volumes = [{ name: "seed", cloudInitNoCloud: { userData: "x".repeat(BYTES) } }];
  const text = JSON.stringify({ ...CANNED_VMI, spec: { ...CANNED_VMI.spec, volumes } });
  server = await startStubServer(({ query }) => async (response) => {
    const from = Number(query.get("continue") ?? 0);
    const to = Math.min(VMIS, from + Number(query.get("limit")));
    const parts = function* () {
      yield `{"kind":"VirtualMachineInstanceList","metadata":{"continue":"${to < VMIS ? to : ""}"},"items":[${text}`;
      for (let i = from + 1; i < to; i++) yield `,${text}`;
      yield "]}";
    };
    // Whoever has read enough hangs up.
    await pipeline(parts, response).catch(() => undefined);
  });
});
afterAll(() => server.stop());

async function run(how: string): Promise<unknown> {
  const worker = new Worker(new URL("memory-isolate.ts", import.meta.url), {
    workerData: { server: server.url, how },
    resourceLimits: { maxOldGenerationSizeMb: MEGABYTES },
  });
  const [answer]: readonly unknown[] = await once(worker, "message");
  await worker.terminate();
  return answer;
}

test("a page of them as a whole is more than it holds", async () => {
  await expect(run("at once")).rejects.toMatchObject({ code: "ERR_WORKER_OUT_OF_MEMORY" });
});

test("Lifeboat reads them all", async () => {
  expect(await run("as Lifeboat")).toBe(VMIS);
});
