/** Tests `lifeboat install` over an older release, and over an administrator's changes. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { Manifest, manifestsIn } from "../../../infra/cli/install/manifests.ts";
import { imageBeside } from "../../../infra/cli/install/present.ts";
import { applyManifests, createNode, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { applyAsCommand, configureLifeboat, lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import { kustomized } from "./install-stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  await createNode(sandbox.client, "node01");
});
afterAll(() => sandbox.stop());
/** Applies the same manifests as `kubectl apply -k infra/kubernetes`. */
beforeEach(() => applyManifests(sandbox.client, kustomized()));

const call = (line: string) => lifeboat(line, { kubeconfig: sandbox.kubeconfig });

const RBAC = "rbac.authorization.k8s.io";
const OF_OLD = { apiVersion: `${RBAC}/v1`, metadata: { name: "lifeboat-eviction-requests" } };
const OLD_ROLE = { ...OF_OLD, kind: "ClusterRole", rules: [] };
const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: OF_OLD.metadata.name };
const OLD_BINDING = { ...OF_OLD, kind: "ClusterRoleBinding", roleRef, subjects: [] };
const [LAST_GATE, OLD_GATE] = ["'NodeTerminationEvictionLiveMigration'", "EvictionRequests"];

/** Applies a role and a feature gate that exist only in release 0.3. The gate is on. */
async function applyOld(): Promise<void> {
  const { client } = sandbox;
  const [kind] = manifestsIn("kubernetes/crds/lifeboatconfigurations.yaml");
  const ofOld: unknown = JSON.parse(JSON.stringify(kind).replace(LAST_GATE, `${LAST_GATE}, '${OLD_GATE}'`));
  await applyAsCommand(client, [OLD_ROLE, OLD_BINDING, Manifest.parse(ofOld)]);
  const featureGates = { [OLD_GATE]: true, PreemptionEvictionLiveMigration: true };
  await configureLifeboat(client, { featureGates });
}

const OLD = ["clusterrolebinding", "clusterrole"].map((kind) => `${kind}.${RBAC}/lifeboat-eviction-requests deleted`);

async function gates(): Promise<object> {
  const found = await sandbox.client.get(lifeboatConfigurations, { name: "lifeboat" });
  return z.object({ spec: z.object({ featureGates: z.record(z.string(), z.boolean()) }) }).parse(found).spec
    .featureGates;
}

test("install over 0.3 deletes an obsolete part and its gate, and keeps the other parts", async () => {
  await applyOld();
  const { code, out } = await call("install --yes --with pressure");
  expect({ code, deleted: out.filter((line) => line.includes("deleted")) }).toEqual({ code: 0, deleted: OLD });
  expect(await gates()).toEqual({ PreemptionEvictionLiveMigration: true, NodePressureEvictionLiveMigration: true });
  expect((await call("install --yes")).out.filter((line) => line.includes("deleted"))).toEqual([]);
});

test("install over objects that kubectl applied from this version has no conflict, and changes nothing", async () => {
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
  const { code, out } = await call("install --yes");
  expect({ code, changed: out.filter((line) => !line.endsWith(" unchanged")) }).toEqual({ code: 0, changed: [] });
});

const RELEASED = "ghcr.io/lifeboat/lifeboat:0.3.0";

// prettier-ignore
test.each([
  ["no server",             undefined,                             RELEASED,  RELEASED],
  ["an older release",      "ghcr.io/lifeboat/lifeboat:0.2.0",     RELEASED,  RELEASED],
  ["a release's digest",    "ghcr.io/lifeboat/lifeboat@sha256:00", RELEASED,  RELEASED],
  ["another registry",      "registry.test:5000/lifeboat:0.2.0",   RELEASED,  "registry.test:5000/lifeboat:0.2.0"],
  ["an unreleased command", "registry.test:5000/lifeboat:0.2.0",   undefined, "registry.test:5000/lifeboat:0.2.0"],
])("without --image, install keeps or replaces the image of the installed server: %s", (_, present, ofRelease, expected) => {
  expect(imageBeside(present, ofRelease)).toBe(expected);
});

test("uninstall deletes the obsolete part of 0.3", async () => {
  await applyOld();
  expect((await call("uninstall --yes")).out).toEqual(expect.arrayContaining(OLD));
});
