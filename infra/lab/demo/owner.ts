/** The external controller of External VMs: it migrates what can migrate when it is marked, and shuts down the rest. */
import { setTimeout as delay } from "node:timers/promises";
import {
  isTrue,
  type KubeClient,
  migrations,
  type VirtualMachineInstance,
  virtualMachineInstances,
} from "../../sandbox/index.ts";

const LOOK_EVERY_MS = 300;

export async function actAsOwner(client: KubeClient, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const { items } = await client.list(virtualMachineInstances);
    for (const vmi of items.filter(isAsked)) await act(client, vmi);
    await delay(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

function isAsked({ metadata, spec, status }: VirtualMachineInstance): boolean {
  const isMarked = status?.evacuationNodeName !== undefined && status.evacuationNodeName === status.nodeName;
  return spec.evictionStrategy === "External" && isMarked && metadata.deletionTimestamp === undefined;
}

async function act(client: KubeClient, { metadata, status }: VirtualMachineInstance): Promise<void> {
  const { namespace = "", name, uid } = metadata;
  if (!isTrue(status?.conditions, "LiveMigratable"))
    return void (await client.delete(virtualMachineInstances, metadata, { preconditions: { uid } }));
  const leaves = { namespace, name: `${name}-leaves-${status?.nodeName}` };
  // It may be there already.
  await client.create(migrations, { metadata: leaves, spec: { vmiName: name } }).catch(() => undefined);
}
