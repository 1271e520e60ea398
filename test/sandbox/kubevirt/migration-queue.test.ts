/** Two unfinished migrations of one VM, as two that were created at the same moment: the older one's turn comes. */
import { expect, test } from "vitest";
import { createNode, createVirtualMachineInstance } from "../../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { turnOf } from "../../../infra/sandbox/kubevirt/virt-controller/migration-queue.ts";
import { startWorld } from "../../../infra/sandbox/kubevirt/virt-controller/world.ts";
import { useSandbox } from "../with-sandbox.ts";

const world = useSandbox();
const KEY = { namespace: "guests", name: "twice" };

test("the younger one waits, whatever its priority, and takes nobody's place", async () => {
  const { client } = world.sandbox;
  await createNode(client, "node-1");
  await createVirtualMachineInstance(client, { ...KEY, evictionStrategy: "LiveMigrate", node: "node-1" });
  const vmi = await world.until(kubevirt.virtualMachineInstances, KEY, ({ status }) => status?.phase === "Running");
  const seen = startWorld({ client, clock: world.clock });
  await seen.synced;
  const migrationOf = (uid: string, priority?: string): kubevirt.VirtualMachineInstanceMigration => ({
    metadata: { ...vmi.metadata, name: uid, uid, annotations: {} },
    spec: { vmiName: KEY.name, ...(priority !== undefined && { priority }) },
    status: { phase: "Pending" },
  });
  const [older, younger] = [migrationOf("a"), migrationOf("b", "system-critical")];
  const queue = {
    world: {
      ...seen,
      migrationsOf: () => [older, younger],
      migrations: { ...seen.migrations, list: () => [older, younger].values() },
      configuration: () => ({ migrations: { parallelOutboundMigrationsPerNode: 1 } }),
    },
    starting: new Set<string>(),
    backoffMs: 0,
    now: world.clock.now(),
  };
  expect(turnOf(older, vmi, queue).turn).toBe("Now");
  expect(turnOf(younger, vmi, queue).turn).toBe("Later");
  await seen.stop();
});
