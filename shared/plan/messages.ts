/** All messages of a plan. They say what happens to a node and its VMs, why it happens, and what is unknown. */
import { keyOf } from "../kube/objects.ts";
import type { Resource } from "../kube/resources.ts";
import type { NodeVerdict, PreflightPod } from "../preflight/facts.ts";
import { PREFLIGHT_MESSAGES } from "../preflight/messages.ts";
import { withoutFractions } from "../settings/time.ts";
import type { PlanOptions } from "./facts.ts";

type Pod = Pick<PreflightPod, "namespace" | "name">;
type StartIf = PlanOptions["template"]["startIf"];

/** The kinds that a user might not be allowed to list, each with the question that remains open without this list. */
export const OPEN_WITHOUT = {
  poddisruptionbudgets: "whether disruption budgets refuse evictions",
  resourcequotas: "whether quotas refuse target pods",
  persistentvolumes: "which nodes reach the volumes of VMs, and which volumes stay attached after a drain",
  volumeattachments: "which volumes stay attached",
  virtualmachines: "the annotations that owners set on VMs, and whether VMs start again",
  virtualmachineinstancemigrations: "which migrations have succeeded or failed",
  evacuations: "which evacuations have failed",
} as const satisfies Partial<Record<Resource, string>>;

const MOST_NAMED = 3;

function listed(names: readonly string[], most = MOST_NAMED): string {
  const rest = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.slice(0, most).join(", ")}${rest}`;
}

export const PLAN_MESSAGES = {
  // Facts that could not be read
  forbidden: (kind: keyof typeof OPEN_WITHOUT) => `${OPEN_WITHOUT[kind]}: you may not list ${kind}`,
  unread: (kind: keyof typeof OPEN_WITHOUT) => `${OPEN_WITHOUT[kind]}: ${kind} could not be read`,
  odd: (count: number, kind: string) => `${count} of the ${kind}: Lifeboat cannot parse ${count === 1 ? "it" : "them"}`,
  notInPlan: (resource: string) => `a forecast asks for ${resource}, which a plan does not have`,

  // A drain that does not start
  mayBeRefused: (node: string, startIf: StartIf, verdict: NodeVerdict) =>
    `whether the drain of ${node} starts: kube-scheduler might place VMs on other nodes than this plan does. In this case, the verdict is ${verdict}, and startIf ${startIf} refuses the drain`,
  verdictUnknown: (startIf: StartIf) => `whether drains start: startIf is ${startIf}, and the verdict is Unknown`,
  notDrained: "it is not drained",

  // A VM that stays until a certain time
  ownerKeeps: (vm: string, until = "") =>
    `when the drain ends, because the owner of VM ${vm} wants the VM to stay until ${withoutFractions(until)}`,

  // Free CPU and memory
  mayHaveNoRoom: (homeless: readonly string[]) =>
    `whether all VMs and pods find room: kube-scheduler might place VMs on other nodes than this plan does. In this case, there is no room for ${listed(homeless)}`,
  shortage: (vms: number, needed: string, most: string) =>
    `${vms} VM${vms === 1 ? ` needs ${needed} of memory` : `s need ${needed} of memory in total`}; no other node has more than ${most} free`,
  fitsNowhere: (vm: string, others: number, why: string) =>
    `VM ${vm}: ${why}${others === 0 ? "" : ` (other VMs without room: ${others})`}`,

  // A guest that is shut down
  mayEndAgain: (summary: string, vms: readonly string[]) =>
    `${summary}; the guest${vms.length === 1 ? "" : "s"} of VM${vms.length === 1 ? "" : "s"} ${listed(vms, 1)} might start again on this node, and the drain then shuts ${vms.length === 1 ? "this guest" : "these guests"} down again`,
  heldBack: (message: string) => `${message}; the guest runs until everything else can leave`,

  // Evidence of earlier migrations
  failing: (vm: string, times: number, reason: string) =>
    `whether VM ${vm} moves: in its class (same launcher image, machine type, CPU, architecture and kinds of storage), the last ${times === 1 ? "migration" : `${times} migrations`} failed: ${reason}`,
  noReason: "KubeVirt gives no reason",
  targetEnded: "its target pod ended before it was ready",
  targetNotReady: "its target pod was not ready after 15 minutes",

  // Powering off a drained node
  lastReplica: (pod: Pod, message: string) =>
    `pod ${keyOf(pod)}: ${message}; the storage engine might be protecting the last replica of a volume`,
  volumesStay: (claims: readonly string[], owner: string) => `volumes stay attached: ${claims.join(", ")} of ${owner}`,
  unusedVolumes: (names: readonly string[]) =>
    `volumes are attached, and no pod of the node uses them: ${listed(names)} (kubectl get volumeattachments)`,
  runsHere: (vm: string) => `${vm} runs on it`,

  // The duration
  basedOn: (migrations: number) => `${PREFLIGHT_MESSAGES.basedOn(migrations)}, their sizes, and KubeVirt's limits`,
  asBandwidthSays: (pace: string) => `${pace} for each VM, as --bandwidth says`,
} as const;
