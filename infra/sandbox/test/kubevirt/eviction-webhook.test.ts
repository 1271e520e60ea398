/**
 * Tests virt-api's answers to evictions. The rows come from the tests of KubeVirt 1.9. The recorded answers are in
 * answers.test.ts.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownerReferenceTo, pods, type Pod } from "../../actors/resources.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { FOREIGN, startGuests, VIRT_CONTROLLER, type Guests } from "./guests.ts";

const NAMESPACE = "kvf";
const VMI = "guest";
const LAUNCHER = "virt-launcher-guest-aaaaa";

let guests: Guests;

beforeAll(async () => {
  guests = await startGuests();
  const { client } = guests.sandbox;
  await client.create(kubevirt.virtualMachineInstances, {
    metadata: { namespace: NAMESPACE, name: VMI },
    spec: { domain: { devices: {} } },
  });
});
afterAll(() => guests.stop());

interface State {
  readonly cluster?: string;
  readonly strategy?: string;
  readonly migratable?: boolean;
  readonly mark?: string;
  readonly annotations?: Record<string, string | null>;
}

const key = { namespace: NAMESPACE, name: VMI };

async function setState({ cluster, strategy, migratable = false, mark, annotations }: State) {
  const { client } = guests.sandbox;
  const conditions = [{ type: "LiveMigratable", status: migratable ? "True" : "False" }];
  const status = { nodeName: "node01", conditions, evacuationNodeName: mark ?? null, phase: "Running" };
  const body = { metadata: { annotations: annotations ?? null }, spec: { evictionStrategy: strategy ?? null }, status };
  await client.as(VIRT_CONTROLLER).patch(kubevirt.virtualMachineInstances, key, { type: "merge", body });
  const configuration = { spec: { configuration: { evictionStrategy: cluster ?? null } } };
  await client.patch(
    kubevirt.kubeVirts,
    { namespace: "kubevirt", name: "kubevirt" },
    { type: "merge", body: configuration },
  );
}

async function createPod(name: string, app: string, owner: Pod["metadata"]["ownerReferences"] = []) {
  const metadata = {
    namespace: NAMESPACE,
    name,
    labels: { "kubevirt.io": app },
    annotations: { "kubevirt.io/domain": VMI },
    ownerReferences: owner,
  };
  const spec = { nodeName: "node01", containers: [{ name: "compute", image: "i" }] };
  return guests.sandbox.client.create(pods, { metadata, spec });
}

beforeEach(async () => {
  const { client } = guests.sandbox;
  for (const { metadata } of (await client.list(pods, NAMESPACE)).items)
    await client.delete(pods, metadata, { gracePeriodSeconds: 0 });
  const vmi = await client.get(kubevirt.virtualMachineInstances, key);
  await createPod(LAUNCHER, "virt-launcher", vmi && [ownerReferenceTo(vmi, kubevirt.virtualMachineInstances)]);
});

interface More {
  readonly annotations?: Record<string, string>;
  readonly uid?: string;
}

async function evict(name: string, { annotations, uid }: More = {}) {
  const metadata = { namespace: NAMESPACE, name, ...(annotations && { annotations }) };
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata,
    ...(uid !== undefined && { deleteOptions: { preconditions: { uid } } }),
  };
  return guests.ask(FOREIGN, { method: "POST", path: `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`, body });
}

async function vmiAfter() {
  return guests.sandbox.client.get(kubevirt.virtualMachineInstances, key);
}

const denied = (message: string) => ({
  code: 429,
  message: `admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ${message}`,
});

const TRIGGERED = denied(`Eviction triggered evacuation of VMI "${NAMESPACE}/${VMI}"`);
const IN_PROGRESS = denied(`Evacuation in progress: Eviction triggered evacuation of VMI "${NAMESPACE}/${VMI}"`);
const PINNED = denied(`VMI ${VMI} is configured with an eviction strategy but is not live-migratable`);
const EVICTED = { code: 201 };

describe("an eviction of a launcher pod", () => {
  type Row = readonly [
    cluster: string | undefined,
    strategy: string | undefined,
    migratable: boolean,
    answer: object,
    mark: string | undefined,
  ];
  // prettier-ignore
  const rows: readonly Row[] = [
    // cluster               VMI                      migratable  answer     mark
    [undefined,              "LiveMigrate",           true,       TRIGGERED, "node01" ],
    [undefined,              "LiveMigrateIfPossible", true,       TRIGGERED, "node01" ],
    [undefined,              "External",              false,      TRIGGERED, "node01" ],
    [undefined,              "External",              true,       TRIGGERED, "node01" ],
    ["LiveMigrate",          undefined,               true,       TRIGGERED, "node01" ],
    ["LiveMigrateIfPossible", undefined,              true,       TRIGGERED, "node01" ],
    ["External",             undefined,               false,      TRIGGERED, "node01" ],
    [undefined,              undefined,               true,       EVICTED,   undefined],
    [undefined,              "None",                  true,       EVICTED,   undefined],
    [undefined,              "LiveMigrateIfPossible", false,      EVICTED,   undefined],
    ["None",                 undefined,               true,       EVICTED,   undefined],
    ["LiveMigrateIfPossible", undefined,              false,      EVICTED,   undefined],
    ["LiveMigrate",          "None",                  true,       EVICTED,   undefined],
    [undefined,              "LiveMigrate",           false,      PINNED,    undefined],
    ["LiveMigrate",          undefined,               false,      PINNED,    undefined],
  ];
  test.each(rows)(
    "gets KubeVirt's answer if the strategy is %s in the cluster and %s in the VMI (migratable: %s)",
    async (...[cluster, strategy, migratable, answer, mark]) => {
      await setState({ ...(cluster && { cluster }), ...(strategy && { strategy }), migratable });
      expect(await evict(LAUNCHER)).toMatchObject(answer);
      expect((await vmiAfter())?.status?.evacuationNodeName).toBe(mark);
    },
  );

  test("gets the answer 'in progress' if the VMI has evacuationNodeName", async () => {
    await setState({ strategy: "LiveMigrate", migratable: true, mark: "node01" });
    expect(await evict(LAUNCHER)).toMatchObject(IN_PROGRESS);
  });

  test("is reviewed before its precondition is checked, so it sets evacuationNodeName even with a wrong UID", async () => {
    await setState({ strategy: "LiveMigrate", migratable: true });
    expect(await evict(LAUNCHER, { uid: "of-no-pod" })).toMatchObject(TRIGGERED);
    expect((await vmiAfter())?.status?.evacuationNodeName).toBe("node01");
    await setState({ strategy: "None" });
    expect(await evict(LAUNCHER, { uid: "of-no-pod" })).toMatchObject({ code: 409 });
    expect(await guests.sandbox.client.get(pods, { namespace: NAMESPACE, name: LAUNCHER })).toBeDefined();
  });

  test("is allowed if the pod has completed", async () => {
    await setState({ strategy: "LiveMigrate", migratable: true });
    const status = { status: { phase: "Succeeded" } };
    await guests.sandbox.client.patch(
      pods,
      { namespace: NAMESPACE, name: LAUNCHER },
      { type: "merge", body: status },
      { subresource: "status" },
    );
    expect(await evict(LAUNCHER)).toMatchObject(EVICTED);
  });
});

describe("an eviction by the descheduler", () => {
  const annotations = { "requested-by": "sigs.k8s.io/descheduler", reason: "triggered by p/s: r" };

  test("sets the annotation eviction-source on a VMI that already has an annotation", async () => {
    await setState({ strategy: "LiveMigrate", migratable: true, annotations: { some: "annotation" } });
    expect(await evict(LAUNCHER, { annotations })).toMatchObject(TRIGGERED);
    expect((await vmiAfter())?.metadata.annotations).toMatchObject({
      [kubevirt.ANNOTATION.evictionSource]: "descheduler",
    });
  });

  test("cannot set evacuationNodeName of a VMI without annotations", async () => {
    await setState({ strategy: "LiveMigrate", migratable: true });
    const answer = await evict(LAUNCHER, { annotations });
    expect(answer.code).toBe(429);
    expect(answer.message).toContain("denied the request: kubevirt failed marking the vmi for eviction: ");
    expect((await vmiAfter())?.status).not.toHaveProperty("evacuationNodeName");
  });
});

test("an eviction of an ordinary pod is allowed, even if its name begins with virt-launcher", async () => {
  await createPod("virt-launcher-impostor", "something-else");
  expect(await evict("virt-launcher-impostor")).toMatchObject(EVICTED);
});
