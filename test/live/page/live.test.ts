/** Pages that follow what happens: in real workerd, over a real connection. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createVirtualMachineInstance } from "../../../infra/sandbox/fleet.ts";
import { evacuations } from "../../../infra/lab/stage/evacuations.ts";
import { CLUSTER, NODES, type PageStage, startPageStage } from "./support/page-stage.ts";
import { watch } from "./support/watch.ts";

let stage: PageStage;
let url: string;

beforeAll(async () => {
  stage = await startPageStage();
  url = `${stage.worker.url}/fleet/${CLUSTER}`;
});
afterAll(() => stage.stop());

/** So many requests reach the API server while every one of the watchers hears twice more how old its page is. */
async function costOf(watchers: number): Promise<number> {
  const cookie = await stage.cookie();
  const watching = await Promise.all(Array.from({ length: watchers }, () => watch(url, cookie)));
  await Promise.all(watching.map((one) => one.next("asof")));
  const before = stage.proxy.requests.length;
  for (let i = 0; i < 2; i++) await Promise.all(watching.map((one) => one.next("asof")));
  const cost = stage.proxy.requests.length - before;
  await Promise.all(watching.map((one) => one.leave()));
  return cost;
}

test("ten watchers of a page cost a cluster no more than two would", async () => {
  const alone = await costOf(1);
  expect(alone).toBeGreaterThan(0);
  expect(await costOf(10)).toBeLessThanOrEqual(2 * alone);
});

test("what happens is told without being asked for; while nothing does, only how old the page is", async () => {
  const watcher = await watch(url, await stage.cookie());
  expect(await watcher.next("main")).not.toContain("web-1");
  const vm = { namespace: "shop", name: "web-1", evictionStrategy: "LiveMigrate", node: NODES[0] };
  await createVirtualMachineInstance(stage.sandbox.client, vm);
  const spec = { virtualMachineInstance: { name: "web-1" } };
  await stage.sandbox.client.create(evacuations, { metadata: { namespace: "shop", name: "by-hand" }, spec });
  await expect.poll(() => watcher.next("main")).toContain("web-1");
  await watcher.leave();
});

test("while the cluster cannot be reached the page says so and keeps what it showed; then it goes on", async () => {
  const watcher = await watch(url, await stage.cookie());
  expect(await watcher.next("main")).toContain("web-1");
  stage.proxy.cut = true;
  const cutOff = await watcher.next("main");
  expect(cutOff).toContain("cannot read from this cluster");
  expect(cutOff).toContain("web-1");
  stage.proxy.cut = false;
  await expect.poll(() => watcher.next("main")).not.toContain("cannot read from this cluster");
  await watcher.leave();
});

test("a stream is for those who have signed in", async () => {
  await expect(watch(url, "")).rejects.toThrow("the stream answered 401");
});
