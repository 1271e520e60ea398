/**
 * The preflight as tables for administrators, rendered as Markdown.
 * Owns: the words for verdicts and outcomes. Does not own: the lists; they are read from the policy.
 */
import { CONSTRAINTS } from "../../../../shared/policy/preflight/constraints.ts";
import { NODE_VERDICTS, type NodeVerdict } from "../../../../shared/policy/preflight/result.ts";
import { code, renderTable } from "./tables.ts";

const VERDICT_WORDS = {
  Blocks: "some pod is refused until a person changes something",
  NoRoom: "some VM that is to move, or a replacement that a budget waits for, fits on no other node",
  Unknown: "something could not be read, or a VM asks for what is not judged",
  DrainsWithShutdowns: "every pod goes; some VM is shut down",
  Drains: "every pod goes, every VM moves",
} as const satisfies Record<NodeVerdict, string>;

/** In the order in which they are looked for. */
function nodeVerdictTable(): string {
  return renderTable([
    ["verdict (the first that applies)", "when"],
    ...NODE_VERDICTS.map((v) => [code(v), VERDICT_WORDS[v]]),
  ]);
}

function constraints(): string {
  return CONSTRAINTS.map(code).join(", ");
}

/** The section of POLICY.md. */
export function section(): string {
  return `## Before a drain

\`lifeboat explain node\` says what a drain of a node would meet, from the same rules: an eviction of each pod gets what is said above, and then
what the API server's budgets say.

${nodeVerdictTable()}

- Blocked: a VM that is refused (first table), one with strategy External (its owner is to move it), a pod behind a budget of another
  party that allows no disruption, or behind two budgets, a VM whose target pod exceeds a ResourceQuota, a launcher pod without its
  VMI (KubeVirt's webhook refuses its eviction), a pod that finalizers or a dead kubelet keep in Terminating, and what \`kubectl drain\` refuses: pods without a controller (\`--force\`), and
  with an emptyDir (\`--delete-emptydir-data\`; a VM's own pods have scratch space only). Who can change it is told with each.
- Room: each VM that moves is placed on another node, the largest first, with those before it placed and its own pod still where
  it is. Asked in this order: ${constraints()}.
- CPU: a VM that has room only on nodes with other CPU labels than its own (vendor, models, host model and its features) makes the verdict
  \`Unknown\`.
- Budgets of which more pods are on the node than they allow to go: each replacement is placed, and gives a disruption back. Where one has no room,
  the pods that wait for it have none.
- Quotas: one more pod like the VM's has to fit beside it, hotplug pods included. What cannot be judged makes the verdict \`Unknown\`: other
  scopes than the four plain ones, limits that the pod does not say, VMs of the namespace that move now.
- A pod that is Terminating for a minute longer than its grace period, for no reason that can be seen, or a node that is not ready:
  \`Unknown\`.
- A volume is judged by the node affinity of the PersistentVolume, also of a hotplugged one; topology spread by \`DoNotSchedule\` alone, with the
  VM's own pod counted where it is.
- A node that is cordoned, not ready or under pressure counts as tainted so, as the node lifecycle controller will do.
- A VM that is refused for now, because it is arriving or backs off, gets what it will get then: one with strategy External blocks.
- A VM that KubeVirt is backing up, or that has utility volumes, waits: KubeVirt begins no migration of it before.
- Time: as many VMs at once as KubeVirt lets leave a node and run in the cluster; those of other nodes that move now take up places, at worst
  from the beginning of theirs. Guest memory at the pace of the VMs of the node that have moved before, else between 64 MiB/s and
  10 Gbit/s, and no faster than \`bandwidthPerMigration\`.
`;
}
