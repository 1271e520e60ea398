/** A refusal that is repeated while nothing moves is remembered, for some seconds and by one isolate. */
import { expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { type FakeDoors, openFakeDoors } from "../../support/fake-doors.ts";
import { evacuation, marked, pod } from "../../support/fixtures.ts";
import { allowance, evictionOf, evictionReview, refusal } from "../../support/reviews.ts";

const IN_PROGRESS = refusal('Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"');
const AGAIN = evictionOf(pod());

/** A VM whose Evacuation waits for its migration, and whose eviction has been refused again just now. */
async function given(web: VmiFacts = marked()) {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  fake.vmis.put(web);
  fake.pods.put(pod());
  fake.evacuations.put(evacuation());
  const requests: string[] = [];
  const doors = openFakeDoors(fake, (label) => void requests.push(label));
  await doors.evict(AGAIN);
  await doors.settle();
  return { fake, doors, requests };
}

async function ask({ doors, requests }: { doors: FakeDoors; requests: string[] }, review: unknown = AGAIN) {
  requests.length = 0;
  const { body } = await doors.evict(review);
  return { body, isRead: requests.includes("get virtualmachineinstances") };
}

// prettier-ignore
test.each([
  ["a VM that waits", 5, marked(),                      "memory"],
  ["a VM that waits", 9, marked(),                      "the cluster"],
  ["a VM that moves", 5, marked({ isMigrating: true }), "the cluster"],
] as const)("given %s, its eviction, repeated after %i s, is refused", async (_, seconds, web, by) => {
  const world = await given(web);
  world.doors.pass(seconds);
  expect(await ask(world)).toEqual({ body: IN_PROGRESS, isRead: by === "the cluster" });
});

test("given what is remembered, a dry run reads the cluster", async () => {
  const world = await given();
  const dryRun = evictionReview({ request: { ...pod(), dryRun: true }, eviction: { metadata: pod() } });
  expect((await ask(world, dryRun)).isRead).toBe(true);
});

test("given a VM that has left, its eviction is allowed by what is read nine seconds later, and is not remembered", async () => {
  const world = await given();
  world.fake.pods.put(pod({ phase: "Succeeded" }));
  expect((await ask(world)).body).toEqual(IN_PROGRESS);
  world.doors.pass(9);
  expect((await ask(world)).body).toMatchObject(allowance());
  expect((await ask(world)).isRead).toBe(true);
});
