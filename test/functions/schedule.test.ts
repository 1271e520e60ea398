/** The clock's door: a tick for every cluster, and a full reconcile for whoever asks. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { CANNED_VMI, type CannedAnswers, list, startCannedCluster } from "./support/canned-cluster.ts";
import { asWebhook, type Doors, entry, openDoors } from "./support/doors.ts";
import * as stub from "./support/stub-server.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "./support/test-cluster.ts";

/** Every tenth minute looks at everything. */
const FULL = new Date("2026-11-20T12:00:00Z");
const SMALL = new Date("2026-11-20T12:01:00Z");

const servers: stub.StubServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(answers: CannedAnswers | stub.Behaviour = {}): Promise<stub.StubServer> {
  const server = await startCannedCluster(answers);
  servers.push(server);
  return server;
}

const reconcile = (doors: Doors, cluster = "prod") =>
  doors.request(`/clusters/${cluster}/reconcile`, { method: "POST", headers: asWebhook });

describe("a cluster with VMs", () => {
  let cluster: TestCluster;
  let doors: Doors;
  beforeAll(async () => {
    cluster = await startTestCluster();
    await cluster.configure({ evacuation: { adoptSeconds: 5 } });
    doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
    await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
    await cluster.createVm({ name: "batch", strategy: "None" });
    await cluster.createVm({ name: "marked", strategy: "External", status: { evacuationNodeName: "node01" } });
  });
  afterAll(() => cluster.stop());
  const budgets = async () => (await cluster.client.list(core.podDisruptionBudgets, NAMESPACE)).items;

  test("a small tick leaves alone what carries no label", async () => {
    await doors.tick(SMALL);
    expect(await budgets()).toEqual([]);
    expect((await cluster.getVmi("marked"))?.metadata.annotations).toEqual({ note: "kept" });
  });

  test("a full reconcile answers with what was done", async () => {
    const answer = await reconcile(doors);
    expect(answer).toMatchObject({ code: 200, body: { done: { CreateBudget: 2, Record: 1, Event: 1 }, failures: 0 } });
    await doors.settle();
    const owners = (await budgets()).map(({ metadata }) => metadata.ownerReferences?.[0]?.name);
    expect(new Set(owners)).toEqual(new Set(["marked", "web"]));
    expect((await cluster.getVmi("marked"))?.metadata.labels).toMatchObject({ "lifeboat.dev/evacuation": "normal" });
  });

  test("a second one has nothing left to do", async () => {
    expect((await reconcile(doors)).body).toEqual({ done: {}, failures: 0 });
    await doors.settle();
  });

  test("a full tick does the same, without being asked", async () => {
    await cluster.createVm({ name: "late", strategy: "LiveMigrate" });
    await doors.tick(SMALL);
    expect(await budgets()).toHaveLength(2);
    await doors.tick(FULL);
    expect(await budgets()).toHaveLength(3);
  });

  test("a reconcile goes on after its answer until nothing is due", async () => {
    await cluster.createVm({ name: "going", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
    const { body } = await reconcile(doors);
    expect(body).toMatchObject({ requeueAfterSeconds: 0 });
    await doors.settle();
    const { items } = await cluster.client.list(kubevirt.migrations, NAMESPACE);
    expect(items).toMatchObject([{ spec: { vmiName: "going" } }]);
  });

  test("what cannot be done is counted, and does not keep the rest from being done", async () => {
    await cluster.createVm({ name: "alone", strategy: "LiveMigrate" });
    await cluster.createVm({ name: "broken", strategy: "External", status: { evacuationNodeName: "node01" } });
    const failing = openDoors({ CLUSTERS: { prod: cluster.entry } }, (request) => {
      if (request.startsWith("PATCH") && request.endsWith("/broken")) throw new TypeError("the connection broke");
    });
    expect((await reconcile(failing)).body).toMatchObject({ done: { CreateBudget: 2 }, failures: 1 });
    expect(failing.log).toContainEqual(
      expect.objectContaining({ doing: "reconciling: evacuation", failure: { reason: "Unreachable" } }),
    );
    await failing.settle();
  });
});

test("an idle tick costs one request, once the settings are known", async () => {
  const server = await start();
  const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
  await doors.tick(SMALL);
  const before = server.requests.length;
  await doors.tick(SMALL);
  const [request, ...others] = server.requests.slice(before);
  expect(request?.path).toBe("/apis/kubevirt.io/v1/virtualmachineinstances");
  expect(request?.query.get("labelSelector")).toBe("lifeboat.dev/evacuation");
  expect(others).toEqual([]);
});

/** With one VMI, whose budget is missing. */
const UNBUDGETED: CannedAnswers = {
  list: (response, request) => {
    const items = request.path.endsWith("/virtualmachineinstances") ? [CANNED_VMI] : [];
    return list(...items)(response, request);
  },
  other: (response, request) =>
    (request.method === "POST" ? stub.json({}, 201) : stub.status(404, "NotFound"))(response, request),
};

function budgeted({ requests }: stub.StubServer): boolean {
  return requests.some(({ method, path }) => method === "POST" && path.endsWith("/poddisruptionbudgets"));
}

describe("one failing cluster never touches another", () => {
  // prettier-ignore
  test.each<[string, stub.Behaviour]>([
    ["dead",                stub.hangingUp],
    ["not letting us in",   stub.status(401, "Unauthorized")],
    ["failing",             stub.status(500, "InternalError")],
    ["a page of a proxy",   stub.html(200)],
    ["lists without end",   list({ odd: true })],
  ])("in a full tick: %s", async (_, behaviour) => {
    const healthy = await start(UNBUDGETED);
    const sick = await start(behaviour);
    const doors = openDoors({ CLUSTERS: { sick: entry(sick.url), healthy: entry(healthy.url) } });
    await doors.tick(FULL);
    expect(budgeted(healthy)).toBe(true);
    expect(doors.log.filter(({ cluster }) => cluster === "healthy")).toEqual([]);
    expect(doors.log.filter(({ cluster }) => cluster === "sick")).not.toEqual([]);
  });

  test("in a full tick: one that answers slowly is not waited for by the others", async () => {
    const slow = await startCannedCluster(stub.neverAnswering);
    const healthy = await start(UNBUDGETED);
    const doors = openDoors({ CLUSTERS: { slow: entry(slow.url), healthy: entry(healthy.url) } });
    const tick = doors.tick(FULL);
    await expect.poll(() => budgeted(healthy)).toBe(true);
    await expect.poll(() => slow.requests.length).toBeGreaterThan(0);
    await slow.stop();
    await tick;
  });

  test("in a full tick: a fleet of which every other is dead", async () => {
    const dead = await stub.unreachableUrl();
    const fleet = await Promise.all(Array.from({ length: 6 }, () => start(UNBUDGETED)));
    const CLUSTERS = Object.fromEntries(
      fleet.flatMap(({ url }, i) => [
        [`healthy-${i}`, entry(url)],
        [`dead-${i}`, entry(dead)],
      ]),
    );
    const doors = openDoors({ CLUSTERS });
    await doors.tick(FULL);
    expect(fleet.map(budgeted)).toEqual(fleet.map(() => true));
    expect(new Set(doors.log.map(({ cluster }) => cluster))).toEqual(new Set(fleet.map((_, i) => `dead-${i}`)));
  });

  test("in small ticks: a dead one is tried again, then left to the next tick", async () => {
    const healthy = await start();
    const doors = openDoors({ CLUSTERS: { dead: entry(await stub.unreachableUrl()), healthy: entry(healthy.url) } });
    await doors.tick(SMALL);
    const failures = doors.log.filter(({ cluster }) => cluster === "dead");
    expect(failures.length).toBeGreaterThan(1);
    expect(failures).toContainEqual({
      cluster: "dead",
      level: "error",
      doing: "driving evacuations",
      failure: { reason: "Unreachable" },
    });
    expect(healthy.requests.length).toBeGreaterThan(0);
  });

  test("in reconciles: each answers for itself", async () => {
    const healthy = await start(UNBUDGETED);
    const doors = openDoors({ CLUSTERS: { dead: entry(await stub.unreachableUrl()), healthy: entry(healthy.url) } });
    const error = { reason: "ClusterUnavailable", message: "the API server cannot be reached" };
    expect(await reconcile(doors, "dead")).toMatchObject({ code: 503, body: { error } });
    expect(await reconcile(doors, "healthy")).toMatchObject({ code: 200, body: { failures: 0 } });
    await doors.settle();
  });
});
