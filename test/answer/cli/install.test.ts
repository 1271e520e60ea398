/**
 * Tests that `lifeboat install` refuses an old cluster, and that `lifeboat uninstall` removes only Lifeboat's objects.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyManifests, core, kubeVirts, podDisruptionBudgets, type Resource } from "../../../infra/sandbox/index.ts";
import { PENDING_TAINT } from "../../../shared/kube/names.ts";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { NAMESPACE, startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let cluster: SandboxCluster;
beforeEach(async () => void (cluster = await startSandboxCluster()));
afterEach(() => cluster.stop());

const run = (line: string) => lifeboat(line, { kubeconfig: cluster.kubeconfig });

test("install refuses an old KubeVirt before it applies anything", async () => {
  const patch = { type: "merge", body: { status: { observedKubeVirtVersion: "v1.6.2" } } } as const;
  for (const { metadata } of (await cluster.client.list(kubeVirts)).items)
    await cluster.client.patch(kubeVirts, metadata, patch, { subresource: "status" });
  expect(await run("install --yes --in-cluster --image a/b:c")).toMatchObject({
    code: 1,
    out: [],
    err: ["error: KubeVirt 1.6 is older than 1.7, the oldest supported version"],
  });
});

test("install refuses a part that needs a newer KubeVirt before it applies anything", async () => {
  const patch = { type: "merge", body: { status: { observedKubeVirtVersion: "v1.8.4" } } } as const;
  for (const { metadata } of (await cluster.client.list(kubeVirts)).items)
    await cluster.client.patch(kubeVirts, metadata, patch, { subresource: "status" });
  expect(await run("install --yes --in-cluster --image a/b:c --with shield")).toMatchObject({
    code: 1,
    err: ["error: --with shield needs KubeVirt 1.9, and this cluster has KubeVirt 1.8. Nothing has been applied."],
  });
});

test("uninstall removes the taint that Lifeboat left on a node, and no other", async () => {
  const { spec } = await cluster.client.create(core.nodes, { metadata: { name: "tainted" } });
  const others = [...(spec?.taints ?? []), { key: "gpu", value: "a", effect: "NoSchedule" }];
  const body = { spec: { taints: [...others, PENDING_TAINT] } };
  await cluster.client.patch(core.nodes, { name: "tainted" }, { type: "merge", body });
  expect((await run("uninstall --yes")).out).toContain("cleaned taints of nodes: 1");
  expect((await cluster.client.get(core.nodes, { name: "tainted" }))?.spec?.taints).toEqual(others);
});

test("uninstall fails if a node keeps the taint, and names the node", async () => {
  await cluster.client.create(core.nodes, { metadata: { name: "kept" }, spec: { taints: [PENDING_TAINT] } });
  const policy = { kind: "ValidatingAdmissionPolicy", metadata: { name: "fixed-nodes" } };
  const nodes = { apiGroups: [""], apiVersions: ["v1"], resources: ["nodes"], operations: ["UPDATE"] };
  const spec = { matchConstraints: { resourceRules: [nodes] }, validations: [{ expression: "false" }] };
  const binding = { spec: { policyName: "fixed-nodes", validationActions: ["Deny"] } };
  const apiVersion = "admissionregistration.k8s.io/v1";
  const manifests = [
    { apiVersion, ...policy, spec },
    { apiVersion, ...policy, kind: "ValidatingAdmissionPolicyBinding", ...binding },
  ];
  await applyManifests(cluster.client, manifests);
  const kept = 'error: node "kept" still has the taint lifeboat.dev/maintenance-pending: run lifeboat uninstall again';
  const { code, err } = await run("uninstall --yes");
  expect([code, err.at(-1)]).toEqual([1, kept]);
});

test("uninstall keeps other products' budgets, and names nodes that nobody uncordons", async () => {
  const spec = { minAvailable: 1, selector: { matchLabels: { app: "db" } } };
  for (const [name, label] of [
    ["lifeboat-web", "lifeboat"],
    ["quorum", "lifeboat"],
    ["lifeboat-station", "helm"],
  ] as const) {
    const metadata = { namespace: NAMESPACE, name, labels: { "app.kubernetes.io/managed-by": label } };
    await cluster.client.create(podDisruptionBudgets, { metadata, spec });
  }
  await cluster.client.create(nodeEvacuations, { metadata: { name: "kernel" }, spec: { nodeName: "node01" } });
  await cluster.createVm({ name: "web" });
  await cluster.patchVmi("web", { metadata: { annotations: { "lifeboat.dev/canary": "true" } } });
  const node = {
    metadata: { annotations: { "lifeboat.dev/cordoned-by": "kernel/u", "lifeboat.dev/rack": "7" } },
    spec: { unschedulable: true },
  };
  await cluster.client.patch(core.nodes, { name: "node01" }, { type: "merge", body: node });
  const dry = (await run("uninstall --dry-run")).out;
  expect(dry.slice(-3)).toEqual([
    "node/node01 stays cordoned, unless its maintenance is in progress",
    `virtualmachineinstance/web -n ${NAMESPACE}: lifeboat.dev/canary: stays, because the owner has set it`,
    "node/node01: lifeboat.dev/rack: stays, because the owner has set it",
  ]);
  expect(dry[0]).toBe("nodeevacuation.lifeboat.dev/kernel (new, node node01) withdrawn (dry run)");
  const refused = await lifeboat("uninstall", { kubeconfig: cluster.kubeconfig, terminal: true, answer: "n" });
  expect(refused).toEqual({
    code: 1,
    where: expect.stringMatching(/^context ".+", https:/),
    out: [],
    err: [
      "Work in progress, which uninstall withdraws:",
      "    nodeevacuation.lifeboat.dev/kernel (new, node node01)",
      "error: nothing has been changed",
    ],
  });
  const { code, out, err } = await run("uninstall --yes");
  expect({ code, out, err }).toEqual({
    code: 0,
    out: expect.arrayContaining(["cleaned disruption budgets: 1", "nodeevacuation.lifeboat.dev/kernel withdrawn"]),
    err: expect.arrayContaining([
      expect.stringMatching(/^‼ After 90 s Lifeboat has not reacted to the withdrawal, so nodes stay cordoned/),
      "    nodeevacuation.lifeboat.dev/kernel (new, node node01)",
      "Node node01 stays cordoned. To uncordon it: kubectl uncordon node01",
      "VM owners have set these labels and annotations, which stay:",
      `    virtualmachineinstance/web -n ${NAMESPACE}: lifeboat.dev/canary`,
    ]),
  });
  const { items } = await cluster.client.list(podDisruptionBudgets);
  expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(["lifeboat-station", "quorum"]);
});

const definitions: Resource = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const MISSING = ["nodeevacuations.lifeboat.dev", "kubevirts.kubevirt.io", "virtualmachineinstances.kubevirt.io"];

test("uninstall completes where kinds are missing, after an interruption or without KubeVirt", async () => {
  for (const name of MISSING) await cluster.client.delete(definitions, { name });
  expect(await run("uninstall --yes")).toMatchObject({
    code: 0,
    err: expect.arrayContaining([expect.stringMatching(/^Left: /)]),
  });
  const { items } = await cluster.client.list(definitions);
  expect(items.filter(({ metadata }) => metadata.name?.endsWith(".lifeboat.dev"))).toEqual([]);
});
