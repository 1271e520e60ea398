/** The descheduling door: who may ask, what is answered, and when a cycle begins by itself. */
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { dump } from "js-yaml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as core from "../../../infra/sandbox/actors/resources.ts";
import { type PolicyFile, policyOf } from "../../live/descheduling-stage.ts";
import { asOperator, asWebhook, type Doors, NOW, openDoors } from "../../support/doors.ts";
import { BOTH, createPod, POLICY, setPolicy, startToDeschedule, TAINTS } from "./support/descheduling.ts";
import { NAMESPACE, QUIET, type TestCluster } from "../../support/test-cluster.ts";

const LEASE = { namespace: "lifeboat-system", name: "lifeboat-descheduling" };

let cluster: TestCluster;
let doors: Doors;
beforeEach(async () => {
  cluster = await startToDeschedule();
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
});
afterEach(() => cluster.stop());

const deschedule = (query = "", headers: Record<string, string> = asWebhook) =>
  doors.request(`/clusters/prod/deschedule${query}`, { method: "POST", headers });

/** Names of the pods that are not being deleted. */
async function alive(): Promise<readonly string[]> {
  const { items } = await cluster.client.list(core.pods, NAMESPACE);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(({ metadata }) => metadata.name);
}

describe("who asks", () => {
  // prettier-ignore
  test.each([
    ["no token",     {}],
    ["an operator",  asOperator],
  ])("%s: 401", async (_, headers) => {
    await setPolicy(cluster, TAINTS);
    expect(await deschedule("", headers)).toMatchObject({ code: 401, body: { error: { reason: "Unauthorized" } } });
  });

  test.each(["maybe", "", "1", "TRUE"])("dryRun=%s: 400 names it", async (value) => {
    await setPolicy(cluster, TAINTS);
    await createPod(cluster, "batch-1");
    const error = { reason: "BadRequest", field: "dryRun", message: "expected true or false" };
    expect(await deschedule(`?dryRun=${value}`)).toMatchObject({ code: 400, body: { error } });
    expect(await alive()).toEqual(["batch-1"]);
  });
});

describe("the policy", () => {
  const broken = "apiVersion: descheduler/v1alpha2\nkind: [\n";

  // prettier-ignore
  test.each<readonly [string, PolicyFile | string | undefined, string, string]>([
    ["is not there",        undefined,                              "ConfigMap lifeboat-descheduler", "expected this ConfigMap in namespace lifeboat-system"],
    ["is no YAML",          broken,                                 "policy.yaml",                    "expected YAML, found an error in line 3"],
    ["has an unknown key",  { ...TAINTS, maxNoOfPods: 1 },          "policy.yaml.maxNoOfPods",        "unknown key"],
    ["has another plugin",  policyOf("RemoveDuplicates", {}),       "policy.yaml.profiles.0",         "not supported by Lifeboat"],
    ["is of another kind",  { ...TAINTS, kind: "Policy" },          "policy.yaml.kind",               "expected DeschedulerPolicy"],
  ])("%s: 503, and nothing is evicted", async (_, policy, field, message) => {
    if (policy !== undefined) await setPolicy(cluster, policy);
    await createPod(cluster, "batch-1");
    const { code, body } = await deschedule();
    await doors.settle();
    const error = { field: expect.stringContaining(field), message: expect.stringContaining(message) };
    expect([code, body]).toMatchObject([503, { error: { reason: "InvalidConfiguration", ...error } }]);
    expect(await alive()).toEqual(["batch-1"]);
    expect(await cluster.storyOf(POLICY.name)).toEqual(policy === undefined ? [] : ["InvalidConfiguration"]);
  });

  test("is read anew for every cycle", async () => {
    await setPolicy(cluster, { ...TAINTS, maxNoOfPodsToEvictTotal: 0 });
    await createPod(cluster, "batch-1");
    expect(await deschedule()).toMatchObject({ body: { results: { evictionsTotal: 1 } } });
    const body = { data: { "policy.yaml": dump(TAINTS) } };
    await cluster.client.patch(core.configMaps, POLICY, { type: "merge", body });
    expect(await deschedule()).toMatchObject({ body: { results: { Evicted: 1 } } });
  });
});

describe("a cycle", () => {
  test("says what it nominated, what it requested, what it skipped and why", async () => {
    await setPolicy(cluster, { ...TAINTS, maxNoOfPodsToEvictTotal: 1 });
    await createPod(cluster, "batch-1");
    await createPod(cluster, "batch-2");
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
    expect(await alive()).toEqual(["batch-2"]);
  });

  test("dry run: the same answer, and nothing is written anywhere", async () => {
    await setPolicy(cluster, TAINTS);
    await createPod(cluster, "batch-1");
    expect(await deschedule("?dryRun=true")).toMatchObject({ body: { dryRun: true, results: { Evicted: 1 } } });
    expect(await alive()).toEqual(["batch-1"]);
    expect(await cluster.client.get(core.leases, LEASE)).toBeUndefined();
  });

  test("the pod's eviction says who asks for it, and why", async () => {
    await setPolicy(cluster, TAINTS);
    await createPod(cluster, "batch-1");
    await deschedule();
    expect(await cluster.storyOf("batch-1")).toEqual(["Descheduled"]);
  });
});

/** Another isolate, which knows of the last cycle only what the cluster says. */
function openDoorsLater(seconds: number): Doors {
  const later = openDoors({ CLUSTERS: { prod: cluster.entry } });
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
    await cluster.configure({ ...QUIET, ...configuration });
    await setPolicy(cluster, TAINTS);
    await createPod(cluster, "batch-1");
    doors.pass(60);
    await doors.tick(at(0));
    expect(await alive()).toEqual(evicts ? [] : ["batch-1"]);
  });

  test("not before the interval is over, whichever isolate looks", async () => {
    await cluster.configure({ ...QUIET, featureGates: BOTH, descheduling: { intervalSeconds: 120 } });
    await setPolicy(cluster, TAINTS);
    await doors.tick(at(0));
    await createPod(cluster, "batch-1");
    doors.pass(60);
    await openDoorsLater(60).tick(at(60));
    expect(await alive()).toEqual(["batch-1"]);
    await openDoorsLater(121).tick(at(121));
    expect(await alive()).toEqual([]);
  });

  test("with a policy that has an error: an Event, and everything else goes on", async () => {
    await cluster.configure({ ...QUIET, featureGates: BOTH, descheduling: { intervalSeconds: 60 } });
    await setPolicy(cluster, "kind: [\n");
    await doors.tick(at(0));
    expect(await cluster.storyOf(POLICY.name)).toEqual(["InvalidConfiguration"]);
  });
});
