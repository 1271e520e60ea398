/** VMs return by the hostname label of their node, which may differ from its name. */
import { expect, test } from "vitest";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { NODE } from "../../support/fixtures.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";
import { node as roomy } from "../../support/preflight/fixtures.ts";

const WEB = { name: "web", vmi: {}, runStrategy: "Always" };

test.each([
  ["its name", {}, NODE],
  ["another one", { labels: { "kubernetes.io/hostname": "host-1" } }, "host-1"],
])("whose hostname is %s", async (_, tweak, hostname) => {
  const fake = created({ afterwards: { returnVMs: "WhenUncordoned" } }, [WEB]);
  const doors = openFakeDoors(fake);
  for (let look = 0; look < 6 && phaseOf(fake) !== "Evacuated"; look++) {
    await doors.reconcile();
    await doors.settle();
    kubevirt(fake);
    doors.pass(61);
  }
  fake.nodes.put(roomy(NODE, tweak));
  await doors.reconcile();
  const added = { "kubernetes.io/hostname": hostname };
  expect(fake.api.objects("virtualmachineinstancemigrations")).toMatchObject([
    { spec: { vmiName: "web", addedNodeSelector: added } },
  ]);
});
