/** Tests that a VM returns to its node by the node's hostname label, which can differ from the node's name. */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import { NODE } from "../../support/fixtures.ts";
import { created } from "../../support/maintenance/kernel.ts";
import { node as roomy } from "../../support/preflight/fixtures.ts";
import { reconcileEvery } from "./reconcile-every.ts";

test("a VM returns to its uncordoned node by the node's hostname label", async () => {
  const vms = [{ name: "web", vmi: {}, runStrategy: "Always" }];
  const fake = created({ afterwards: { returnVMs: "WhenUncordoned" } }, vms);
  const app = openApp(fake);
  await reconcileEvery(fake, app, 6);
  const labels = { "kubernetes.io/hostname": "host-1" };
  fake.nodes.put(roomy(NODE, { labels }));
  await app.reconcile();
  const migration = { spec: { vmiName: "web", addedNodeSelector: labels } };
  expect(fake.api.objects("virtualmachineinstancemigrations")).toMatchObject([migration]);
});

const TAINT = { key: "example.com/broken", effect: "NoSchedule" };
const VENDOR = "cpu-vendor.node.kubevirt.io/";

// prettier-ignore
test.each<readonly [what: string, here: object, there: object, returns: number]>([
  ["with room",                         {},                                              {},                                           1],
  ["without room",                      { allocatable: { pods: 0 } },                        {},                                           0],
  ["with a taint",                      { taints: [TAINT] },                             {},                                           0],
  ["with another CPU",                  { labels: { [`${VENDOR}AMD`]: "true" } },        { labels: { [`${VENDOR}Intel`]: "true" } },   0],
  ["that is not ready",                 { ready: false },                                {},                                           0],
])("a VM returns to its node %s, or not, like any VM that moves: $3", async (_, here, there, returns) => {
  const vms = [{ name: "web", vmi: {}, runStrategy: "Always" }];
  const fake = created({ afterwards: { returnVMs: "WhenUncordoned" } }, vms);
  const app = openApp(fake);
  await reconcileEvery(fake, app, 6);
  fake.nodes.put(roomy(NODE, here), roomy("node02", there));
  await app.reconcile();
  expect(fake.api.objects("virtualmachineinstancemigrations")).toHaveLength(returns);
});

test("of two VMs, only one returns to a node with room for one", async () => {
  const vms = ["web", "mail"].map((name) => ({ name, vmi: {}, runStrategy: "Always" }));
  const fake = created({ afterwards: { returnVMs: "WhenUncordoned" } }, vms);
  const app = openApp(fake);
  await reconcileEvery(fake, app, 8);
  fake.nodes.put(roomy(NODE, { allocatable: { pods: 1 } }));
  await app.reconcile();
  expect(fake.api.objects("virtualmachineinstancemigrations")).toHaveLength(1);
});
