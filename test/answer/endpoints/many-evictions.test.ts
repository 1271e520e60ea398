/** What many evictions of one namespace cost its API server, while nothing in the cluster moves a VM. */
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Doors, openDoors } from "../../support/doors.ts";
import { evictionOf, review } from "../../support/reviews.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

const COUNT = 200;
const IN_FLIGHT = 8;

type Key = Awaited<ReturnType<TestCluster["createVm"]>>;

let cluster: TestCluster;
let doors: Doors;
const pods: Key[] = [];
const requests: string[] = [];
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ disruptionBudgets: "Never" });
  for (let i = 0; i < COUNT; i++) pods.push(await cluster.createVm({ name: `vm-${i}`, strategy: "LiveMigrate" }));
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, (request, _, url) => {
    requests.push(`${request}${url.search}`);
  });
  await review(doors, evictionOf({ namespace: "apps", name: "nothing" }));
});
afterAll(() => cluster.stop());

/** Requests for each VM, everything that follows the answers included. */
async function costOf(work: () => Promise<void>): Promise<number> {
  await doors.settle();
  requests.length = 0;
  await work();
  await doors.settle();
  return requests.length / COUNT;
}

async function evictAll(): Promise<void> {
  const queue = pods.values();
  const drain = async () => {
    for (const pod of queue) await review(doors, evictionOf(pod));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, drain));
}

/** Lists that other VMs of the namespace make longer. */
const growing = () =>
  requests.filter((request) => /^GET .*(s|s\?limit=\d+)$/.test(request) && !/Selector=/.test(request));

test("first ones, Events and status included: 6 requests a VM", async () => {
  expect(await costOf(evictAll)).toBeLessThanOrEqual(6);
  expect(growing()).toEqual([]);
});

test("the first repeat, which sees KubeVirt's mark: 5 requests a VM, so that a tick leaves it at 13", async () => {
  const status = { evacuationNodeName: "node01" };
  for (let i = 0; i < COUNT; i++) await cluster.patchVmi(`vm-${i}`, { status });
  doors.pass(5);
  expect(await costOf(evictAll)).toBeLessThanOrEqual(5);
  expect(growing()).toEqual([]);
});

test("further ones: at most 4 requests a VM", async () => {
  doors.pass(5);
  expect(await costOf(evictAll)).toBeLessThanOrEqual(4);
  expect(growing()).toEqual([]);
});

test("a tick meanwhile: two reads a VM, and nothing is written", async () => {
  doors.pass(15);
  const cost = await costOf(() => doors.tick(tickTime("prod", "small")));
  expect(cost).toBeLessThan(2.1);
  expect(requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
});
