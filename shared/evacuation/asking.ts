/**
 * Reads the facts for a request to restart, stop or start a VM. Lifeboat reads the facts again just before the request,
 * because they can change and KubeVirt checks no precondition.
 */
import { keptByBudgets, type Refusal } from "../budget/refusal.ts";
import { type Facts, together } from "../facts/facts.ts";
import { nodeEvacuations } from "../facts/questions.ts";
import { SCHEDULED_PODS } from "../facts/views.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NodeFacts, VmiFacts } from "../kube/facts.ts";
import type { NodeEvacuationFacts, VirtualMachineFacts } from "../kube/node-evacuation.ts";
import { named } from "../kube/objects.ts";
import { selectLaunchersOf } from "../kube/selections.ts";
import { isOff, isRestart, leftAs, mayBeAsked } from "./shutdown.ts";

/**
 * The facts for a request. `vm`, `ne` (the NodeEvacuation) and `node` are undefined if Lifeboat did not find the
 * object.
 */
export interface Asking {
  readonly vm: VirtualMachineFacts | undefined;
  readonly ne: NodeEvacuationFacts | undefined;
  readonly node: NodeFacts | undefined;
  /** Why a PodDisruptionBudget would refuse an eviction of the VM's pod. */
  readonly refusal?: Refusal | undefined;
}

/**
 * Reads the facts for a request. `vmiUID` is the UID of the VMI that the request stops. It is undefined if the VM has
 * no VMI.
 */
export function askingOf(e: EvacuationFacts, vmiUID: string | undefined, facts: Facts): Asking {
  const { namespace, spec } = e;
  const [vm, items, refusal] = together(
    () => facts.get("virtualmachines", { namespace, name: spec.vmiName }),
    () => nodeEvacuations(facts),
    () => (vmiUID === undefined ? undefined : refusalOf(e, vmiUID, facts)),
  );
  const ne = items.find(({ uid }) => uid === spec.nodeEvacuation?.uid);
  return { vm, ne, node: ne && facts.get("nodes", named(ne.spec.nodeName)), refusal };
}

function refusalOf(e: EvacuationFacts, vmiUID: string, facts: Facts): Refusal | undefined {
  const { namespace } = e;
  const selection = { ...selectLaunchersOf({ uid: vmiUID }), namespace, unlike: { "spec.nodeName": [""] } };
  const [pods, budgets] = together(
    () => facts.list(SCHEDULED_PODS, selection),
    () => facts.list("poddisruptionbudgets", { namespace }),
  );
  const ending = pods.map((pod) => ({ pod, isBack: isRestart(e) }));
  return [...keptByBudgets(ending, budgets).values()][0];
}

/** Returns whether Lifeboat may still ask KubeVirt to restart or stop the VM. */
export function mayStillBeAsked(e: EvacuationFacts, vmi: VmiFacts, facts: Facts): boolean {
  const [asking, now] = together(
    () => askingOf(e, vmi.uid, facts),
    () => facts.get("virtualmachineinstances", vmi),
  );
  return mayBeAsked(e, vmi, now, asking);
}

/**
 * Decides whether Lifeboat asks KubeVirt to start the VM. `NotNeeded`: the owner has started or deleted the VM, or has
 * changed its run strategy. `TooEarly`: the VM is still stopping.
 */
export function startNow(e: EvacuationFacts, facts: Facts): "Start" | "NotNeeded" | "TooEarly" {
  const key = { namespace: e.namespace, name: e.spec.vmiName };
  const vm = facts.get("virtualmachines", key);
  if (vm === undefined || vm.runStrategy !== leftAs(e)) return "NotNeeded";
  const vmi = facts.get("virtualmachineinstances", key);
  if (vmi !== undefined && !isOff(vmi) && !vmi.deleting) return "NotNeeded";
  return vm.isChanging || !isOff(vmi) ? "TooEarly" : "Start";
}
