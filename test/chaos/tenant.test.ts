/** What a tenant tries beyond its namespace is refused; and if it were not, the run would tell. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { actAsTenant, namespaceOf, type TenantAct, settleTenant, TENANT } from "../../infra/chaos/tenant.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import type { Manifest } from "../../infra/sandbox/actors/rbac.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { inClusterManifests } from "../../infra/tools/in-cluster.ts";

const VICTIM = { namespace: "run-1", name: "web" };
let sandbox: Sandbox;

/** Evacuations, and who may do what with them. */
function isInstalled({ kind, metadata }: Manifest): boolean {
  return ["CustomResourceDefinition", "ClusterRole"].includes(kind) || metadata.name === "lifeboat-evacuation-deletion";
}

beforeAll(async () => {
  sandbox = await startSandbox();
  const { client } = sandbox;
  await applyManifests(client, inClusterManifests().filter(isInstalled));
  for (const node of ["a", "b"]) await createNode(client, node);
  await createVirtualMachineInstance(client, { ...VICTIM, node: "a" });
  const spec = { virtualMachineInstance: { name: VICTIM.name } };
  await client.create(evacuations, { metadata: { namespace: VICTIM.namespace, name: "web-1" }, spec });
  await settleTenant(client, VICTIM.namespace, { drained: "a", other: "b" });
}, 60_000);
afterAll(() => sandbox.stop());

async function told(does: TenantAct): Promise<readonly string[]> {
  const report: string[] = [];
  const stage = { arena: { sandbox }, report: (what: string) => void report.push(what) };
  await actAsTenant(does, VICTIM, stage);
  return report;
}

test("its pods claim to be another's launchers, on both nodes", async () => {
  const { items } = await sandbox.client.list(pods, namespaceOf(VICTIM.namespace));
  const forged = items.filter(({ metadata }) => metadata.name.startsWith("virt-launcher-web-"));
  expect(new Set(forged.map(({ spec }) => spec?.nodeName))).toEqual(new Set(["a", "b"]));
});

test.each(["forge", "flood", "reach out"] as const)("%s: nothing goes through that may not", async (does) => {
  expect(await told(does)).toEqual([]);
});

test("what goes through is told: it may act as an operator in the other namespace", async () => {
  const api = "rbac.authorization.k8s.io";
  const roleRef = { apiGroup: api, kind: "ClusterRole", name: "lifeboat-operator" };
  const subjects = [{ apiGroup: api, kind: "User", name: TENANT }];
  const metadata = { namespace: VICTIM.namespace, name: "mistake" };
  await applyManifests(sandbox.client, [
    { apiVersion: `${api}/v1`, kind: "RoleBinding", metadata, roleRef, subjects } as Manifest,
  ]);
  expect((await told("reach out")).toSorted()).toEqual([
    "a tenant could create an Evacuation of another tenant's VM",
    "a tenant could withdraw another tenant's Evacuation",
  ]);
});
