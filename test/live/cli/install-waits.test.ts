/** Tests that `lifeboat install --in-cluster` waits and prints the reason if Lifeboat's pods cannot run. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createNode,
  createVirtualMachineInstance,
  deployments,
  namespaces,
  nodes,
  resourceQuotas,
  type Sandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { IMAGE, serverImages } from "../../../infra/lab/stage/in-cluster.ts";
import { lifeboat, type Person } from "../../support/cli/lifeboat.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ migrationSeconds: 0.1, terminationSeconds: 0.05, images: serverImages() });
  for (const name of ["node01", "node02"]) await createNode(sandbox.client, name);
  await createVirtualMachineInstance(sandbox.client, { namespace: "vms", name: "web", node: "node01" });
});
afterAll(() => sandbox.stop());

const INSTALL = `install --yes --in-cluster --image ${IMAGE}`;
const call = (line: string, tweak: Partial<Person> = {}) =>
  lifeboat(line, { kubeconfig: sandbox.kubeconfig, isPatient: true, ...tweak });

async function taint(taints: readonly object[] | null): Promise<void> {
  const { items } = await sandbox.client.list(nodes);
  for (const { metadata } of items) {
    await sandbox.client.patch(nodes, metadata, { type: "merge", body: { spec: { taints } } });
  }
}

test("a quota that allows only one of two pods is named with its remedy, and install ends after the quota's deletion", async () => {
  const quota = { namespace: "lifeboat-system", name: "few" };
  await sandbox.client.create(namespaces, { metadata: { name: quota.namespace } });
  await sandbox.client.create(resourceQuotas, { metadata: quota, spec: { hard: { pods: "1" } } });
  let refused = 0;
  const raise = async () => {
    const { items } = await sandbox.client.list(deployments, quota.namespace);
    refused += items.some(({ status }) => status?.conditions?.some(({ type }) => type === "ReplicaFailure")) ? 1 : 0;
    // Deletes the quota only after the command has had time to read the refusal from the Deployment.
    if (refused === 3) await sandbox.client.delete(resourceQuotas, quota);
  };
  const { code, err } = await call(INSTALL, { meanwhile: raise });
  expect(err.join("\n")).toMatch(
    /pods are refused: pods "lifeboat-server-.+" is forbidden: exceeded quota: few.*\n {4}raise the quota of namespace lifeboat-system: kubectl .*/,
  );
  expect(code).toBe(0);
});

test("taints that Lifeboat's pods do not tolerate are named, and install ends when the taints are removed", async () => {
  await call("uninstall --yes");
  await taint([{ key: "dedicated", value: "gpu", effect: "NoSchedule" }]);
  await expect.poll(() => sandbox.client.get(namespaces, { name: "lifeboat-system" })).toBeUndefined();
  const { code, err } = await call(INSTALL, { meanwhile: async (waits) => void (waits > 8 && (await taint(null))) });
  expect(err.join("\n")).toMatch(
    /‼ no node takes pod lifeboat-server-\S+: 0\/2 nodes are available: .*untolerated taint.*\n {4}Lifeboat's two pods need two nodes/,
  );
  expect(code).toBe(0);
});
