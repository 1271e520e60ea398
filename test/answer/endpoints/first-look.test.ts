/** Budgets at the eviction door: of a VM that no pass has looked at before, of a refused one, and of one that may go. */
import { expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { type Before, failing, FORBIDDEN } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { MOBILITY, pod, vmi } from "../../support/fixtures.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { allowance, evictionOf, refusal } from "../../support/reviews.ts";

const WEB = { namespace: "apps", name: "web" };
const TRIGGERED = { body: refusal('Eviction triggered evacuation of VMI "apps/web"') };
const AGAIN = { body: refusal(expect.stringContaining("try again: the API server cannot be reached")) };

function clusterOf(web: VmiFacts = vmi()): FakeCluster {
  const fake = new FakeCluster();
  fake.isReviewing = false;
  fake.pods.put(pod());
  fake.vmis.put(web);
  return fake;
}

const sizes = (fake: FakeCluster) => fake.budgets.list().map(({ minAvailable }) => minAvailable);
const evict = (fake: FakeCluster, before?: Before) => openFakeDoors(fake, before).evict(evictionOf(pod()));

// prettier-ignore
test.each<[what: string, web: VmiFacts, requests: RegExp, forbidden: boolean, first: object, then: object]>([
  ["that may not be made: moved all the same",     vmi(),  /^create poddisruptionbudgets$/, true,  TRIGGERED, TRIGGERED],
  ["that could not be made just now",              vmi(),  /^create poddisruptionbudgets$/, false, AGAIN,     TRIGGERED],
])("a budget %s; the next try does all that can be done", async (...[, web, requests, forbidden, first, then]) => {
  const fake = clusterOf(web);
  expect(await evict(fake, failing(requests, forbidden ? FORBIDDEN : undefined))).toMatchObject(first);
  expect(sizes(fake)).toEqual([]);
  if (forbidden) return;
  expect(await evict(fake)).toMatchObject(then);
  expect(sizes(fake)).toEqual([2]);
});

test("one that may go loses the budget of a time when it could move: it would refuse what is allowed", async () => {
  const fake = clusterOf(vmi({ evictionStrategy: "LiveMigrateIfPossible" }));
  const doors = openFakeDoors(fake);
  await doors.reconcile();
  expect(sizes(fake)).toEqual([2]);
  fake.change(WEB, { liveMigratable: MOBILITY.pinned });
  expect((await doors.evict(evictionOf(pod()))).body).toMatchObject(allowance());
  await doors.settle();
  expect(sizes(fake)).toEqual([]);
});
