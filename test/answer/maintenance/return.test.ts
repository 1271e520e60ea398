/** VMs return by the hostname label of their node, which may differ from its name. */
import { expect, test } from "vitest";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { NODE } from "../../support/fixtures.ts";
import { created } from "../../support/maintenance/kernel.ts";
import { node as roomy } from "../../support/preflight/fixtures.ts";
import { look } from "./looks.ts";

test("given a node of another hostname, when it is uncordoned, its VM returns to it", async () => {
  const vms = [{ name: "web", vmi: {}, runStrategy: "Always" }];
  const fake = created({ afterwards: { returnVMs: "WhenUncordoned" } }, vms);
  const doors = openFakeDoors(fake);
  await look(fake, doors, 6);
  const labels = { "kubernetes.io/hostname": "host-1" };
  fake.nodes.put(roomy(NODE, { labels }));
  await doors.reconcile();
  const migration = { spec: { vmiName: "web", addedNodeSelector: labels } };
  expect(fake.api.objects("virtualmachineinstancemigrations")).toMatchObject([migration]);
});
