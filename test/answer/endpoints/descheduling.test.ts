/** The descheduling door: who may ask, what is answered, and when a cycle begins by itself. */
import { dump } from "js-yaml";
import { beforeEach, describe, expect, test } from "vitest";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { type PolicyFile, policyOf } from "../../live/descheduling-stage.ts";
import { plainPod } from "../../support/descheduling/worlds.ts";
import { asOperator, asWebhook, type Doors, NOW } from "../../support/doors.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { openDoorsOf } from "../../support/fake-doors.ts";
import { node, owner } from "../../support/fixtures.ts";

const BOTH = { EvictionsInBackground: true, DeschedulerSupport: true };
/** Nothing but the doors: no budget, no migration. */
const QUIET = { disruptionBudgets: "Never" };
const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };
const TAINTS = policyOf("RemovePodsViolatingNodeTaints", {});

let fake: FakeCluster;
let doors: Doors;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ ...QUIET, featureGates: BOTH });
  fake.nodes.put(node({ taints: [{ key: "maintenance", effect: "NoSchedule" }] }), node({ name: "node02" }));
  doors = openDoorsOf(fake);
});

function setPolicy(policy: PolicyFile | string): void {
  const data = { "policy.yaml": typeof policy === "string" ? policy : dump(policy) };
  fake.api.put("configmaps", { metadata: { ...POLICY, uid: "policy", resourceVersion: "1" }, data });
}

/** On the node that repels it. */
function createPod(name: string): void {
  fake.pods.put(plainPod(name, { uid: name, owners: [owner({ kind: "ReplicaSet" })] }));
}

const deschedule = (query = "", headers: Record<string, string> = asWebhook) =>
  doors.request(`/clusters/prod/deschedule${query}`, { method: "POST", headers });

const alive = () => fake.pods.list().map(({ name }) => name);
const story = () => fake.story.map(({ reason }) => reason);

describe("who asks", () => {
  // prettier-ignore
  test.each([
    ["no token",     {}],
    ["an operator",  asOperator],
  ])("%s: 401", async (_, headers) => {
    setPolicy(TAINTS);
    expect(await deschedule("", headers)).toMatchObject({ code: 401, body: { error: { reason: "Unauthorized" } } });
  });

  test.each(["maybe", "", "1", "TRUE"])("dryRun=%s: 400 names it", async (value) => {
    setPolicy(TAINTS);
    createPod("batch-1");
    const error = { reason: "BadRequest", field: "dryRun", message: "expected true or false" };
    expect(await deschedule(`?dryRun=${value}`)).toMatchObject({ code: 400, body: { error } });
    expect(alive()).toEqual(["batch-1"]);
  });
});

describe("the policy", () => {
  // prettier-ignore
  test.each<readonly [string, PolicyFile | string | undefined, string, string]>([
    ["is not there",        undefined,                              "ConfigMap lifeboat-descheduler", "expected this ConfigMap in namespace lifeboat-system"],
    ["has another plugin",  policyOf("RemoveDuplicates", {}),       "policy.yaml.profiles.0",         "not supported by Lifeboat"],
  ])("%s: 503, and nothing is evicted", async (_, policy, field, message) => {
    if (policy !== undefined) setPolicy(policy);
    createPod("batch-1");
    const { code, body } = await deschedule();
    await doors.settle();
    const error = { field: expect.stringContaining(field), message: expect.stringContaining(message) };
    expect([code, body]).toMatchObject([503, { error: { reason: "InvalidConfiguration", ...error } }]);
    expect(alive()).toEqual(["batch-1"]);
    expect(story()).toEqual(policy === undefined ? [] : ["InvalidConfiguration"]);
  });
});

describe("a cycle", () => {
  test("says what it nominated, what it requested, what it skipped and why", async () => {
    setPolicy({ ...TAINTS, maxNoOfPodsToEvictTotal: 1 });
    createPod("batch-1");
    createPod("batch-2");
    const about = { node: "node01", profile: "vms", plugin: "RemovePodsViolatingNodeTaints" };
    expect(await deschedule()).toMatchObject({
      code: 200,
      body: {
        dryRun: false,
        ended: "Finished",
        nodes: 2,
        pods: 2,
        evacuationsInProgress: 0,
        nominated: 2,
        results: { Evicted: 1, evictionsTotal: 1 },
        requested: [{ pod: "apps/batch-1", ...about, outcome: "Evicted" }],
        skipped: [{ pod: "apps/batch-2", ...about, why: "evictionsTotal" }],
      },
    });
    expect(alive()).toEqual(["batch-2"]);
  });

  test("dry run: the same answer, and nothing is written anywhere", async () => {
    setPolicy(TAINTS);
    createPod("batch-1");
    expect(await deschedule("?dryRun=true")).toMatchObject({ body: { dryRun: true, results: { Evicted: 1 } } });
    expect(alive()).toEqual(["batch-1"]);
    expect(fake.api.objects("leases")).toEqual([]);
  });
});

/** Another isolate, which knows of the last cycle only what the cluster says. */
function openDoorsLater(seconds: number): Doors {
  const later = openDoorsOf(fake);
  later.pass(seconds);
  return later;
}

/** No full scan is due then. */
function at(seconds: number): Date {
  return new Date(tickTime("prod", "small", NOW).getTime() + seconds * 1000);
}

describe("by itself", () => {
  // prettier-ignore
  test.each([
    ["no interval",               { featureGates: BOTH },                                                                                false],
    ["an interval",               { featureGates: BOTH, descheduling: { intervalSeconds: 60 } },                                         true ],
    ["an interval, gate off",     { featureGates: { DeschedulerSupport: true }, descheduling: { intervalSeconds: 60 } },                 false],
  ])("%s", async (_, configuration, evicts) => {
    fake.configure({ ...QUIET, ...configuration });
    setPolicy(TAINTS);
    createPod("batch-1");
    doors.pass(60);
    await doors.tick(at(0));
    expect(alive()).toEqual(evicts ? [] : ["batch-1"]);
  });

  test("not before the interval is over, whichever isolate looks", async () => {
    fake.configure({ ...QUIET, featureGates: BOTH, descheduling: { intervalSeconds: 120 } });
    setPolicy(TAINTS);
    await doors.tick(at(0));
    createPod("batch-1");
    doors.pass(60);
    await openDoorsLater(60).tick(at(60));
    expect(alive()).toEqual(["batch-1"]);
    await openDoorsLater(121).tick(at(121));
    expect(alive()).toEqual([]);
  });
});
