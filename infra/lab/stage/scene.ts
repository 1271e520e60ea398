/** Creates the initial nodes and virtual machines of a demo or tool. */
import {
  type Capacity,
  createNode,
  createVirtualMachineInstance,
  type KubeClient,
  type VirtualMachine,
} from "../../sandbox/index.ts";
import { inParallel } from "../../in-parallel.ts";

const AT_ONCE = 8;

/** Creates nodes one after another. The scheduler gets the nodes in this order. */
export async function createNodes(client: KubeClient, names: readonly string[], capacity?: Capacity): Promise<void> {
  for (const name of names) await createNode(client, name, capacity);
}

export async function createVms(client: KubeClient, vms: readonly VirtualMachine[]): Promise<void> {
  await inParallel(vms, AT_ONCE, (vm) => createVirtualMachineInstance(client, vm));
}
