/**
 * Runs the tests that KEP-1397 lists, with Lifeboat's own descheduler. A webhook starts to move a pod and refuses the
 * pod's eviction.
 */
import { dump } from "js-yaml";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod/mini";
import { configMaps, nodes, pods } from "../../infra/sandbox/index.ts";
import { policyOf, type PolicyFile } from "./descheduling-stage.ts";
import { createMovable, type Mover, startMover } from "./mover.ts";
import { type Stage, startStage } from "./stage.ts";

const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };
const MOVED = "moved";
const CycleAnswer = z.object({ evacuationsInProgress: z.number(), results: z.record(z.string(), z.number()) });

let stage: Stage;
let mover: Mover;
beforeAll(async () => {
  stage = await startStage({
    optional: ["optional/descheduling/descheduling.yaml"],
    configuration: { featureGates: { EvictionsInBackground: true } },
  });
  const { client } = stage;
  mover = await startMover(client, MOVED);
  const taints = [{ key: "maintenance", value: "soon", effect: "NoSchedule" }];
  await client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
  await client.create(configMaps, { metadata: POLICY, data: {} });
});
beforeEach(() => {
  mover.asked.length = 0;
  mover.starts = () => undefined;
});
afterEach(async () => {
  for (const { metadata } of (await stage.client.list(pods, MOVED)).items) await stage.client.delete(pods, metadata);
  await expect.poll(async () => (await stage.client.list(pods, MOVED)).items).toEqual([]);
});
afterAll(async () => {
  await mover.stop();
  await stage.stop();
});

async function setPolicy(keys: PolicyFile): Promise<void> {
  const data = { "policy.yaml": dump(policyOf("RemovePodsViolatingNodeTaints", {}, keys)) };
  await stage.client.patch(configMaps, POLICY, { type: "merge", body: { data } });
}

async function cycle() {
  const { code, body } = await stage.ask("POST", "/deschedule");
  if (code !== 200) throw new Error(`deschedule answered ${code}: ${JSON.stringify(body)}`);
  return CycleAnswer.parse(body);
}

const results = async () => (await cycle()).results;
const key = (name: string) => ({ namespace: MOVED, name });
const create = (name: string, inProgress = false) =>
  createMovable(stage.client, key(name), { nodeName: "node01", inProgress });
const asked = () => mover.asked.map(({ pod }) => pod);

test("EvacuationInBackground: the webhook that refused an eviction removes the pod after its delay, not before", async () => {
  const delayMs = 3000;
  const removed: number[] = [];
  mover.starts = (name) =>
    void setTimeout(() => {
      removed.push(Date.now());
      void stage.client.delete(pods, key(name));
    }, delayMs);
  await setPolicy({});
  await create("web");
  expect(await cycle()).toMatchObject({ results: { Background: 1 }, evacuationsInProgress: 1 });
  const pod = await stage.client.get(pods, key("web"));
  expect([pod?.metadata.name, pod?.metadata.deletionTimestamp, removed]).toEqual(["web", undefined, []]);
  await stage.stopWorker();
  await stage.restartWorker();
  const again = await cycle();
  // On a very slow machine, the pod is already gone.
  if (removed.length === 0) expect(again).toMatchObject({ results: { InProgress: 1 }, evacuationsInProgress: 1 });
  await expect.poll(() => stage.client.get(pods, key("web")), { timeout: 30_000 }).toBeUndefined();
  expect([asked(), removed.length]).toEqual([["web"], 1]);
  expect((removed[0] ?? 0) - (mover.asked[0]?.at ?? 0)).toBeGreaterThanOrEqual(delayMs - 1);
  expect(await cycle()).toMatchObject({ results: {}, evacuationsInProgress: 0 });
});

test("EvacuationLimitReached: evictions in progress count toward the limit of evictions", async () => {
  await setPolicy({ maxNoOfPodsToEvictTotal: 3 });
  // The descheduler handles the pods with an eviction in progress first, although their names sort last.
  for (const name of ["x", "y"]) await create(name, true);
  for (const name of ["a", "b", "c"]) await create(name);
  const first = await cycle();
  expect(first).toMatchObject({
    results: { InProgress: 2, Background: 1, evictionsTotal: 1 },
    evacuationsInProgress: 3,
  });
  expect(asked()).toEqual(["a"]);
  expect(await results()).toEqual({ InProgress: 3, evictionsTotal: 1 });
  expect(asked()).toEqual(["a"]);
  await stage.client.delete(pods, key("y"));
  await expect.poll(() => stage.client.get(pods, key("y"))).toBeUndefined();
  expect(await results()).toEqual({ InProgress: 2, Background: 1, evictionsTotal: 1 });
  expect(asked()).toEqual(["a", "b"]);
});

test("EvacuationLimitReached: evacuation limits per node and namespace count evacuations in progress", async () => {
  for (const limit of ["maxNoOfPodsEvacuationsPerNode", "maxNoOfPodsEvacuationsPerNamespace"]) {
    await setPolicy({ [limit]: 1 });
    await create(`${limit.toLowerCase()}-x`, true);
    await create(`${limit.toLowerCase()}-a`);
    const { results: found, evacuationsInProgress } = await cycle();
    expect([found["InProgress"], found["Background"], evacuationsInProgress]).toEqual([1, undefined, 1]);
    for (const name of ["x", "a"]) await stage.client.delete(pods, key(`${limit.toLowerCase()}-${name}`));
    await expect.poll(async () => (await stage.client.list(pods, MOVED)).items).toEqual([]);
  }
  expect(asked()).toEqual([]);
});

test("EvacuationTTL: an unanswered request expires after the TTL, and the next cycle repeats the request", async () => {
  const ttlSeconds = 4;
  await setPolicy({ maxEvacuationRequestTTL: `${ttlSeconds}s`, maxNoOfPodsToEvictTotal: 1 });
  await create("lost");
  expect(await results()).toEqual({ Background: 1 });
  await expect.poll(async () => (await results())["Background"], { timeout: 60_000, interval: 200 }).toBe(1);
  expect(asked()).toEqual(["lost", "lost"]);
  const [first, second] = mover.asked;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(ttlSeconds * 1000);
});

test("EvacuationTTL: a permanent in-progress annotation counts toward a limit for one TTL", async () => {
  await setPolicy({ maxEvacuationRequestTTL: "4s", maxNoOfPodsToEvictTotal: 1 });
  await create("a");
  await create("forever", true);
  expect(await results()).toMatchObject({ InProgress: 1 });
  expect(asked()).toEqual([]);
  await expect
    .poll(async () => [await results(), asked()] as const, { timeout: 60_000, interval: 200 })
    .toEqual([{ Background: 1, evictionsTotal: 1 }, ["a"]]);
});
