/** Finds VMs with an active evacuation. */
import { activeEvacuation } from "../../evacuation/identity.ts";
import type { VmiFacts } from "../../kube/facts.ts";
import type { EvacuationFacts } from "../../kube/evacuation.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { isFinal, isLauncher, keyOf, vmiNameOf } from "../../kube/objects.ts";

export type Vmis = ReadonlyMap<string, VmiFacts>;

export function vmiOf(pod: ScheduledPod, vmis: Vmis): VmiFacts | undefined {
  return isLauncher(pod) ? vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" })) : undefined;
}

export interface InProgressFacts {
  readonly pods: readonly ScheduledPod[];
  readonly vmis: Vmis;
  /** Evacuations. They are read before the pods. */
  readonly evacuations: readonly EvacuationFacts[];
}

/** Lists the launcher pods whose VMs are being evacuated. */
export function inProgressAmong({ pods, vmis, evacuations }: InProgressFacts): readonly ScheduledPod[] {
  const byVmi = Map.groupBy(evacuations, ({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName }));
  return pods.filter((pod) => {
    const vmi = isFinal(pod) ? undefined : vmiOf(pod, vmis);
    return vmi !== undefined && activeEvacuation(vmi, byVmi.get(keyOf(vmi)) ?? [], pod.uid) !== undefined;
  });
}
