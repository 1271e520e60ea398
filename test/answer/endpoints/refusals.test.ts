/** A refusal that is repeated while nothing moves is remembered, for some seconds and by one isolate. */
import { expect, test } from "vitest";
import { Refusals } from "../../../functions/refusals.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { type FakeDoors, openFakeDoors } from "../../support/fake-doors.ts";
import { evacuation, marked, NOW, PINNED, pod, vmi } from "../../support/fixtures.ts";
import { allowance, evictionOf, evictionReview, refusal } from "../../support/reviews.ts";

const IN_PROGRESS = refusal('Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"');
const { namespace, name } = pod();
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

test("given a VM that cannot migrate, each refusal is told by an Event, and none is remembered", async () => {
  const world = await given(vmi(PINNED));
  expect((await ask(world)).isRead).toBe(true);
});

test("given what one user was refused, another user's request reads the cluster", async () => {
  const world = await given();
  const byJane = evictionReview({
    request: { namespace, name, userInfo: { username: "jane" } },
    eviction: { metadata: { namespace, name } },
  });
  expect(await ask(world, byJane)).toEqual({ body: IN_PROGRESS, isRead: true });
});

test.each([
  [1000, false],
  [1001, true],
])("given as many refusals since, the last of them the %ith, the first one is read again: %s", (count, isForgotten) => {
  const refusals = new Refusals();
  const decision = { verdict: "Deny", reason: "EvacuationInProgress", message: "", actions: [], events: [] } as const;
  const request = { username: "admin", cause: "ApiEviction" } as const;
  const askedFor = (index: number) => ({ cluster: "prod", pod: { namespace: "apps", name: `pod-${index}` }, request });
  for (let i = 1; i <= count; i++) refusals.note(askedFor(i), { decision, warnings: [], vmi: "web" }, NOW);
  expect(refusals.find(askedFor(1), NOW) === undefined).toBe(isForgotten);
});

test("given what is remembered, a dry run reads the cluster", async () => {
  const world = await given();
  const dryRun = evictionReview({
    request: { namespace, name, dryRun: true },
    eviction: { metadata: { namespace, name } },
  });
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
