/** All messages in the statuses and Events of Evacuations. */
import type { MigrationFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { OVER_QUOTA } from "../kube/names.ts";
import { withoutFractions } from "../settings/time.ts";
import { called } from "./migration-cause.ts";

type Migration = Parameters<typeof called>[0];
type Named = Pick<MigrationFacts, "name">;
type Pod = { readonly name: string };

const startCommand = ({ namespace, spec }: EvacuationFacts) => `virtctl start ${spec.vmiName} -n ${namespace}`;

const WITHDRAWN = "spec.intent is Withdrawn";
const REFUSED = (e: EvacuationFacts) =>
  `KubeVirt refuses to start the VM; Lifeboat asks again every minute. ${startCommand(e)} says why`;

/** Returns, for example, `1 attempt has failed`. If `attempts` is at most `most`: `2 of 5 attempts have failed`. */
export function failedText(attempts: number, most = 0): string {
  const all = Math.max(attempts, most);
  const count = attempts <= most ? `${attempts} of ${most}` : `${attempts}`;
  return `${count} ${all === 1 ? "attempt" : "attempts"} ${attempts === 1 ? "has" : "have"} failed`;
}

export const EVACUATION_MESSAGES = {
  // Start of an evacuation
  foundMarked: (nodeName: string | undefined, cause: string) =>
    `KubeVirt has marked the VM for evacuation from node ${nodeName} (cause ${cause})`,
  drainTaint: (nodeName: string | undefined, key: string) =>
    `node ${nodeName} carries the drain taint ${key}: evacuating the VM`,
  hasJustMoved: (seconds: number) =>
    `the VM has just moved: for ${seconds} s the descheduler does not evict it, and node pressure evacuates other VMs first`,

  // Waiting for a migration
  webhookMarks: "KubeVirt's eviction webhook marks the VM for evacuation",
  controllerMigrates: "KubeVirt's evacuation controller migrates the VM",
  waitsForController: "eviction strategy External: the VM's external controller has to move the VM",
  controllerFailed: ({ name }: Named, why: string) => `; migration ${name} has failed: ${why}`,
  controllerNotAsked:
    "KubeVirt's eviction webhook has not marked the VM for evacuation: the VM's external controller does not know that the VM has to move",
  migrationCreated: (name: string) => `migration ${name} has been created`,
  attemptStarts: (name: string, nodeName: string | undefined, attempt: number, most: number) =>
    `migration ${name} moves the VM off node ${nodeName} (attempt ${attempt} of ${most})`,
  marked: (nodeName: string | undefined) => `status.evacuationNodeName of the VMI is ${nodeName}`,

  // Reasons why a migration has not started
  targetPodNotCreated: (m: Migration) => `KubeVirt has not created the target pod of ${called(m)} yet`,
  controllerSilent: ({ name }: Named) =>
    `KubeVirt has not acted on migration ${name} since it was created: virt-controller does not run, or is far behind`,
  overQuota: ({ name }: Named, words: string | undefined) =>
    `a resource quota refuses the target pod of migration ${name} (${OVER_QUOTA})${words === undefined ? "" : `: ${words}`}`,
  gated: ({ name }: Pod, gates: readonly string[]) =>
    `target pod ${name} waits for the removal of scheduling gate${gates.length === 1 ? "" : "s"} ${gates.join(", ")}`,
  unschedulable: ({ name }: Pod, why: string) => `target pod ${name} cannot be scheduled: ${why}`,
  targetNotStarted: ({ name }: Pod, reason: string, words: string) =>
    `target pod ${name} has not started: ${reason}: ${words}`,
  targetStarting: (m: Migration, pod: Pod | undefined) =>
    pod === undefined
      ? `the target pod of ${called(m)} is starting`
      : `target pod ${pod.name} of ${called(m)} is starting`,
  targetRefused: ({ name }: Named, words: string) =>
    `KubeVirt cannot create the target pod of migration ${name}: ${words}`,
  secondLauncher: ({ name }: Named, other: Pod & { readonly nodeName?: string | undefined }) =>
    `KubeVirt does not start migration ${name} while the VM has a second launcher pod, ${other.name} on node ${other.nodeName}`,
  queued: (m: Migration) => `${called(m)} waits in KubeVirt's queue: KubeVirt's limits are reached`,
  stalled: "KubeVirt has not started the migration although KubeVirt's limits are not reached",
  stuck: (seconds: number) =>
    `KubeVirt has not started the migration for ${seconds} s, although KubeVirt's limits are not reached`,
  targetTooSlow: (message: string, seconds: number) => `${message}: the pod has not started within ${seconds} s`,

  // Progress of a migration
  preparing: (m: Migration, targetNode: string | undefined) =>
    `${called(m)} prepares ${targetNode === undefined ? "the target" : `node ${targetNode}`}`,
  moving: (m: Migration) => `${called(m)} moves the VM`,
  hasMoved: (m: Migration) => `${called(m)} has moved the VM`,
  synchronizing: ({ name }: Named) =>
    `migration ${name} waits for the namespace or cluster that the VM is sent to; KubeVirt allows no second migration`,

  // Failed attempts
  attemptFailed: (nodeName: string | undefined, attempt: number, most: number, why: string) =>
    `attempt ${attempt} of ${most} to move the VM off node ${nodeName} failed: ${why}`,
  anAttemptFailed: "an attempt to move the VM has failed",
  noReason: "KubeVirt gives no reason",
  refused: "the API server refused to create the migration",
  kubevirtBacksOff: (failed: Named, why: string, { name }: Named, until: string) =>
    `migration ${failed.name} has failed: ${why}; KubeVirt's own back-off delays migration ${name} until ${withoutFractions(until)}`,

  // Blocked evacuations
  cannotLeave: (nodeName: string | undefined, why: string) => `cannot leave node ${nodeName}: ${why}`,
  noVirtHandler: (nodeName: string) =>
    `virt-handler does not run on node ${nodeName}, probably because it does not tolerate a taint of the node. ` +
    "Remove the taint, or add a toleration to spec.workloads.nodePlacement of the KubeVirt object",
  notScheduled: "the VM is not on a node yet",
  beingReceived: "the VM is being received from another namespace or cluster",
  decentralizedBlocked: ({ name }: Named, why: string) =>
    `migration ${name} to another namespace or cluster cannot continue: ${why}`,
  personsMigrationBlocked: ({ name }: Named, why: string) =>
    `migration ${name}, which a person created, cannot start: ${why}`,
  notMigratable: (why: string) => `the VM is not live-migratable: ${why}`,
  unknownStrategy: (field: string, value: string) =>
    `${field} is "${value}", which is not an eviction strategy of KubeVirt`,
  strategyNone: "the VM's eviction strategy is None: KubeVirt does not migrate the VM",

  // End of an evacuation
  noVmi: "there is no VirtualMachineInstance of this name",
  recreated: "the VirtualMachineInstance was deleted and created again",
  vmEnded: "the VM has ended",
  duplicate: (first: string) => `Evacuation ${first} of the same pod continues`,
  withdrawn: WITHDRAWN,
  drainTaintGone: (nodeName: string) => `node ${nodeName} no longer has the drain taint`,
  noExecuteTaintGone: (nodeName: string) => `node ${nodeName} no longer has the NoExecute taint`,
  preemptionOver: ({ name }: Pod) => `the scheduler no longer deletes pod ${name}`,
  markRemoved: "evacuationNodeName was removed from the VMI",
  exhausted: (attempts: number, last: string) => `${failedText(attempts)}; the last failure: ${last}`,
  moved: (from: string | undefined, to: string | undefined) =>
    `moved${from === undefined ? "" : ` from node ${from}`} to ${to === undefined ? "another namespace or cluster" : `node ${to}`}`,
  movedBy: (message: string, cause: string) => `${message} (cause ${cause})`,
  ends: (nodeName: string | undefined, why: string) => `evacuation from node ${nodeName} ends: ${why}`,
  abandoned: (nodeName: string | undefined, why: string) => `evacuation from node ${nodeName} is abandoned: ${why}`,
  runningContinues: ({ name }: Named) =>
    `migration ${name} already moves the VM, and Lifeboat lets the migration finish`,
  foreignContinues: ({ name }: Named) =>
    `Lifeboat does not delete migration ${name}, which another party created and which can still move the VM`,

  // Cleanup after an evacuation
  toBeReleased: "Lifeboat still has to remove the VMI's evacuationNodeName, and the migrations that have not started",
  otherContinues: (name: string) => `Evacuation ${name} continues`,
  markStaysNodeGone: (nodeName: string) =>
    `KubeVirt does not clear the VMI's evacuationNodeName: node ${nodeName} is gone`,
  markStaysDrainTaint: (nodeName: string, key: string) =>
    `KubeVirt does not clear the VMI's evacuationNodeName: node ${nodeName} carries the drain taint ${key}`,

  // Restarts and stops
  askedToRestart: "Lifeboat asks KubeVirt to restart the VM on another node",
  askedToStop: "Lifeboat asks KubeVirt to stop the VM",
  askedAgain: (seconds: number) =>
    `for ${seconds} s, KubeVirt has not acted on the request: Lifeboat repeats the request`,
  requestPending: (isUndone: boolean) =>
    isUndone
      ? "KubeVirt has the request to stop the VM, but virt-controller has not acted on it; because the evacuation was cancelled, the VM starts again after the stop"
      : "KubeVirt has the request, but virt-controller has not acted on it",
  requestHeld: (why: string) =>
    `KubeVirt has not acted on the request, and Lifeboat does not repeat the request: ${why}`,
  paused: (isPart: boolean) =>
    `spec.progress of the NodeEvacuation${isPart ? " or of its RollingMaintenance" : ""} is Paused`,
  ownerUnreadable: (issue: string) => `Lifeboat cannot read the RollingMaintenance, which might be paused (${issue})`,
  nodeSchedulable: "the VM's node is schedulable",
  shutsDown: "the guest shuts down",
  startsElsewhere: "KubeVirt starts the VM on another node",
  offAndStartsElsewhere: "the VM is off, and KubeVirt starts it on another node",
  canMigrateNow: "the VM can migrate now",
  withdrawnWhileOff: `${WITHDRAWN}, and the VM is off or about to start`,
  startedByAnother: "another party has started the VM again",
  vmDeleted: "the VirtualMachine was deleted",
  runStrategyChanged: "the run strategy of the VM has changed",
  requestEnded: "the NodeEvacuation that requested this restart or stop was cancelled or has ended",
  restarted: (nodeName: string) => `restarted on node ${nodeName}`,
  stopped: (e: EvacuationFacts) =>
    `stopped; Lifeboat starts the VM when its node is schedulable again. To start the VM now: ${startCommand(e)}`,
  stoppedThenCancelled: "stopped, but the evacuation was cancelled: Lifeboat starts the VM again",

  // Start of a stopped VM
  startsLater: "Lifeboat starts the VM when its node is schedulable again",
  startRefused: REFUSED,
  startRefusedEvent: (e: EvacuationFacts) =>
    `stopped for the maintenance of node ${e.status.sourceNode ?? ""}: ${REFUSED(e)}`,
  askedToStart: "Lifeboat has asked KubeVirt to start the VM",
  hasStarted: "the VM has been started",
  ownerChanged: "the VM's owner has deleted or changed the VM",
} as const;
