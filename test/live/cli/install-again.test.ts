/** `lifeboat install` over what an administrator has made of an installation. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { nameOf } from "../../../infra/cli/install/manifests.ts";
import { imageBeside } from "../../../infra/cli/install/present.ts";
import { retired } from "../../../infra/cli/install/plan.ts";
import { applyManifests, createNode, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { kustomized } from "./install-stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  await createNode(sandbox.client, "node01");
});
afterAll(() => sandbox.stop());
/** As `kubectl apply -k infra/kubernetes` does, on any Kubernetes. */
beforeEach(() => applyManifests(sandbox.client, kustomized()));

const call = (line: string) => lifeboat(line, { kubeconfig: sandbox.kubeconfig });

/** Of an older version: above all the rights to act as KubeVirt. */
const ROLES = retired("kubevirt").filter(({ kind }) => kind.includes("Role"));

async function applyRetired(): Promise<void> {
  const roles = ROLES.map((manifest) => {
    const { kind, metadata } = manifest;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: kind.replace("Binding", ""), name: metadata.name };
    return { ...manifest, ...(kind.endsWith("Binding") ? { roleRef, subjects: [] } : { rules: [] }) };
  });
  await applyManifests(sandbox.client, roles);
}

const DELETED = ROLES.map((manifest) => `${nameOf(manifest)} deleted`);
const deleted = ({ out }: { readonly out: readonly string[] }) => out.filter((line) => line.includes("deleted"));

test("rights to act as KubeVirt, which an older version had, are deleted, and that is said", async () => {
  await applyRetired();
  expect(DELETED).toContain("rolebinding.rbac.authorization.k8s.io/lifeboat-impersonation -n kubevirt deleted");
  expect(deleted(await call("install"))).toEqual(DELETED);
  expect(deleted(await call("install"))).toEqual([]);
});

test("what kubectl has applied of this version is no conflict, and nothing changes", async () => {
  const PLURALS = new Map([
    ["ValidatingAdmissionPolicy", "validatingadmissionpolicies"],
    ["ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"],
  ]);
  for (const one of kustomized()) {
    const plural = PLURALS.get(one.kind);
    if (plural === undefined) continue;
    const path = `/apis/admissionregistration.k8s.io/v1/${plural}`;
    await sandbox.client.raw({ method: "DELETE", path: `${path}/${one.metadata.name}` });
    const query = { fieldManager: "kubectl-client-side-apply" };
    expect(await sandbox.client.raw({ method: "POST", path, body: one, query })).toMatchObject({ code: 201 });
  }
  const { code, out } = await call("install");
  expect({ code, changed: out.filter((line) => !line.endsWith(" unchanged")) }).toEqual({ code: 0, changed: [] });
});

const RELEASED = "ghcr.io/lifeboat/lifeboat:0.3.0";

// prettier-ignore
test.each([
  ["none is there",        undefined,                             RELEASED,  RELEASED],
  ["an older release's",   "ghcr.io/lifeboat/lifeboat:0.2.0",     RELEASED,  RELEASED],
  ["by its digest",        "ghcr.io/lifeboat/lifeboat@sha256:00", RELEASED,  RELEASED],
  ["of another registry",  "registry.test:5000/lifeboat:0.2.0",   RELEASED,  "registry.test:5000/lifeboat:0.2.0"],
  ["a build of one's own", "registry.test:5000/lifeboat:0.2.0",   undefined, "registry.test:5000/lifeboat:0.2.0"],
])("the image without --image, %s", (_, present, ofRelease, expected) => {
  expect(imageBeside(present, ofRelease)).toBe(expected);
});
