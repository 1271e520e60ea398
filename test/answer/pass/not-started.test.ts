/**
 * Tests that an Evacuation explains why a migration was refused or has not started. The explanation comes from the API
 * server's message, and from Events that Lifeboat reads only in this case.
 */
import { expect, test } from "vitest";
import { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { at, evacuation, marked, migration, NODE, node, pod, POD_UID, time } from "../../support/fixtures.ts";

const RULING = 'admission webhook "policy.example.com" denied the request: no migration on a Sunday';

/** The Evacuation has waited for a minute. */
function cluster(migrations: readonly Parameters<typeof migration>[0][] = []): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(node());
  fake.pods.put(pod());
  const labels = { ...pod().labels, "kubevirt.io/migrationJobUID": migration().uid };
  const target = pod({ labels, name: "target", uid: "target", phase: "Pending", ready: false, nodeName: "node02" });
  const isThere = migrations.some(({ phase } = {}) => phase === "Scheduling");
  if (isThere) fake.pods.put(target);
  fake.vmis.put(marked(isThere ? { activePods: { [POD_UID]: NODE, target: "node02" } } : {}));
  fake.migrations.put(...migrations.map((one) => migration(one)));
  const own = { phase: "Pending", attempts: 0, startTime: time(-60), sourceNode: NODE } as const;
  fake.evacuations.put(evacuation({ createdAt: at(-60).getTime(), status: { ...own } }));
  return fake;
}

const messageOf = (fake: FakeCluster) => fake.evacuations.list()[0]?.status.message;

test("if a policy refuses a migration, the Evacuation and its Event contain the policy's message", async () => {
  const fake = cluster();
  const app = openApp(fake, (_, asked) =>
    asked?.verb === "create" && asked.resource === "virtualmachineinstancemigrations"
      ? Response.json({ kind: "Status", code: 400, reason: "BadRequest", message: RULING }, { status: 400 })
      : undefined,
  );
  await app.reconcile();
  await app.settle();
  expect(messageOf(fake)).toContain(`the API server refused to create the migration: ${RULING}`);
  expect(fake.recordedEvents.find(({ reason }) => reason === "MigrationRefused")?.message).toContain(RULING);
});

// prettier-ignore
test.each<[string, Parameters<typeof migration>[0], asked: readonly string[]]>([
  ["that has been starting for 19 s",            { phase: "Scheduling", createdAt: at(-19).getTime() },  []],
  ["that has been starting for 20 s",            { phase: "Scheduling", createdAt: at(-20).getTime() },  ["50"]],
  ["that has waited for 10 s",                   { phase: "Pending", createdAt: at(-10).getTime() },                                         []],
  ["that has waited for too long",               { phase: "Pending", createdAt: at(-900).getTime() },                                        ["50"]],
  ["that has been running for long",             { phase: "Running", createdAt: at(-900).getTime() },                                        []],
  ["that has failed",                            { phase: "Failed", failedAt: at(-5).getTime(), createdAt: at(-900).getTime() },             []],
])("Events of a migration %s are read: $2", async (...[, one, asked]) => {
  const fake = cluster([one]);
  const limits: (string | null)[] = [];
  const app = openApp(fake, (_, request) => {
    if (request?.verb === "list" && request.resource === "events") limits.push(request.query.get("limit"));
    return undefined;
  });
  await app.reconcile();
  await app.settle();
  expect([...new Set(limits)]).toEqual(asked);
});
