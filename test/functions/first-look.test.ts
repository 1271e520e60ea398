/** Budgets at the eviction door: of a VM that no pass has looked at before, of a refused one, and of one that may go. */
import { afterEach, beforeEach, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { type Before, openDoors } from "./support/doors.ts";
import { allowance, evictionOf, refusal, review } from "./support/reviews.ts";
import { forbid } from "./support/roles.ts";
import { NAMESPACE, startTestCluster, type TestCluster, type TestVm } from "./support/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const open = (before?: Before) => openDoors({ CLUSTERS: { prod: cluster.entry } }, before);

async function budgets(): Promise<readonly unknown[]> {
  const { items } = await cluster.client.list(core.podDisruptionBudgets);
  return items.map(({ spec }) => spec?.minAvailable);
}

const markOf = async (name: string) => (await cluster.getVmi(name))?.status?.evacuationNodeName;

test("it has its budget before it is marked, though whoever answers dies right after", async () => {
  const pod = await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
  const beforeMark: unknown[] = [];
  const doors = open(async (request) => {
    if (request.startsWith("PATCH") && request.endsWith("/virtualmachineinstances/web"))
      beforeMark.push(await budgets());
    if (beforeMark.length > 0 && request.startsWith("GET")) throw new Error("dead");
  });
  const answer = await review(doors, evictionOf(pod));
  expect(answer.body).toEqual(refusal(`Eviction triggered evacuation of VMI "${NAMESPACE}/web"`));
  await doors.settle();
  expect(beforeMark).toEqual([[2]]);
  expect(await markOf("web")).toBe("node01");
});

test("a budget that we may not make is no reason not to move it", async () => {
  await forbid(cluster.client, "create", "poddisruptionbudgets");
  const pod = await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
  const doors = open();
  expect((await review(doors, evictionOf(pod))).body).toEqual(
    refusal(`Eviction triggered evacuation of VMI "${NAMESPACE}/web"`),
  );
  await doors.settle();
  expect(await budgets()).toEqual([]);
  expect(await markOf("web")).toBe("node01");
});

test.each([
  ["made large", "PATCH"],
  ["made", "POST"],
])("a budget that could not be %s just now: refused, and not marked; the next try does both", async (_, method) => {
  const pod = await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
  let broken = true;
  const doors = open(async (request) => {
    if (broken && request.startsWith(method) && request.includes("/poddisruptionbudgets")) throw new Error("broken");
  });
  const again = "try again: the API server cannot be reached";
  expect((await review(doors, evictionOf(pod))).body).toEqual(refusal(expect.stringContaining(again)));
  expect(await markOf("web")).toBeUndefined();
  await doors.settle();
  broken = false;
  const triggered = `Eviction triggered evacuation of VMI "${NAMESPACE}/web"`;
  expect((await review(doors, evictionOf(pod))).body).toEqual(refusal(triggered));
  expect(await budgets()).toEqual([2]);
  expect(await markOf("web")).toBe("node01");
  await doors.settle();
});

const PINNED = { name: "ledger", strategy: "LiveMigrate", migratable: false } as const;

// prettier-ignore
test.each<[what: string, vm: TestVm, size: number]>([
  ["that cannot migrate",                  PINNED,                                                                      1],
  ["of a strategy that nobody knows",      { name: "odd", strategy: "Sometimes" },                                      1],
  ["on another node than its pod",         { name: "target", strategy: "LiveMigrate", status: { nodeName: "node02" } }, 2],
  ["on no node yet",                       { name: "early", strategy: "LiveMigrate", status: { nodeName: "" } },        1],
  ["that KubeVirt has marked",             { name: "marked", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } }, 2],
  ["External, that cannot migrate",        { name: "external", strategy: "External", migratable: false },               2],
])("a refused VM %s has its budget before the answer, and the next drain finds nobody but the budget", async (_, vm, size) => {
  const pod = await cluster.createVm(vm);
  const doors = open();
  expect(await review(doors, evictionOf(pod))).toMatchObject({ body: { response: { status: { code: 429 } } } });
  expect(await budgets()).toEqual([size]);
  // No webhook is registered here: this is what the API server does when the call to it breaks.
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod.name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: pod };
  expect((await cluster.client.raw({ method: "POST", path, body })).code).toBe(429);
  expect((await cluster.client.get(core.pods, pod))?.metadata.deletionTimestamp).toBeUndefined();
  await doors.settle();
});

test("a refusal needs no budget that may not be made, and is not given when it merely could not be made just now", async () => {
  const pod = await cluster.createVm(PINNED);
  let broken = true;
  const doors = open(async (request) => {
    if (broken && request.startsWith("POST") && request.endsWith("/poddisruptionbudgets")) throw new Error("broken");
  });
  expect((await review(doors, evictionOf(pod))).body).toEqual(refusal(expect.stringContaining("try again")));
  broken = false;
  await forbid(cluster.client, "create", "poddisruptionbudgets");
  expect((await review(doors, evictionOf(pod))).body).toEqual(refusal(expect.stringContaining("not live-migratable")));
  expect(await budgets()).toEqual([]);
  await doors.settle();
});

test("one that may go loses the budget of a time when it could move: it would refuse what is allowed", async () => {
  const pod = await cluster.createVm({ name: "web", strategy: "LiveMigrateIfPossible" });
  const doors = open();
  await doors.request("/clusters/prod/reconcile", {
    method: "POST",
    headers: { authorization: `Bearer ${cluster.entry.webhookToken}` },
  });
  expect(await budgets()).toEqual([1]);
  const conditions = [{ type: "LiveMigratable", status: "False", reason: "DisksNotLiveMigratable" }];
  await cluster.patchVmi("web", { status: { conditions } });
  expect((await review(doors, evictionOf(pod))).body).toMatchObject(allowance());
  await doors.settle();
  expect(await budgets()).toEqual([]);
});
