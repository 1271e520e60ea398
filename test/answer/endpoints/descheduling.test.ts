/** Tests the descheduling endpoint: its answers, its scheduled cycles, and the annotations on launcher pods. */
import { dump } from "js-yaml";
import { beforeEach, describe, expect, test } from "vitest";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { type PolicyFile, policyOf } from "../../live/descheduling-stage.ts";
import { plainPod } from "../../support/descheduling/worlds.ts";
import { type App, asWebhook, openApp } from "../../support/app.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { node, NOW, owner, pod, vmi } from "../../support/fixtures.ts";
import { ONLY } from "../../support/launchers.ts";

const BOTH = { EvictionsInBackground: true, DeschedulerSupport: true };
const QUIET = { disruptionBudgets: "Never" };
const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };
const TAINTS = policyOf("RemovePodsViolatingNodeTaints", {});

let fake: FakeCluster;
let app: App;
let requests: string[];
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ ...QUIET, featureGates: BOTH });
  // RemovePodsViolatingNodeTaints evicts pods from the first node, which is tainted.
  fake.nodes.put(node({ taints: [{ key: "maintenance", effect: "NoSchedule" }] }), node({ name: "node02" }));
  for (const name of ["batch-1", "batch-2"])
    fake.pods.put(plainPod(name, { uid: name, owners: [owner({ kind: "ReplicaSet" })] }));
  requests = [];
  app = openApp(fake, (label) => void requests.push(label));
});

function setPolicy(policy: PolicyFile): void {
  const data = { "policy.yaml": dump(policy) };
  fake.api.put("configmaps", { metadata: { ...POLICY, uid: "policy", resourceVersion: "1" }, data });
}

const post = (path: string) => app.request(`/clusters/prod/${path}`, { method: "POST", headers: asWebhook });
const alive = () => fake.pods.list().map(({ name }) => name);
const ALL = ["batch-1", "batch-2"];

test.each(["maybe", "", "1", "TRUE"])("dryRun=%s is answered 400 with the name of the field", async (value) => {
  setPolicy(TAINTS);
  const error = { reason: "BadRequest", field: "dryRun", message: "expected true or false" };
  expect(await post(`deschedule?dryRun=${value}`)).toMatchObject({ code: 400, body: { error } });
  expect(alive()).toEqual(ALL);
});

// prettier-ignore
test.each<readonly [string, PolicyFile | undefined, string, string]>([
  ["is missing",        undefined,                         "ConfigMap lifeboat-descheduler", "expected this ConfigMap in namespace lifeboat-system"],
  ["has a limit of a newer version", { ...TAINTS, maxNoOfPodsToEvictPerOwner: 1 }, "policy.yaml.maxNoOfPodsToEvictPerOwner", "unknown key"],
])("a policy that %s is answered 503, and no pod is evicted", async (_, policy, field, message) => {
  if (policy !== undefined) setPolicy(policy);
  const { code, body } = await post("deschedule");
  await app.settle();
  const error = { field: expect.stringContaining(field), message: expect.stringContaining(message) };
  expect([code, body]).toMatchObject([503, { error: { reason: "InvalidConfiguration", ...error } }]);
  expect(alive()).toEqual(ALL);
  expect(fake.recordedEvents.map(({ reason }) => reason)).toEqual(policy === undefined ? [] : ["InvalidConfiguration"]);
});

test("an unknown plugin in the policy is named in an Event, and the other plugins act", async () => {
  const [profile, other] = [TAINTS, policyOf("RemoveDuplicates", {})].map(({ profiles }) => Object(profiles)[0]);
  setPolicy({ ...TAINTS, profiles: [profile, { ...other, name: "other" }] });
  expect((await post("deschedule")).code).toBe(200);
  await app.settle();
  expect(alive()).not.toEqual(ALL);
  const said = {
    reason: "InvalidConfiguration",
    message: expect.stringContaining("policy.yaml.profiles.1.pluginConfig.1.name: not supported"),
  };
  expect(fake.recordedEvents).toContainEqual(expect.objectContaining(said));
});

describe("a descheduling cycle", () => {
  beforeEach(() => setPolicy({ ...TAINTS, maxNoOfPodsToEvictTotal: 1 }));

  test("reports its nominations, requests and skipped pods with reasons", async () => {
    const about = { node: "node01", profile: "vms", plugin: "RemovePodsViolatingNodeTaints" };
    expect(await post("deschedule")).toMatchObject({
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

  test("with dryRun has the same answer and writes nothing", async () => {
    const body = { dryRun: true, results: { Evicted: 1 } };
    expect(await post("deschedule?dryRun=true")).toMatchObject({ body });
    expect(alive()).toEqual(ALL);
    expect(fake.api.objects("leases")).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["without an interval is not scheduled",                                   { featureGates: BOTH },                                                                 []],
    ["with an interval and without the feature gate is not scheduled",         { featureGates: { DeschedulerSupport: true }, descheduling: { intervalSeconds: 120 } }, []],
    ["with an interval is scheduled, and again when the interval has passed",  { featureGates: BOTH, descheduling: { intervalSeconds: 120 } },                         ["batch-1", "batch-2"]],
  ])("%s", async (_, configuration, gone) => {
    fake.configure({ ...QUIET, ...configuration });
    // No full scan is due at these times.
    const began = tickTime("prod", "small", NOW).getTime();
    for (const [seconds, count] of [[0, 1], [60, 1], [121, 2]] as const) {
      // Each tick runs in a new isolate. The isolate learns about earlier cycles only from the cluster's objects.
      const isolate = openApp(fake);
      isolate.pass(seconds);
      await isolate.tick(new Date(began + seconds * 1000));
      expect(alive()).toEqual(ALL.filter((name) => !gone.slice(0, count).includes(name)));
    }
  });
});

test("a full scan lists launcher pods once, and annotates each pod once", async () => {
  fake.vmis.put(vmi());
  fake.pods.put(pod());
  expect((await post("reconcile")).body).toMatchObject({ done: { AnnotatePod: 1 }, failures: 0 });
  const annotated = expect.objectContaining({ annotations: expect.objectContaining({ [ONLY]: "" }) });
  expect(fake.api.objects("pods")).toContainEqual(expect.objectContaining({ metadata: annotated }));
  expect(requests.filter((label) => label === "list pods kubevirt.io=virt-launcher")).toHaveLength(1);
  expect((await post("reconcile")).body).toEqual({ done: {}, failures: 0 });
});
