/**
 * Tests objects of the maximum size that tenants can create, in an isolate with limited memory.
 * @module-tag nightly
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { Behaviour } from "../../support/answers.ts";
import { POD_OBJECT, VMI_OBJECT, configured, list } from "../../support/cluster/one-vm.ts";
import { startStubServer } from "../../support/stub-server.ts";

/** The memory of the isolate. A Worker has 128 MB for all parallel work. */
const MEGABYTES = 96;
const LARGE = 120;
const REVIEWS = 120;

/** These volumes make a VMI almost too large for etcd. */
const volumes = [{ name: "seed", cloudInitNoCloud: { userData: "x".repeat(1_400_000) } }];
const LARGE_VMI = { ...VMI_OBJECT, spec: { ...VMI_OBJECT.spec, volumes } };
const labels = Object.fromEntries(
  Array.from({ length: 12_000 }, (_, i) => [`tenants.example.com/${i}`, "x".repeat(63)]),
);
const LARGE_POD = {
  ...POD_OBJECT,
  metadata: { ...POD_OBJECT.metadata, labels: { ...POD_OBJECT.metadata.labels, ...labels } },
};

/** Streams a list page by page, because the client closes the connection when it has read enough. */
const pages =
  (object: unknown): Behaviour =>
  ({ query }) => {
    const text = JSON.stringify(object);
    const item = (i: number) => text.replace(/"name":"[^"]+"/, `"name":"virt-launcher-${i}"`);
    const from = Number(query.get("continue") ?? 0);
    const to = Math.min(LARGE, from + Number(query.get("limit")));
    const parts = function* () {
      yield `{"kind":"List","metadata":{"resourceVersion":"5","continue":"${to < LARGE ? to : ""}"},"items":[${item(from)}`;
      for (let i = from + 1; i < to; i++) yield `,${item(i)}`;
      yield "]}";
    };
    return new Response(ReadableStream.from(parts()).pipeThrough(new TextEncoderStream()));
  };

/** Sends the last byte of the object one second late, so that all answers are in memory at the same time. */
function nearlyAll(object: unknown): Behaviour {
  const text = JSON.stringify(object);
  const parts = async function* () {
    yield text.slice(0, -1);
    await delay(1000);
    yield text.slice(-1);
  };
  return () => new Response(ReadableStream.from(parts()).pipeThrough(new TextEncoderStream()));
}

async function inIsolate(behaviour: (path: string) => Behaviour, order: object): Promise<unknown> {
  const server = await startStubServer(({ path }) => behaviour(path));
  onTestFinished(() => server.stop());
  const worker = new Worker(new URL("isolate.ts", import.meta.url), {
    workerData: { server: server.url, ...order },
    resourceLimits: { maxOldGenerationSizeMb: MEGABYTES },
  });
  const [answer]: readonly unknown[] = await once(worker, "message");
  await worker.terminate();
  return answer;
}

test("an isolate lists VMIs that together exceed its memory", async () => {
  expect(await inIsolate(() => pages(LARGE_VMI), { doing: "list" })).toBe(LARGE);
});

test("an isolate answers reviews that together exceed its memory, some with 429", { timeout: 60_000 }, async () => {
  const [pod, vmi] = [nearlyAll(LARGE_POD), nearlyAll(LARGE_VMI)];
  const behaviour = (path: string) => {
    if (path.includes("/pods/")) return pod;
    if (path.includes("/virtualmachineinstances/")) return vmi;
    return path.includes("/lifeboatconfigurations/") ? configured({}) : list();
  };
  const answered = await inIsolate(behaviour, { doing: "review", reviews: REVIEWS });
  expect(answered).toEqual({ busy: expect.any(Number), reviewed: expect.any(Number) });
  const { busy, reviewed } = Object(answered);
  expect(Math.min(busy, reviewed)).toBeGreaterThan(0);
  expect(busy + reviewed).toBe(REVIEWS);
});

test("the watch of a server counts a tenant's pods that together exceed its memory", async () => {
  expect(await inIsolate(() => pages(LARGE_POD), { doing: "watch" })).toBe(LARGE);
});

test("a forecast reports how many of a tenant's pods were too much for its memory", async () => {
  const node = { metadata: { name: "node-1", uid: "1", resourceVersion: "1" }, spec: {}, status: {} };
  const behaviour = (path: string) => {
    if (path.endsWith("/pods")) return pages(LARGE_POD);
    return path.endsWith("/nodes") ? list(node) : list();
  };
  const unread = await inIsolate(behaviour, { doing: "forecast" });
  expect(unread).toEqual([`${LARGE} pods of the node`, `${LARGE} pods of other nodes`]);
});
