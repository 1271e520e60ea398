/**
 * Tests the optional ValidatingAdmissionPolicies, which restrict the account's requests for pods, nodes and VMIs.
 * least-privilege.test.ts tests the permitted requests.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { core, kubevirt, type RawRequest, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { applyManifests } from "../../../infra/sandbox/index.ts";
import * as names from "../../../shared/kube/names.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { answerTo, LIFEBOAT } from "./stage.ts";

const NAMESPACE = "apps";
const MANIFESTS = readManifests("optional/restriction/restriction.yaml");
const policies: core.Resource<core.KubeObject & { status?: unknown }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  namespaced: false,
};

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  await applyManifests(sandbox.client, MANIFESTS);
  await sandbox.client.create(core.namespaces, { metadata: { name: NAMESPACE } });
});
afterAll(() => sandbox.stop());

test("the policies' expressions use only fields that the matched kinds have", async () => {
  for (const { kind, metadata } of MANIFESTS) {
    if (kind !== policies.kind) continue;
    const status = async () => (await sandbox.client.get(policies, metadata))?.status;
    await expect.poll(status).toEqual({ observedGeneration: 1, typeChecking: {} });
  }
});

type Deed = (path: string, uid: string) => RawRequest;

const patch = (path: string, body: unknown): RawRequest => {
  return { method: "PATCH", path, body, contentType: "application/strategic-merge-patch+json" };
};
const change =
  (metadata: object, spec = {}): Deed =>
  (path) =>
    patch(path, { metadata, spec });
const remove: Deed = (path, uid) => ({ method: "DELETE", path, body: { preconditions: { uid } } });
const evict =
  (options: (uid: string) => object): Deed =>
  (path, uid) => {
    const [, name] = path.split("/pods/");
    const metadata = { namespace: NAMESPACE, name };
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions: options(uid) };
    return { method: "POST", path: `${path}/eviction`, body };
  };

const ANNOTATIONS = "Lifeboat may add, change or remove only its own annotations of a pod";
const REST = "Lifeboat may change only annotations of a pod";
const VMS_ONLY = "Lifeboat may delete only pods of virtual machines";
const UID_OF_DELETION = "Lifeboat has to name the pod's UID when it deletes a pod";
const UID_OF_EVICTION = "Lifeboat has to name the pod's UID when it evicts a pod";

let created = 0;

async function refusalOf(user: string, component: string, deed: Deed): Promise<unknown> {
  const name = `victim-${++created}`;
  const annotations = { kept: "as it is", [names.REQUEST_EVICT_ONLY_ANNOTATION]: "" };
  const pod = { namespace: NAMESPACE, name, annotations, labels: { "kubevirt.io": component } };
  const spec = { containers: [{ name: "c", image: "good" }] };
  const { metadata } = await sandbox.client.create(core.pods, { metadata: pod, spec });
  const request = deed(`/api/v1/namespaces/${NAMESPACE}/pods/${name}`, metadata.uid);
  const [code, message] = (await answerTo(request, sandbox.client.as(user, ["system:masters"]))).answer;
  return Number(code) < 300 ? "" : message;
}

// prettier-ignore
test.each<[string, component: string, Deed, refusal: string]>([
  ["adds Lifeboat's annotation to a pod",  "virt-launcher", change({ annotations: { [names.EVICTION_IN_PROGRESS_ANNOTATION]: "" } }), ""],
  ["adds another annotation to a pod",     "virt-launcher", change({ annotations: { other: "x" } }),                              ANNOTATIONS],
  ["removes another annotation of a pod",  "virt-launcher", change({ annotations: { kept: null } }),                              ANNOTATIONS],
  ["lets a descheduler evict any pod",     "",              change({ annotations: { [names.EVICT_ANNOTATION]: "" } }),            ANNOTATIONS],
  ["adds a label to a pod",                "",              change({ labels: { "kubevirt.io": "virt-launcher" } }),               REST],
  ["changes a pod's image",                "virt-launcher", change({}, { containers: [{ name: "c", image: "evil" }] }),           REST],
  ["deletes a launcher pod by its UID",    "virt-launcher", remove,                                                               ""],
  ["deletes a launcher pod by its name",   "virt-launcher", (path) => ({ method: "DELETE", path, body: {} }),                     UID_OF_DELETION],
  ["deletes a pod of KubeVirt itself",     "virt-api",      remove,                                                               VMS_ONLY],
  ["evicts a pod by its UID",              "",              evict((uid) => ({ preconditions: { uid } })),                         ""],
  ["evicts a pod by its name",             "",              evict(() => ({ gracePeriodSeconds: 0 })),                             UID_OF_EVICTION],
])("if Lifeboat's account %s, the answer is: $3; any other account is permitted to do this", async (_, component, deed, refusal) => {
  expect(await refusalOf(LIFEBOAT, component, deed)).toBe(refusal);
  expect(await refusalOf("kubernetes-admin", component, deed)).toBe("");
});

const PENDING = names.PENDING_TAINT;
const ANOTHER = { key: "k", effect: "NoExecute" };
type Taints = readonly object[];
const taints = (change: (before: Taints) => Taints) => (before: Taints) => ({ spec: { taints: change(before) } });

// prettier-ignore
test.each<[string, body: object | ((before: Taints) => object), number]>([
  ["a node's cordon",                                                   { spec: { unschedulable: true }, metadata: { annotations: { "lifeboat.dev/cordoned-by": "a/b" } } }, 200],
  ["another annotation of a node",                                      { metadata: { annotations: { "example.com/x": "y" } } },              422],
  ["a label of a node",                                                 { metadata: { labels: { zone: "b" } } },                              422],
  ["another taint of a node",                                           taints((before) => [...before, ANOTHER]),                             422],
  ["a node's taints by removing another taint",                         taints((before) => before.slice(1)),                                  422],
  ["a node's taints by adding the steering taint",                      taints((before) => [...before, PENDING]), 200],
  ["a node's taints by adding the steering taint and another",          taints((before) => [...before, PENDING, ANOTHER]),                    422],
  ["a node's taints by adding the steering taint and removing another", taints((before) => [...before.slice(1), PENDING]),                    422],
  ["a node's taints by adding the steering taint with another effect",  taints((before) => [...before, { ...PENDING, effect: "NoExecute" }]), 422],
  ["a node's taints by adding the steering taint with a value",         taints((before) => [...before, { ...PENDING, value: "x" }]),          422],
])("if Lifeboat's account changes %s, the answer is $2; any other account is permitted to do this", async (_, body, code) => {
  expect(await changeOfNode(LIFEBOAT, body)).toBe(code);
  expect(await changeOfNode("kubernetes-admin", body)).toBe(200);
});

test("Lifeboat's account removes the steering taint", async () => {
  expect(
    await changeOfNode(
      LIFEBOAT,
      taints((before) => before.slice(0, -1)),
      [PENDING],
    ),
  ).toBe(200);
});

async function changeOfNode(user: string, body: object | ((before: Taints) => object), more: Taints = []) {
  const name = `node-${++created}`;
  const { spec } = await sandbox.client.create(core.nodes, { metadata: { name } });
  const before = [...(spec?.taints ?? []), ...more];
  await sandbox.client.patch(core.nodes, { name }, { type: "merge", body: { spec: { taints: before } } });
  const path = `/api/v1/nodes/${name}`;
  const changed = typeof body === "function" ? body(before) : body;
  const request: RawRequest = { method: "PATCH", path, body: changed, contentType: "application/merge-patch+json" };
  return (await answerTo(request, sandbox.client.as(user, ["system:masters"]))).answer[0];
}

const NOBODY = { apiVersion: "v1", kind: "ConfigMap", name: "never-was", uid: "00000000-0000-0000-0000-000000000001" };

// prettier-ignore
test.each<[string, object, number]>([
  ["a VMI's label of an urgent evacuation", { metadata: { labels: { "lifeboat.dev/evacuation": "urgent" } } },  200],
  ["a VMI's label of the shield",           { metadata: { labels: { "lifeboat.dev/shield": "1" } } },           200],
  ["another label of a VMI",                     { metadata: { labels: { "kubevirt.io/nodeName": "node-2" } } },     422],
  ["a VMI's labels by removing one",                      { metadata: { labels: { kept: null } } },                           422],
  ["the source of a VMI's eviction by removing it", { metadata: { annotations: { [names.EVICTION_SOURCE_ANNOTATION]: null } } }, 200],
  ["the source of a VMI's eviction",        { metadata: { annotations: { [names.EVICTION_SOURCE_ANNOTATION]: "x" } } }, 422],
  ["another annotation of a VMI by removing it", { metadata: { annotations: { kept: null } } },                      422],
  ["an annotation of a VMI",                     { metadata: { annotations: { "kubevirt.io/x": "y" } } },            422],
  ["the owner of a VMI, so that garbage collection deletes it", { metadata: { ownerReferences: [NOBODY] } },         422],
  ["a VMI's finalizers",                    { metadata: { finalizers: ["example.com/x"] } },                    422],
  ["a VMI's spec",                          { spec: { evictionStrategy: "None" } },                             422],
])("if Lifeboat's account changes %s, the answer is $2; any other account is permitted to do this", async (_, body, code) => {
  const change = async (user: string) => {
    const name = `vmi-${++created}`;
    const annotations = { kept: "yes", [names.EVICTION_SOURCE_ANNOTATION]: "descheduler" };
    const metadata = { namespace: NAMESPACE, name, labels: { kept: "yes" }, annotations };
    await sandbox.client.create(kubevirt.virtualMachineInstances, { metadata, spec: { domain: { devices: {} }, evictionStrategy: "LiveMigrate" } });
    const path = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstances/${name}`;
    const request: RawRequest = { method: "PATCH", path, body, contentType: "application/merge-patch+json" };
    return (await answerTo(request, sandbox.client.as(user, ["system:masters"]))).answer[0];
  };
  expect(await change(LIFEBOAT)).toBe(code);
  expect(await change("kubernetes-admin")).toBe(200);
});
