/** Tests that objects in a tenant's namespace neither affect the VMs of other tenants nor move the tenant's own VMs. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { keyOfObject } from "../../support/cluster/api.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { node, NODE, pod, vmi } from "../../support/fixtures.ts";
import { type Collections, clusterOf, PATH } from "../../support/generators/clusters.ts";
import { launcherOf, NAMESPACE } from "../../support/generators/objects.ts";
import { GATES } from "../../support/guard/disruptions.ts";
import { configuration } from "../../support/generators/settings.ts";
import * as vms from "../../support/generators/vms.ts";
import { at, type JsonObject } from "../../support/json.ts";
import { vmiObject } from "../../support/cluster/objects.ts";
import { podObject } from "../../support/cluster/pods-and-nodes.ts";
import { allowance, evictionOf } from "../../support/reviews.ts";

/** The API server lists this namespace before the other namespaces. */
const TENANT = "a-tenant";
const WRITABLE = [PATH.pods, PATH.vmis, PATH.migrations, PATH.budgets];

/**
 * Draws the tenant's VMs, which run on the same node as the other VMs. Only the control plane can set an
 * evacuationNodeName or a disruption.
 */
const theirVm = vms.vm.map((vm): vms.Vm => {
  const running = { phase: "Running", node: NODE, isThere: true, deleting: false, launcherIs: "Listed" } as const;
  const unreported = { mark: undefined, state: undefined, evacuations: [] };
  const launcher = { ...vm.launcher, disruption: undefined };
  return { ...vm, ...running, ...unreported, launcher, hotplug: vm.hotplug && launcher };
});

const anyForgery = fc
  .tuple(clusterOf(theirVm), fc.boolean())
  .map(([{ collections }, isForged]): Collections =>
    Object.fromEntries(
      WRITABLE.map((path) => [
        path,
        (collections[path] ?? []).map((one) => forged(one, isForged && path !== PATH.vmis)),
      ]),
    ),
  );

/**
 * Returns an object with the name of another tenant's object. If `isForged` is set, its UIDs are also the other
 * tenant's UIDs.
 */
function forged(object: JsonObject, isForged: boolean): JsonObject {
  const own: JsonObject = JSON.parse(JSON.stringify(object).replaceAll("uid-of-", "uid-of-their-"));
  const { uid = "" } = Object(own["metadata"]);
  const { metadata, ...rest } = isForged ? object : own;
  return { ...rest, metadata: { ...Object(metadata), namespace: TENANT, uid } };
}

function clusterWith(...all: readonly Collections[]): FakeCluster {
  const fake = new FakeCluster();
  for (const collections of all) {
    for (const [path, objects] of Object.entries(collections)) {
      for (const object of objects) fake.api.put(path.replace(/.*\//, ""), object);
    }
  }
  return fake;
}

/** Returns all objects of a namespace, without versions, times and generated UIDs. */
function worldOf(fake: FakeCluster, namespace: string) {
  const numbered = /"(?:resourceVersion|creationTimestamp)":"[^"]*",?|"uid-\d+"|-[\da-f]{8}(?=-\d+\b)/g;
  return [...fake.api.snapshot()]
    .flatMap(([resource, objects]) => [...objects.values()].map((object) => ({ resource, object })))
    .filter(({ object }) => at(object, "metadata", "namespace") === namespace)
    .map((one) => (one.resource === "events" ? { ...one.object, metadata: {} } : one.object))
    .map((object) => JSON.stringify(object).replaceAll(numbered, ""))
    .toSorted();
}

async function stateOf(fake: FakeCluster) {
  const app = openApp(fake);
  const { body } = await app.evict(evictionOf({ namespace: NAMESPACE, name: launcherOf("web") }));
  await app.settle();
  await app.reconcile();
  await app.settle();
  return { body, world: worldOf(fake, NAMESPACE) };
}

/** Disables evacuation under node pressure, because all VMs of such a node compete for memory on other nodes. */
const anySpec = configuration.map((spec) => ({
  ...Object(spec),
  featureGates: { ...Object(at(spec, "featureGates")), NodePressureEvictionLiveMigration: false },
}));

const RUNS = { seed: 20_260_301, numRuns: 60 };

test("no object of a tenant affects the VMs of others", async () => {
  let changed = 0;
  const holds = fc.asyncProperty(clusterOf(vms.vm, anySpec), anyForgery, async ({ collections }, forgery) => {
    const alone = clusterWith(collections);
    const before = worldOf(alone, NAMESPACE);
    const expected = await stateOf(alone);
    expect(await stateOf(clusterWith(collections, forgery))).toEqual(expected);
    if (expected.world.join("\n") !== before.join("\n")) changed += 1;
  });
  await fc.assert(holds, RUNS);
  expect(changed).toBeGreaterThan(40);
});

test("no object of a tenant moves or ends the tenant's VMs", async () => {
  const holds = fc.asyncProperty(anyForgery, async (forgery) => {
    const fake = clusterWith(forgery);
    fake.configure({ featureGates: Object.fromEntries(GATES.map((gate) => [gate, true])) });
    // The node has no taint, because only the control plane can set taints.
    fake.nodes.put(node());
    const namesOf = (resource: string) => fake.api.objects(resource).map(keyOfObject);
    const there = () => ["pods", "virtualmachineinstances", "virtualmachineinstancemigrations"].map(namesOf);
    const before = there();
    await openApp(fake).reconcile();
    expect(there()).toEqual(before);
    expect(fake.evacuations.list()).toEqual([]);
    expect(fake.vmis.list(({ evacuationNodeName }) => evacuationNodeName !== undefined)).toEqual([]);
  });
  await fc.assert(holds, RUNS);
});

test("imitated launcher pods in a tenant's namespace do not keep other VMs on a node under pressure", async () => {
  const fake = new FakeCluster();
  fake.configure({ featureGates: { NodePressureEvictionLiveMigration: true } });
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  for (const name of ["a", "b", "c"])
    fake.pods.put(pod({ namespace: TENANT, name: `virt-launcher-${name}-aaaaa`, uid: name, owners: [] }));
  fake.nodes.put(node({ pressures: ["MemoryPressure"] }), node({ name: "node02" }));
  await openApp(fake).reconcile();
  expect(fake.vmis.get(vmi())?.evacuationNodeName).toBe(NODE);
});

// prettier-ignore
test.each([
  ["has an invalid name",        "a,status.phase!=Moved"],
  ["is in another namespace",    "web"],
  ["does not exist",             "nobody"],
])("a pod that claims to be the launcher pod of a VM that %s is evicted like any other", async (_, domain) => {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  const forgery = pod({ namespace: TENANT, uid: "forged", annotations: { "kubevirt.io/domain": domain }, owners: [] });
  fake.pods.put(forgery);
  expect((await openApp(fake).evict(evictionOf(forgery))).body).toEqual(allowance());
});

test("a pod that cannot be parsed hides no other pod, and makes the verdict of its node Unknown", async () => {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  fake.pods.put(pod());
  fake.nodes.put(node(), node({ name: "node02" }));
  const odd = podObject(pod({ namespace: TENANT, uid: "odd" }));
  fake.api.put("pods", { ...odd, spec: { nodeName: NODE, containers: [{ ports: [{ hostPort: "odd" }] }] } });
  expect(await openApp(fake).explainNode(NODE)).toMatchObject({
    verdict: "Unknown",
    pods: [{ vmi: "web", outcome: "Moves" }],
    unknown: ["1 pods of the node"],
  });
});

test("a VMI that cannot be parsed hides no other VMI, and its pod does not count as a pod without a VM", async () => {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  fake.pods.put(pod());
  fake.nodes.put(node(), node({ name: "node02" }));
  const own = { namespace: TENANT, name: "odd", uid: "odd-vmi" };
  const large = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`example.com/${i}`, "x".repeat(90)]));
  fake.api.put("virtualmachineinstances", { ...vmiObject(vmi(own)), spec: { domain: {}, nodeSelector: large } });
  const annotations = { "kubevirt.io/domain": "odd" };
  fake.pods.put(pod({ namespace: TENANT, name: "virt-launcher-odd-aaaaa", uid: "odd", annotations, owners: [] }));
  expect(await openApp(fake).explainNode(NODE)).toMatchObject({
    verdict: "Unknown",
    pods: [{ vmi: "web", outcome: "Moves" }],
    unknown: ["1 VMIs of the node", `the VMI of pod ${TENANT}/virt-launcher-odd-aaaaa`],
  });
});
