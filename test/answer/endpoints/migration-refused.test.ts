/** Migrations that the API server does not let us create (admission, a quota, a permission): tried, counted, given up. */
import { expect, test } from "vitest";
import { failure } from "../../support/fake-api.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { marked, pod } from "../../support/fixtures.ts";

const A_DAY_SECONDS = 24 * 3600;

test.each([
  ["by admission", 422, "Invalid"],
  ["for want of a permission", 403, "Forbidden"],
])("%s: each is an attempt, with its back-off; after the last one the mark goes", async (_, code, reason) => {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never", evacuation: { maxAttempts: 2, adoptSeconds: 0 } });
  fake.pods.put(pod());
  fake.vmis.put(marked());
  const doors = openFakeDoors(fake, (label) =>
    label === "create virtualmachineinstancemigrations"
      ? Response.json(failure(code, reason).body, { status: code })
      : undefined,
  );
  for (const _ of [1, 2, 3]) {
    await doors.reconcile();
    await doors.settle();
    doors.pass(A_DAY_SECONDS);
  }
  expect(fake.vmis.list().map(({ evacuationNodeName }) => evacuationNodeName)).toEqual([undefined]);
  expect(fake.evacuations.list()).toMatchObject([{ status: { phase: "Abandoned", attempts: 2 } }]);
  const story = fake.story.map((told) => told.reason);
  expect(story.filter((told) => told === "MigrationRefused")).toHaveLength(2);
  expect(story).toContain("EvacuationAbandoned");
  expect(story).not.toContain("MigrationCreated");
});
