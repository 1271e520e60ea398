/** Contains all messages of the guard for answers, Events and the doctor. */
import type { Cause } from "../kube/evacuation.ts";
import type { NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import { pinnedBecause } from "../eviction/messages.ts";

type Named = { readonly name: string };
type Where = string | undefined;

interface Deletion {
  readonly requester: string;
  readonly pod: Named;
}

export const GUARD_MESSAGES = {
  // Messages about a deletion that is refused or allowed.
  waits: (pod: Named, cause: Cause, vmi: NamespacedName, until: string) =>
    `deletion of pod "${pod.name}" (cause ${cause}) waits until VMI "${vmi.namespace}/${vmi.name}" has moved, ` +
    `at the latest until ${until}`,
  refused: ({ requester, pod }: Deletion, cause: Cause, nodeName: Where, until: string) =>
    `${requester} deletes pod ${pod.name} (cause ${cause}): Lifeboat refuses the deletion until the VM has left ` +
    `node ${nodeName}, at the latest until ${until}`,
  allowed: ({ requester, pod }: Deletion, cause: Cause, why: string) =>
    `${requester} deletes pod ${pod.name} (cause ${cause}), and the VM ends with it: ${why}`,
  unknownStrategy: (field: string, value: string) => `KubeVirt does not know ${field} "${value}"`,
  notMigratable: (vmi: VmiFacts) => `the VM is not live-migratable: ${pinnedBecause(vmi)}`,
  handlerNeedsRoom:
    "virt-handler is pending until this pod frees its memory, and without virt-handler the VM cannot move",
  nodeEnds: (deadline: string) => `the VM has not moved, and its node is terminated at ${deadline}`,
  deadlinePassed: (seconds: number) => `the VM has not moved within ${seconds} s`,

  // Messages about a disruption in progress.
  terminating: (pod: Named, cause: Cause, nodeName: Where) =>
    `pod ${pod.name} is terminating (cause ${cause}): moving the VM off node ${nodeName}, if there is time`,
  tainted: (node: Named, taint: string, pod: Named) =>
    `node ${node.name} has the taint ${taint}: pod ${pod.name} stays until the VM has left the node`,
  taintedAndStays: ({ name, nodeName }: PodFacts, taint: string) =>
    `node ${nodeName} has the taint ${taint}, and the VM does not move: deleting pod ${name}`,
  overdue: ({ name, nodeName }: PodFacts, deadline: Where, taint: string) =>
    `the VM has not left node ${nodeName} by ${deadline} (taint ${taint}): deleting pod ${name}`,

  // Messages of the doctor.
  refusesDeletions: (causes: readonly string[]) => `the guard refuses deletions for these causes: ${causes.join(", ")}`,
  off: "the guard is off",
  refusesNothing: "the guard is installed and refuses nothing",
  noGate: "none of the guard's feature gates is on",
  handlerEnds: "a NoExecute taint evicts virt-handler",
  policiesMissing: "the guard's policies are missing",
  policyWithoutGate: "a policy of the guard exists although its feature gate is off",
} as const;
