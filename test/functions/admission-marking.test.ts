/** What an eviction changes in the cluster before it is answered, also when the cluster changes meanwhile. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { type Before, openDoors } from "./support/doors.ts";
import { allowance, evictionOf, evictionReview, refusal, review } from "./support/reviews.ts";
import { NAMESPACE, QUIET, startTestCluster, type TestCluster, type TestVm } from "./support/test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.configure(QUIET);
});
afterAll(() => cluster.stop());

const open = (before?: Before) => openDoors({ CLUSTERS: { prod: cluster.entry } }, before);
const triggered = (name: string) => refusal(`Eviction triggered evacuation of VMI "apps/${name}"`);

/** Once, before the first request that matches. */
function once(pattern: RegExp, change: () => Promise<unknown>): Before {
  let done = false;
  return async (request) => {
    if (done || !pattern.test(request)) return;
    done = true;
    await change();
  };
}

const changeStatus = (name: string, status: object) => cluster.patchVmi(name, { status });

/** Everything that Lifeboat might write. */
async function world() {
  const kinds = [
    kubevirt.virtualMachineInstances,
    kubevirt.migrations,
    core.pods,
    core.podDisruptionBudgets,
    core.events,
    core.configMaps,
    evacuations,
  ];
  return await Promise.all(kinds.map(async (kind) => (await cluster.client.list<core.KubeObject>(kind)).items));
}

const evacuationsOf = async (name: string) => {
  const { items } = await cluster.client.list(evacuations, NAMESPACE);
  return items.filter(({ spec }) => spec.virtualMachineInstance.name === name);
};

test("a first eviction writes the mark and an Evacuation, and tells of it", async () => {
  const pod = await cluster.createVm({ name: "first", strategy: "LiveMigrate" });
  const doors = open();
  const body = evictionReview({ request: { ...pod, userInfo: { username: "drainer" } } });
  expect(await review(doors, body)).toMatchObject({ code: 200, body: triggered("first") });
  const vmi = await cluster.getVmi("first");
  expect(vmi?.status).toMatchObject({ evacuationNodeName: "node01" });
  expect(vmi?.metadata).toMatchObject({ labels: { app: "first" }, annotations: { note: "kept" } });
  const uid = (await cluster.client.get(core.pods, pod))?.metadata.uid;
  expect(await evacuationsOf("first")).toMatchObject([
    {
      metadata: { name: expect.stringMatching(/^first-[0-9a-f]{8}-1$/) },
      spec: { cause: "ApiEviction", requestedBy: "drainer", intent: "Evacuate", pod: { name: pod.name, uid } },
    },
  ]);
  await doors.settle();
  expect(await cluster.storyOf("first")).toEqual(["EvacuationTriggered"]);
});

test("the descheduler's eviction has its own cause", async () => {
  const pod = await cluster.createVm({ name: "descheduled", strategy: "LiveMigrate" });
  const metadata = { ...pod, annotations: { "requested-by": "sigs.k8s.io/descheduler" } };
  await review(open(), evictionReview({ request: pod, eviction: { metadata } }));
  expect(await evacuationsOf("descheduled")).toMatchObject([{ spec: { cause: "Descheduler" } }]);
});

test("a second eviction writes nothing more", async () => {
  const pod = await cluster.createVm({ name: "second", strategy: "LiveMigrate" });
  const doors = open();
  await review(doors, evictionOf(pod));
  await doors.settle();
  const before = await world();
  const answer = await review(doors, evictionOf(pod));
  const message = 'Evacuation in progress: Eviction triggered evacuation of VMI "apps/second"';
  expect(answer).toMatchObject({ body: refusal(message) });
  await doors.settle();
  expect(await world()).toEqual(before);
});

describe("a dry run gets the same answer and writes nothing", () => {
  // prettier-ignore
  test.each([
    ["of the request",   { name: "dry-1", strategy: "LiveMigrate" },           { request: { dryRun: true } }],
    ["of the Eviction",  { name: "dry-2", strategy: "LiveMigrate" },           { eviction: { deleteOptions: { dryRun: ["All"] } } }],
    ["of a pinned VM",   { name: "dry-3", strategy: "LiveMigrate", migratable: false }, { request: { dryRun: true } }],
    ["a shutdown",       { name: "dry-4", strategy: "LiveMigrateIfPossible", migratable: false }, { request: { dryRun: true } }],
  ])("%s", async (_, vm, tweak) => {
    const pod = await cluster.createVm(vm);
    const before = await world();
    const doors = open();
    const request = { ...pod, ...("request" in tweak ? tweak.request : {}) };
    const dry = await review(doors, evictionReview({ ...tweak, request }));
    await doors.settle();
    expect(await world()).toEqual(before);
    expect(dry.body).toEqual((await review(doors, evictionOf(pod))).body);
    await doors.settle();
    expect(await world()).not.toEqual(before);
  });
});

describe("what is not to be moved is not marked", () => {
  const field = 'VMI "apps/odd": spec.evictionStrategy is "LiveMigration"';
  // prettier-ignore
  test.each<[TestVm, unknown, readonly string[]]>([
    [{ name: "odd", strategy: "LiveMigration" },               refusal(`${field}, expected None, LiveMigrate, LiveMigrateIfPossible or External`), ["EvictionRefused"]],
    [{ name: "pinned", strategy: "LiveMigrate", migratable: false }, refusal('VMI "apps/pinned" is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable'), ["EvictionRefused"]],
    [{ name: "none", strategy: "None" },                       allowance(), []],
    [{ name: "unset" },                                        allowance(), []],
    [{ name: "shut", strategy: "LiveMigrateIfPossible", migratable: false }, allowance({ warnings: ['VMI "apps/shut" will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable'] }), ["ShutdownByStrategy"]],
    [{ name: "ended", strategy: "LiveMigrate", status: { phase: "Succeeded" } }, allowance(), []],
  ])("$name", async (vm, body, story) => {
    const doors = open();
    const pod = await cluster.createVm(vm);
    const before = await cluster.getVmi(vm.name);
    expect(await review(doors, evictionOf(pod))).toMatchObject({ code: 200, body });
    await doors.settle();
    expect(await cluster.getVmi(vm.name)).toEqual(before);
    expect(await cluster.storyOf(vm.name)).toEqual(story);
  });
});

describe("between read and write, the VMI", () => {
  const patching = /^PATCH .*virtualmachineinstances/;

  test("moves: it is not marked for the node that it has left", async () => {
    const pod = await cluster.createVm({ name: "moves", strategy: "LiveMigrate" });
    const doors = open(once(patching, () => changeStatus("moves", { nodeName: "node02" })));
    const message = 'Eviction request for target Pod: VMI "apps/moves" is on node "node02"';
    expect(await review(doors, evictionOf(pod))).toMatchObject({ body: refusal(message) });
    const vmi = await cluster.getVmi("moves");
    expect(vmi?.status?.evacuationNodeName).toBeUndefined();
    expect(vmi?.metadata.annotations).toEqual({ note: "kept" });
    expect(vmi?.metadata.labels).toEqual({ app: "moves" });
  });

  test("is marked by somebody else: the same answer, and it stays marked", async () => {
    const pod = await cluster.createVm({ name: "raced", strategy: "LiveMigrate" });
    const doors = open(once(patching, () => changeStatus("raced", { evacuationNodeName: "node01" })));
    expect(await review(doors, evictionOf(pod))).toMatchObject({ body: triggered("raced") });
    expect((await cluster.getVmi("raced"))?.status?.evacuationNodeName).toBe("node01");
  });

  test("can no longer be moved: refused, and not marked", async () => {
    const pod = await cluster.createVm({ name: "stuck", strategy: "LiveMigrate" });
    // Nothing that the mark tests has changed: it is the caller's next eviction that is told.
    const conditions = [{ type: "LiveMigratable", status: "False", reason: "DisksNotLiveMigratable" }];
    const doors = open(once(/^GET .*pods/, () => changeStatus("stuck", { conditions })));
    expect((await review(doors, evictionOf(pod))).text).toContain("not live-migratable");
    expect((await cluster.getVmi("stuck"))?.status?.evacuationNodeName).toBeUndefined();
  });

  test("is deleted: nothing to stop", async () => {
    const pod = await cluster.createVm({ name: "deleted", strategy: "LiveMigrate" });
    const key = { namespace: NAMESPACE, name: "deleted" };
    const doors = open(once(patching, () => cluster.client.delete(kubevirt.virtualMachineInstances, key)));
    expect(await review(doors, evictionOf(pod))).toMatchObject({ body: allowance() });
  });

  test("is deleted and made anew: the new one is not the old pod's", async () => {
    const pod = await cluster.createVm({ name: "anew", strategy: "LiveMigrate" });
    const again = async () => {
      await cluster.client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: "anew" });
      const spec = { domain: { devices: {} }, evictionStrategy: "LiveMigrate" };
      const metadata = { namespace: NAMESPACE, name: "anew" };
      await cluster.client.create(kubevirt.virtualMachineInstances, { metadata, spec, status: { nodeName: "node01" } });
    };
    expect(await review(open(once(patching, again)), evictionOf(pod))).toMatchObject({ body: allowance() });
    expect((await cluster.getVmi("anew"))?.status).toEqual({ nodeName: "node01" });
  });
});

test("the pod goes between the reads: nothing to stop", async () => {
  const pod = await cluster.createVm({ name: "podless", strategy: "LiveMigrate" });
  const gone = () => cluster.client.delete(core.pods, pod, { gracePeriodSeconds: 0 });
  expect(await review(open(once(/^GET .*pods/, gone)), evictionOf(pod))).toMatchObject({ body: allowance() });
  expect((await cluster.getVmi("podless"))?.status?.evacuationNodeName).toBeUndefined();
});
