/** What many evictions of one namespace cost its API server, while nothing in the cluster moves a VM. */
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { beforeAll, expect, test } from "vitest";
import type { Doors } from "../../support/doors.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { openDoorsOf } from "../../support/fake-doors.ts";
import { NODE } from "../../support/fixtures.ts";
import { evictionOf, review } from "../../support/reviews.ts";
import { putVm } from "./support/fleets.ts";

const COUNT = 200;
const IN_FLIGHT = 8;

const fake = new FakeCluster();
const pods = Array.from({ length: COUNT }, (_, i) => putVm(fake, `vm-${i}`));
const requests: string[] = [];
let doors: Doors;
beforeAll(async () => {
  fake.configure({ disruptionBudgets: "Never" });
  doors = openDoorsOf(fake, (label) => void requests.push(label));
  await review(doors, evictionOf({ namespace: "apps", name: "nothing" }));
});

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
const growing = () => requests.filter((label) => /^(?:list|count) \S+$/.test(label));

test("first ones, Events and status included: 6 requests a VM", async () => {
  expect(await costOf(evictAll)).toBeLessThanOrEqual(6);
  expect(growing()).toEqual([]);
});

test("the first repeat, which sees KubeVirt's mark: 5 requests a VM, so that a tick leaves it at 13", async () => {
  for (const { namespace, name } of fake.vmis.list()) fake.setMark({ namespace, name }, NODE);
  doors.pass(5);
  expect(await costOf(evictAll)).toBeLessThanOrEqual(5);
  expect(growing()).toEqual([]);
});

test("further ones: nothing, and then the 3 reads of the answer, and nothing after it", async () => {
  const costs = [];
  for (let i = 0; i < 4; i++) {
    doors.pass(5);
    costs.push(await costOf(evictAll));
  }
  expect(costs).toEqual([0, 3, 0, 3]);
  expect(growing()).toEqual([]);
});

test("a tick meanwhile: two reads a VM, and nothing is written", async () => {
  doors.pass(15);
  const cost = await costOf(() => doors.tick(tickTime("prod", "small")));
  expect(cost).toBeLessThan(2.1);
  expect(requests.filter((label) => !/^(?:get|list|count) /.test(label))).toEqual([]);
});
