/** explain: what an eviction of this pod would get, without doing it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { startCannedCluster } from "./support/canned-cluster.ts";
import { asOperator, type Doors, entry, openDoors } from "./support/doors.ts";
import { explain as explainAt } from "./support/explained.ts";
import { allowance, evictionOf, refusal, review } from "./support/reviews.ts";
import * as stub from "./support/stub-server.ts";
import { NAMESPACE, startTestCluster, type TestCluster, type TestVm } from "./support/test-cluster.ts";
import { startWriting } from "./support/written.ts";

let cluster: TestCluster;
let doors: Doors;
const written = startWriting();
let ruled = 0;
const rulings = () => doors.log.filter(({ door }) => door === "admission/evictions").length;
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ reconcilers: { evacuation: false } });
  // What follows a ruling, which is logged, is none of it.
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, (...request) => {
    if (rulings() === ruled) return written.before(...request);
  });
});
afterAll(() => cluster.stop());

const explain = (pod: { readonly namespace: string; readonly name: string }) => explainAt(doors, pod);

async function revisions(): Promise<readonly string[]> {
  const kinds = [kubevirt.virtualMachineInstances, core.pods, core.events, core.podDisruptionBudgets, evacuations];
  const lists = await Promise.all(kinds.map((kind) => cluster.client.list<core.KubeObject>(kind)));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`));
}

const marked = { evacuationNodeName: "node01" };

describe("equals what an eviction then gets, and changes nothing", () => {
  // prettier-ignore
  test.each<[TestVm, string, readonly string[]]>([
    [{ name: "unset" },                                                                  "StrategyNone",         []],
    [{ name: "none", strategy: "None" },                                                 "StrategyNone",         []],
    [{ name: "migrates", strategy: "LiveMigrate" },                                      "EvacuationTriggered",  ["CreateEvacuation", "GrowBudget", "Mark"]],
    [{ name: "pinned", strategy: "LiveMigrate", migratable: false },                     "NotMigratable",        ["EnsureBudget"]],
    [{ name: "if-possible", strategy: "LiveMigrateIfPossible" },                         "EvacuationTriggered",  ["CreateEvacuation", "GrowBudget", "Mark"]],
    [{ name: "shut-down", strategy: "LiveMigrateIfPossible", migratable: false },        "ShutdownByStrategy",   []],
    [{ name: "unmarked", strategy: "LiveMigrateIfPossible", migratable: false, status: marked }, "ShutdownByStrategy", ["Unmark"]],
    [{ name: "external", strategy: "External" },                                         "EvacuationTriggered",  ["CreateEvacuation", "GrowBudget", "Mark"]],
    [{ name: "external-pinned", strategy: "External", migratable: false },               "EvacuationTriggered",  ["CreateEvacuation", "EnsureBudget", "Mark"]],
    [{ name: "odd", strategy: "Sometimes" },                                             "UnknownStrategy",      ["EnsureBudget"]],
    [{ name: "in-progress", strategy: "LiveMigrate", status: marked },                   "EvacuationInProgress", ["CreateEvacuation", "EnsureBudget"]],
    [{ name: "elsewhere", strategy: "LiveMigrate", status: { nodeName: "node02" } },     "MigrationTarget",      ["EnsureBudget"]],
    [{ name: "unscheduled", strategy: "LiveMigrate", status: { nodeName: "" } },         "NotScheduled",         ["EnsureBudget"]],
    [{ name: "failed", strategy: "LiveMigrate", status: { phase: "Failed" } },           "VmiFinal",             []],
  ])("$name: %s", async (vm, reason, actions) => {
    const pod = await cluster.createVm(vm);
    const before = await revisions();
    const explained = await explain(pod);
    await doors.settle();
    expect(await revisions()).toEqual(before);
    expect(explained).toMatchObject({ decision: { reason }, actions });
    const { allowed, message, warnings } = explained.decision;
    const expected = allowed ? allowance(warnings.length > 0 ? { warnings } : {}) : refusal(message);
    written.take();
    ruled = rulings();
    expect((await review(doors, evictionOf(pod))).body).toEqual(expected);
    expect(written.take()).toEqual(actions);
    await doors.settle();
  });
});

describe("facts", () => {
  test("the strategy in force is the cluster's where the VMI has none", async () => {
    const key = { namespace: "kubevirt", name: "kubevirt" };
    const configure = (evictionStrategy: string | null) =>
      cluster.client.patch(kubevirt.kubeVirts, key, {
        type: "merge",
        body: { spec: { configuration: { evictionStrategy } } },
      });
    await configure("LiveMigrate");
    doors.pass(60);
    const { facts, decision } = await explain(await cluster.createVm({ name: "by-cluster" }));
    expect(facts.vmi).toMatchObject({ strategy: "LiveMigrate" });
    expect(decision.reason).toBe("EvacuationTriggered");
    await configure(null);
    doors.pass(60);
  });

  test("one that nobody knows is shown as it is written", async () => {
    const { facts } = await explain(await cluster.createVm({ name: "written", strategy: "Never" }));
    expect(facts.vmi).toMatchObject({ strategy: "Never" });
  });

  test("a pod that merely looks like a launcher, of a VMI that cannot be", async () => {
    const name = "virt-launcher-fake-abcde";
    await cluster.client.create(core.pods, {
      metadata: {
        namespace: NAMESPACE,
        name,
        labels: { "kubevirt.io": "virt-launcher" },
        annotations: { "kubevirt.io/domain": ".." },
      },
      spec: { nodeName: "node01", containers: [{ name: "compute", image: "x" }] },
    });
    const { decision } = await explain({ namespace: NAMESPACE, name });
    expect(decision).toMatchObject({ allowed: true, reason: "VmiGone" });
  });
});

describe("an API server that cannot be asked", () => {
  // prettier-ignore
  test.each([
    ["hangs up",    stub.hangingUp,                                          503, "the API server cannot be reached"],
    ["401",         stub.status(401, "U", stub.SECRET_OF_UPSTREAM),          502, "401 Unauthorized: the token is not valid"],
    ["403",         stub.status(403, "F", stub.SECRET_OF_UPSTREAM),          502, "403 Forbidden: the service account lacks a permission"],
    ["HTML",        stub.html(200),                                          502, "not JSON"],
    ["a redirect",  stub.redirecting("http://127.0.0.1:1"),                  502, "with 302"],
  ])("%s", async (_, behaviour, code, message) => {
    const server = await startCannedCluster(behaviour);
    const there = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    for (const [method, path] of [["GET", "explain/pods/apps/x"], ["GET", "evacuations"], ["DELETE", "evacuations/apps/x"], ["GET", "readyz"]]) {
      const answer = await there.request(`/clusters/prod/${path}`, { method: method ?? "GET", headers: asOperator });
      const error = { reason: "ClusterUnavailable", message: expect.stringContaining(message) };
      expect(answer).toMatchObject({ code, body: { error } });
      expect(answer.text).not.toContain(stub.SECRET_OF_UPSTREAM);
    }
    await server.stop();
  });
});
