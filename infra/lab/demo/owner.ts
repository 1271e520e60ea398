/**
 * The owner of VMs whose eviction strategy is External: something outside of KubeVirt that is told by the mark and acts
 * as it sees fit. This one migrates what can migrate, and shuts down the rest.
 * Does not own: the marks (Lifeboat), the migrations (KubeVirt).
 */
import { actorOf, type Actor, type ActorOptions } from "../../sandbox/actors/actor.ts";
import { startController, type Result } from "../../sandbox/actors/controller.ts";
import { startInformer } from "../../sandbox/actors/informer.ts";
import { keyOf } from "../../sandbox/actors/resources.ts";
import { isAlreadyExists } from "../../sandbox/actors/status-error.ts";
import { migrations, virtualMachineInstances, type VirtualMachineInstance } from "../../sandbox/kubevirt/resources.ts";

export function startOwner(options: ActorOptions): Actor {
  const { client, clock } = options;
  const vmis = startInformer({ client, clock, resource: virtualMachineInstances });

  const reconcile = async (key: string): Promise<Result> => {
    const vmi = vmis.get(key);
    if (vmi === undefined || !wantsAction(vmi)) return undefined;
    if (isMigratable(vmi)) await migrate(vmi);
    else await client.delete(virtualMachineInstances, vmi.metadata, { preconditions: { uid: vmi.metadata.uid } });
    return undefined;
  };

  const migrate = async (vmi: VirtualMachineInstance) => {
    const { namespace, name } = vmi.metadata;
    const metadata = { name: `${name}-leaves-${vmi.status?.nodeName}`, ...(namespace !== undefined && { namespace }) };
    try {
      await client.create(migrations, { metadata, spec: { vmiName: name } });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  };

  const controller = startController({ name: "owner", reconcile, ...options });
  controller.watch(vmis, (vmi) => [keyOf(vmi)]);
  return actorOf([controller], [vmis]);
}

function wantsAction({ metadata, spec, status }: VirtualMachineInstance): boolean {
  const marked = status?.evacuationNodeName !== undefined && status.evacuationNodeName === status.nodeName;
  return spec.evictionStrategy === "External" && marked && metadata.deletionTimestamp === undefined;
}

function isMigratable({ status }: VirtualMachineInstance): boolean {
  return status?.conditions?.some(({ type, status }) => type === "LiveMigratable" && status === "True") ?? false;
}
