/** Tests virt-handlers without virt-controller. The test updates the VMI itself. */
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../actors/clock.ts";
import { namespaces, type Pod } from "../../actors/resources.ts";
import { createContainerRuntime } from "../../actors/runtime.ts";
import { KUBEVIRT, KUBEVIRT_RBAC } from "../../kubevirt/manifests.ts";
import { createMigrationPlan } from "../../kubevirt/migration-plan.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { createOutages } from "../../actors/outages.ts";
import { startVirtHandlers } from "../../kubevirt/virt-handler.ts";
import { applyManifests } from "../../manifests.ts";
import { startSandbox } from "../../sandbox.ts";
import { eventually } from "../with-sandbox.ts";

const NAMESPACE = "guests";

function launcher(name: string): Pod {
  return { metadata: { namespace: NAMESPACE, name, uid: name, resourceVersion: "1", creationTimestamp: "" } };
}

test("virt-handler prepares a target pod when the VMI's status lists the pod together with the pod's node", async () => {
  const sandbox = await startSandbox({ empty: true });
  onTestFinished(() => sandbox.stop());
  const { client } = sandbox;
  await applyManifests(client, [...KUBEVIRT_RBAC, KUBEVIRT]);
  const runtime = createContainerRuntime(systemClock, 0);
  const handlers = startVirtHandlers({
    client,
    clock: systemClock,
    runtime,
    plan: createMigrationPlan(600),
    outages: createOutages(),
  });
  onTestFinished(() => handlers.stop());
  await client.create(namespaces, { metadata: { name: NAMESPACE } });

  const say = (name: string, status: object) => {
    const key = { namespace: NAMESPACE, name };
    return client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body: { status } });
  };
  const createMigrating = async (name: string, listedOn: string) => {
    const [source, target] = [`${name}-source`, `${name}-target`];
    for (const pod of [source, target]) runtime.start(launcher(pod));
    await client.create(kubevirt.virtualMachineInstances, {
      metadata: { namespace: NAMESPACE, name },
      spec: { domain: { devices: {} } },
    });
    await say(name, {
      phase: "Running",
      nodeName: "node-1",
      activePods: { [source]: "node-1", [target]: listedOn },
      migrationState: {
        migrationUid: name,
        sourceNode: "node-1",
        sourcePod: source,
        targetNode: "node-2",
        targetPod: target,
      },
    });
  };
  const address = async (name: string) => {
    const vmi = await client.get(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name });
    return vmi?.status?.migrationState?.targetNodeAddress;
  };
  await createMigrating("not-listed", "");
  await createMigrating("listed", "node-2");
  await eventually(() => address("listed")).toBeDefined();
  expect(await address("not-listed")).toBeUndefined();
  await say("not-listed", { activePods: { "not-listed-target": "node-2" } });
  await eventually(() => address("not-listed")).toBeDefined();
});
