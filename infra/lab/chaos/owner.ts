/**
 * The owner of VMs whose strategy is External: told by the mark, migrates them, and may delete those whose migration fails.
 * Does not own: the marks.
 */
import { isFinal, migrations, virtualMachineInstances } from "../../sandbox/kubevirt/resources.ts";
import type { Stage } from "./stage.ts";

export async function actAsOwner({ arena, plan, scene, deleted }: Stage): Promise<void> {
  const { client } = arena.sandbox;
  for (const { name } of plan.vms.filter(({ strategy }) => strategy === "External")) {
    const status = arena.observer.vmis.get(`${scene.namespace}/${name}`)?.status;
    if (status?.evacuationNodeName === undefined || status.evacuationNodeName !== status.nodeName) continue;
    const own = [...arena.observer.migrations.list()].filter(({ metadata, spec }) => {
      return spec.vmiName === name && metadata.namespace === scene.namespace;
    });
    if (own.some((m) => !isFinal(m.status))) continue;
    if (plan.faults.includes("OwnersGiveUp") && own.some((m) => m.status?.phase === "Failed")) {
      deleted.add(`${scene.namespace}/${name}`);
      await client.delete(virtualMachineInstances, { namespace: scene.namespace, name }).catch(() => undefined);
      continue;
    }
    const metadata = { generateName: `${name}-leaves-`, namespace: scene.namespace };
    // Refused, if the API server is away or another client migrates it: it is tried again.
    await client.create(migrations, { metadata, spec: { vmiName: name } }).catch(() => undefined);
  }
}
