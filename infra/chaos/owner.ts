/**
 * The owner of VMs whose strategy is External: told by the mark, migrates them.
 * Does not own: the marks.
 */
import { isFinal, migrations } from "../sandbox/kubevirt/resources.ts";
import type { Stage } from "./stage.ts";

export async function actAsOwner({ arena, plan, scene }: Stage): Promise<void> {
  const { client } = arena.sandbox;
  for (const { name } of plan.vms.filter(({ strategy }) => strategy === "External")) {
    const status = arena.observer.vmis.get(`${scene.namespace}/${name}`)?.status;
    if (status?.evacuationNodeName === undefined || status.evacuationNodeName !== status.nodeName) continue;
    if ([...arena.observer.migrations.list()].some((m) => m.spec.vmiName === name && !isFinal(m.status))) continue;
    const metadata = { generateName: `${name}-leaves-`, namespace: scene.namespace };
    // Refused, if the API server is away or another client migrates it: it is tried again.
    await client.create(migrations, { metadata, spec: { vmiName: name } }).catch(() => undefined);
  }
}
