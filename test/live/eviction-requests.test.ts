/** EvictionRequests, as far as they are public: the kind as a custom resource, and the test in the place of upstream's controller. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyManifests, type KubeObject, type Resource } from "../../infra/sandbox/index.ts";
import { readManifests } from "../support/manifests/shipped.ts";
import { closeQueue, NAMESPACE, openQueue, QUICK, type Stage, startStage } from "./stage.ts";
import { createVm, type Vm } from "./vm.ts";

const NAME = "lifeboat.dev/responder";
const GROUP = "lifecycle.k8s.io";

interface Eviction extends KubeObject {
  readonly spec?: { readonly target: object };
  readonly status?: { readonly responders?: readonly Readonly<Record<string, string>>[] };
}

const evictions: Resource<Eviction> = {
  apiVersion: `${GROUP}/v1alpha1`,
  kind: "Eviction",
  plural: "evictions",
  namespaced: true,
};

/** With upstream's names; its own validation is not public as a schema. */
const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: `evictions.${GROUP}`,
    annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
  },
  spec: {
    group: GROUP,
    names: { kind: "Eviction", listKind: "EvictionList", plural: "evictions", singular: "eviction" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ configuration: { ...QUICK, featureGates: { EvictionRequests: true } } });
  const roles = readManifests("optional/eviction-requests/eviction-requests.yaml").filter(({ kind }) =>
    kind.startsWith("ClusterRole"),
  );
  await applyManifests(stage.client, [DEFINITION, ...roles]);
});
afterAll(() => stage.stop());

/** As upstream's controller does for an EvictionRequest. */
async function ask(vm: Vm) {
  const { client } = stage;
  const { name, uid } = (await vm.pod()).metadata;
  const metadata = { namespace: NAMESPACE, name: `pod-1-${name}`, labels: { [NAME]: "responder" } };
  await client.create(evictions, { metadata, spec: { target: { pod: { name, uid } } } });
  const turn = async (state: string, report: object = {}) => {
    const body = { status: { targetResponders: [{ name: NAME, state, priority: 10000 }], ...report } };
    await client.patch(evictions, metadata, { type: "merge", body }, { subresource: "status" });
  };
  await turn("Active", {
    requesters: [{ name: "acme.io/drainer", intent: "Eviction" }],
    responders: [{ name: NAME, startTime: new Date().toISOString() }],
  });
  const report = async () => (await client.get(evictions, metadata))?.status?.responders?.[0];
  return { turn, report };
}

test("a request becomes an Evacuation, which reports and completes", async () => {
  const vm = await createVm(stage, "asked");
  await closeQueue(stage.client);
  const { report } = await ask(vm);
  const spec = { cause: "EvictionRequest", requestedBy: "acme.io/drainer" };
  await expect.poll(vm.evacuations).toMatchObject([{ spec }]);
  await expect.poll(report).toMatchObject({ name: NAME, heartbeatTime: expect.any(String) });
  await openQueue(stage.client);
  await vm.untilMoved();
  await expect.poll(report).toMatchObject({ completionTime: expect.any(String) });
  await expect.poll(vm.phases).toEqual(["Moved"]);
});

test("a cancelled request withdraws its Evacuation, and the VM stays", async () => {
  const vm = await createVm(stage, "stays");
  await closeQueue(stage.client);
  const { turn } = await ask(vm);
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  await turn("Canceled");
  await expect.poll(vm.phases).toEqual(["Withdrawn"]);
  await vm.untilUnmarked();
  expect((await vm.vmi()).status?.nodeName).toBe(vm.node);
});
