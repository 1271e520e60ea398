/** In the end of a run the API server must be able to ask the replicas, and one of them hold the Lease. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Arena, startArena } from "../../infra/chaos/arena.ts";
import type { Instance } from "../../infra/chaos/instances.ts";
import { WIRE } from "../../infra/chaos/wire.ts";
import { leases } from "../../infra/sandbox/actors/resources.ts";
import { SERVER } from "../../infra/tools/in-cluster.ts";

const WITHIN = { timeout: 30_000 };
let arena: Arena;
let replica: Instance;
const problems = () => arena.problems([replica.name]);

beforeAll(async () => {
  arena = await startArena("InCluster");
  await arena.begin();
  replica = await arena.instances.start(0);
  arena.front.answering = () => replica;
}, 60_000);
afterAll(async () => {
  await arena.instances.end(replica);
  await arena.stop();
});

test("it can be asked", async () => {
  await expect.poll(problems, WITHIN).toEqual([]);
  expect(await replica.ask("POST", "/reconcile")).toBe(200);
});

test("its token is another one, and the old one is revoked: it goes on", async () => {
  expect(await arena.renewToken()).toBe(true);
  expect(await replica.ask("POST", "/reconcile")).toBe(200);
});

async function hold(holderIdentity: string): Promise<void> {
  await arena.sandbox.client.patch(leases, SERVER, { type: "merge", body: { spec: { holderIdentity } } });
}

test("a stranger may hold the Lease; a replica that is not there may not", async () => {
  replica.link.cut();
  await hold(WIRE.stranger);
  expect(await problems()).toEqual([]);
  await hold("another");
  expect(await problems()).toEqual(["no replica holds the Lease: another does"]);
  await hold(WIRE.stranger);
});

const leadsNowhere = WIRE.webhookConfigurations.map((name) =>
  expect.stringContaining(`webhook ${name} does not lead to a replica`),
);

test("nothing is at its address", async () => {
  arena.front.answering = () => undefined;
  expect(await problems()).toEqual(leadsNowhere);
  arena.front.answering = () => replica;
});

// prettier-ignore
test.each([
  ["path",     "service/path", "/clusters/local/admission/evictions/another-token", "401"],
  ["caBundle", "caBundle",     "",                                                  "self-signed"],
])("its webhooks have another %s", async (_, field, value, why) => {
  const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/lifeboat`;
  const body = [{ op: "replace", path: `/webhooks/0/clientConfig/${field}`, value }];
  const contentType = "application/json-patch+json";
  expect((await arena.sandbox.client.raw({ method: "PATCH", path, body, contentType })).code).toBe(200);
  expect(await problems()).toEqual([expect.stringContaining(why)]);
});
