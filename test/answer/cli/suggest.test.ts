/** Tests that the command suggests an existing name if the given name does not exist. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { similar } from "../../../infra/cli/suggest.ts";
import { createBareNode } from "../../support/installed/bare-node.ts";
import { NAMESPACE, startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

// prettier-ignore
test.each([
  // typed       known                                        suggested
  ["nod-1",      ["node-1", "node-2"],                        ["node-1", "node-2"]],
  ["node-12",    ["node-1", "node-2", "node-11", "node-21"],  ["node-1", "node-2", "node-11"]],
  ["worker3",    ["worker3.example.com", "etcd"],             ["worker3.example.com"]],
  ["Worker-3",   ["worker-3"],                                ["worker-3"]],
  ["a",          ["b", "web"],                                ["b"]],
  ["ledger",     ["web", "mail"],                             []],
  ["node-1",     ["node-1"],                                  []],
  ["",           ["node-1"],                                  []],
])("given %j, and the known names %j, the suggestions are %j", (typed, known, suggested) => {
  expect(similar(typed, known)).toEqual(suggested);
});

let cluster: SandboxCluster;
beforeAll(async () => {
  cluster = await startSandboxCluster();
  await createBareNode(cluster.client, "worker-7");
  await cluster.createVm({ name: "ledger", strategy: "LiveMigrate" });
});
afterAll(() => cluster.stop());

// prettier-ignore
test.each([
  ["explain node worker-8",          'node "worker-8" not found (context "kubernetes-admin@sandbox"). Did you mean worker-7?'],
  ["drain worke-7 --dry-run",        'node "worke-7" not found (context "kubernetes-admin@sandbox"). Did you mean worker-7?'],
  ["explain node etcd",              'node "etcd" not found (context "kubernetes-admin@sandbox")'],
  [`evacuate leger -n ${NAMESPACE}`, `VM "leger" does not run in namespace "${NAMESPACE}". Did you mean ledger?`],
  ["evacuate ledger",                `VM "ledger" does not run in namespace "default". Did you mean ledger -n ${NAMESPACE}?`],
  ["evacuate web",                   'VM "web" does not run in namespace "default"'],
])("lifeboat %s does not find the name, and suggests a similar name if there is one", async (line, message) => {
  expect(await lifeboat(line, { kubeconfig: cluster.kubeconfig })).toMatchObject({ code: 1, err: [`error: ${message}`] });
});
