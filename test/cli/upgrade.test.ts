/** `lifeboat upgrade` and `install` over what an administrator has made of an installation. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { manifestsIn } from "../../infra/cli/install/manifests.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { type Resource } from "../../infra/sandbox/actors/resources.ts";
import { kustomized } from "./install-stage.ts";
import { lifeboat } from "./lifeboat.ts";

const WORKER = "install --worker https://127.0.0.1:1 --cluster prod --entry /nowhere/entry.json --dry-run";
const rbac = (kind: string, namespaced: boolean): Resource => {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind, plural: `${kind.toLowerCase()}s`, namespaced };
};
const KINDS = [
  rbac("RoleBinding", true),
  rbac("Role", true),
  rbac("ClusterRoleBinding", false),
  rbac("ClusterRole", false),
];

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  await createNode(sandbox.client, "node01");
});
afterAll(() => sandbox.stop());
/** As `kubectl apply -k infra/kubernetes` does, on any Kubernetes. */
beforeEach(async () => {
  await removeMarking();
  await applyManifests(sandbox.client, kustomized());
});

const call = (line: string) => lifeboat(line, { kubeconfig: sandbox.kubeconfig });

/** The roles and bindings by which Lifeboat may mark VMs. */
async function marking(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const resource of KINDS) {
    const { items } = await sandbox.client.list(resource);
    const ours = items.filter(({ metadata }) => /^lifeboat-(?:.*impersonation|marking)$/.test(metadata.name));
    found.push(...ours.map(({ metadata }) => `${resource.kind} ${metadata.name}`));
  }
  return found;
}

async function removeMarking(): Promise<void> {
  for (const resource of KINDS) {
    for (const { metadata } of (await sandbox.client.list(resource)).items)
      if (/^lifeboat-(?:.*impersonation|marking)$/.test(metadata.name)) await sandbox.client.delete(resource, metadata);
  }
}

const IMPERSONATION = ["RoleBinding lifeboat-impersonation", "Role lifeboat-impersonation"];
const BY_EVICTION = ["ClusterRoleBinding lifeboat-marking", "ClusterRole lifeboat-marking"];

// prettier-ignore
test.each<[string, readonly string[], readonly string[]]>([
  ["as it was applied",             ["impersonation.yaml"],                                    IMPERSONATION],
  ["marking by eviction instead",   ["optional/marking-by-eviction/marking-by-eviction.yaml"], BY_EVICTION],
  ["neither",                       [],                                                        []],
])("how Lifeboat marks stays the administrator's choice: %s", async (_, files, expected) => {
  await removeMarking();
  await applyManifests(sandbox.client, files.flatMap((file) => manifestsIn(`kubernetes/${file}`)));
  expect(await marking()).toEqual(expected);

  expect(await call("upgrade")).toMatchObject({ code: 0 });
  expect(await marking()).toEqual(expected);
  const planned = (await call(WORKER)).out.filter((line) => /lifeboat-(?:\S*impersonation|marking)/.test(line));
  expect(planned.filter((line) => !line.endsWith(" unchanged (dry run)"))).toEqual([]);
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
  const { code, out, err } = await call("upgrade");
  expect({ code, err, changed: out.filter((line) => !line.endsWith(" unchanged")) }).toEqual({
    code: 0,
    err: [],
    changed: [],
  });
});
