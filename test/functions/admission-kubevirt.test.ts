/** Beside KubeVirt's own admission, which silently puts back the status that a stranger has changed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grant } from "../../infra/sandbox/actors/rbac.ts";
import { namespaces, pods, type Resource } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat, configureLifeboat } from "../../infra/tools/apply.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { entry, openDoors } from "./support/doors.ts";
import { evictionOf, refusal, review } from "./support/reviews.ts";
import { NAMESPACE, QUIET, trust } from "./support/test-cluster.ts";

const policyBindings: Resource = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  namespaced: false,
};

let sandbox: Sandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox({ evictionWebhook: false, evacuationController: false });
  trust(sandbox);
  const nowhere = { url: "https://127.0.0.1:1", webhookToken: "none" };
  ({ token } = await applyLifeboat(sandbox.client, { ...nowhere, caPem: sandbox.caPem }));
  await configureLifeboat(sandbox.client, QUIET);
  await createNode(sandbox.client, "node01");
});
afterAll(() => sandbox.stop());

const open = (as = token) => openDoors({ CLUSTERS: { prod: entry(sandbox.url, { token: as }) } });
const getVmi = (name: string) => sandbox.client.get(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name });

function notKept(name: string): string {
  return `KubeVirt did not keep the mark on VMI "${NAMESPACE}/${name}": is its namespace known and impersonation granted?`;
}

async function createVm(name: string) {
  const vmi = await createVirtualMachineInstance(sandbox.client, {
    namespace: NAMESPACE,
    name,
    evictionStrategy: "LiveMigrate",
  });
  const labelSelector = `kubevirt.io/created-by=${vmi.metadata.uid}`;
  const { items } = await sandbox.client.list(pods, NAMESPACE, { labelSelector });
  return { namespace: NAMESPACE, name: items[0]?.metadata.name ?? "" };
}

test("as KubeVirt's own account, the mark stays", async () => {
  const pod = await createVm("kept");
  const message = `Eviction triggered evacuation of VMI "${NAMESPACE}/kept"`;
  expect(await review(open(), evictionOf(pod))).toMatchObject({ code: 200, body: refusal(message) });
  expect((await getVmi("kept"))?.status?.evacuationNodeName).toBe("node01");
});

describe("as the account of another namespace, where there is a second KubeVirt object", () => {
  // The first in the list is taken for the installation, so that we act as an account that KubeVirt does not know.
  const elsewhere = "another-kubevirt";
  const metadata = { name: "kubevirt", namespace: elsewhere };
  beforeAll(async () => {
    const subject = { kind: "ServiceAccount", name: "kubevirt-apiserver", namespace: elsewhere } as const;
    const patch = { apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstances"], verbs: ["get", "patch"] };
    await sandbox.client.create(namespaces, { metadata: { name: elsewhere } });
    await applyManifests(sandbox.client, grant("another-kubevirt", subject, [patch]));
    await sandbox.client.create(kubevirt.kubeVirts, { metadata, spec: {} });
    // Lifeboat has an administrator's token here, who may name only herself.
    await sandbox.client.delete(policyBindings, { name: "lifeboat-evacuation-requester" });
  });

  test("the mark is not believed, the eviction refused, and the VMI is as it was", async () => {
    const pod = await createVm("put-back");
    const before = await getVmi("put-back");
    const why = `cannot decide on the eviction of pod "${NAMESPACE}/${pod.name}", try again: ${notKept("put-back")}`;
    expect(await review(open(sandbox.adminToken), evictionOf(pod))).toMatchObject({ code: 200, body: refusal(why) });
    const after = await getVmi("put-back");
    expect(after?.status).toEqual(before?.status);
    expect(after?.metadata.labels).toEqual(before?.metadata.labels);
    expect(after?.metadata.annotations).toEqual(before?.metadata.annotations);
  });

  test("without the right to act as it, nor to have KubeVirt's own webhook mark: the permission is named", async () => {
    const pod = await createVm("not-allowed");
    const { text } = await review(open(), evictionOf(pod));
    expect(text).toContain("403 Forbidden: the service account lacks a permission");
    expect((await getVmi("not-allowed"))?.status?.evacuationNodeName).toBeUndefined();
  });
});
