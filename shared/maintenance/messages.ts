/** Contains all messages of NodeEvacuations in statuses, blockers and Events. */
import { describeFailure, type ClusterError, isForbidden } from "../kube/failures.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import type {
  NodeEvacuationFacts,
  NodeEvacuationSpec,
  NodeEvacuationPhase,
  VmCounts,
} from "../kube/node-evacuation.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { keyOf } from "../kube/objects.ts";
import { pinnedBecause } from "../eviction/messages.ts";
import { isTimeText, withoutFractions } from "../settings/time.ts";
import { hasStarted } from "./world.ts";

const MOST_NAMES = 5;
const INSTALL = "lifeboat install --with maintenance";
const PERMISSION = (what: string) => `Lifeboat lacks a permission (${what}): run ${INSTALL}`;
const DETACHING_UNKNOWN = (failed: ClusterError) =>
  `Lifeboat does not know whether volumes are still attached to the node: ${describeFailure(failed.failure)}${isForbidden(failed) ? `; run ${INSTALL}` : ""}`;

export const MAINTENANCE_MESSAGES = {
  // Messages before the start.
  startsAt: ({ schedule }: NodeEvacuationSpec) => `starts at ${withoutFractions(schedule.notBefore ?? "")}`,
  startsNow: "starts now",
  ownerUnreadable: (issue: string) =>
    `nothing new starts, because Lifeboat cannot read the RollingMaintenance, which might be paused: ${issue}`,
  pausedBefore: "spec.progress is Paused: the drain has not started, and starts only after it is resumed",
  waitsForAnother: (name: string) => `waits for NodeEvacuation ${name} of the same node`,
  waitsForRollout: "waits until KubeVirt's rollout has ended",
  withForecast: (why: string, verdict: string) => `${why}; forecast as of now: ${verdict}`,
  shutdownPlanned: ({ name, spec: { nodeName, schedule } }: NodeEvacuationFacts) => {
    const when = schedule.notBefore === undefined ? "" : ` from ${withoutFractions(schedule.notBefore)} on`;
    return `node ${nodeName} will be drained${when}: the guest of this VM will shut down (NodeEvacuation ${name})`;
  },
  chained: (after: string) =>
    `spec.schedule.after (NodeEvacuation ${after}) is no longer supported: create a RollingMaintenance of the nodes`,
  refused: (startIf: string, verdict: string, summary: string) =>
    `startIf is ${startIf}, and the verdict is ${verdict}: ${summary}`,
  nothingToMove: "no VM has to move",

  // Messages about progress.
  progress: ({ total, left, moving, waiting, blocked }: VmCounts, pods: number) => {
    if (left + moving === 0) return `no VM is left; other pods that have to leave: ${pods}`;
    if (left === 0) return `no VM is left; VMs that are still arriving on other nodes: ${moving}`;
    // `moving` also counts VMs that already run on another node. `left` does not, so `moving` cannot be used here.
    return `${left} of ${total} VMs are left: ${left - waiting - blocked} moving, ${waiting} waiting, ${blocked} blocked`;
  },
  stuck: (count: number, first: (NamespacedName & { readonly message: string }) | undefined) =>
    `VMs or pods that cannot leave: ${count}; the first: ${first === undefined ? "" : `${keyOf(first)}: ${first.message}`}`,
  paused: "spec.progress is Paused: nothing new starts, and running migrations continue",
  uncordoned: (nodeName: string) =>
    `another party has uncordoned the node, so nothing new starts: kubectl cordon ${nodeName} resumes the drain`,
  evictsPod: ({ name }: NodeEvacuationFacts, pod: string) =>
    `NodeEvacuation ${name} evicts pod ${pod}: the guest shuts down, as its eviction strategy says`,
  changed: ({ name, spec }: NodeEvacuationFacts, phase: NodeEvacuationPhase, message: string) =>
    `NodeEvacuation ${name} of node ${spec.nodeName} is ${phase}: ${message}`,
  lacksPermission: PERMISSION,

  // Messages about blockers.
  cannotMigrate: (vmi: VmiFacts) => `it cannot migrate: ${pinnedBecause(vmi)}`,
  unknownStrategy: (field: string, value: string) => `${field} is "${value}", which KubeVirt does not know`,
  unreadable: (kind: string, why: string) => `Lifeboat cannot read this ${kind}: ${why}`,
  isSent: "it is migrating to another namespace or cluster",
  ownerDelays: (until: string) =>
    isTimeText(until)
      ? `its owner wants it to stay until ${withoutFractions(until)}`
      : `its annotation lifeboat.dev/not-before is not a time in RFC 3339: ${until.slice(0, 64)}`,
  ownerDelaysFix:
    "the VM's owner: remove the annotation lifeboat.dev/not-before from the VirtualMachine, or set an earlier time",
  staysBecause: (message: string, why: string) => `${message}; ${why}`,
  shutsDown: (message: string, way: "Restart" | "ShutDown") =>
    `${message}; Lifeboat ${way === "Restart" ? "restarts" : "stops"} it`,
  noVirtualMachine: "it has no VirtualMachine object, so KubeVirt cannot restart or stop it",
  notRestartable: (runStrategy: string) => `its run strategy is ${runStrategy}: it would not start again`,
  alreadyShutDown: "this NodeEvacuation has already restarted or stopped the VM, and does so only once",
  maybeShutDown: (odd: string) =>
    `this NodeEvacuation has perhaps already restarted or stopped the VM: Lifeboat cannot read Evacuation ${odd}`,
  evictedLater: "its eviction shuts the guest down; Lifeboat evicts the VM",
  heldBack: (message: string) =>
    `${message} once nothing else blocks the node (with spec.forceShutdowns: true, Lifeboat does not wait)`,
  slowToEnd: (end: string) => `Terminating, and its grace period ends at ${withoutFractions(end)}`,
  slowToEndFix: ({ namespace, name }: NamespacedName) =>
    `the pod's owner, or an administrator: kubectl describe pod ${name} -n ${namespace} shows why it does not end`,
  notBackFix: ({ namespace, spec }: EvacuationFacts) =>
    `the VM's owner: kubectl describe vm ${spec.vmiName} -n ${namespace} says why it does not run`,
  evictionRefused: "a webhook or a policy of another product refuses its eviction",
  evictionRefusedFix: (nodeName: string) =>
    `an administrator: remove what refuses the eviction (kubectl drain ${nodeName} prints it)`,

  // Messages of the forecast about restarts and stops.
  willRestart: "cannot migrate: KubeVirt restarts it on another node, as requested",
  willShutDown: "cannot migrate: Lifeboat stops it, and starts it again when the node is uncordoned, as requested",
  isMoving: "it is moving",
  noStartBeside: (why = "there is no room for it") =>
    `it would not start on another node after the other VMs have left: ${why}`,
  noStart: (why: string) => `Lifeboat does not restart it: ${why}`,
  noRoom: "there is no room for it on another node",
  nodeIsGone: "the node is gone",
  podNotFound: "its pod was not found",
  toleratesCordon: "it tolerates the cordon, and could start on this node again",
  hostDisk: (disk: string) =>
    `its disk ${disk} is a file of this node: on another node, the VM would start with a different disk`,
  roomUnknown: (unknown: readonly string[]) =>
    `Lifeboat cannot judge whether it fits on another node; not checked: ${unknown.join(", ")}`,

  // Messages at the end.
  withdrawn: "spec.intent is Withdrawn: running migrations continue, and other VMs stay",
  nodeGone: (nodeName: string) => `there is no node ${nodeName}: it was deleted, or the name is wrong`,
  expired: (ne: NodeEvacuationFacts, notAfter: string) => {
    const again = "create another NodeEvacuation with a later time";
    if (hasStarted(ne)) return `the node was not empty at ${notAfter} (spec.schedule.notAfter): ${again}`;
    const { message = "Lifeboat had not reconciled it" } = ne.status;
    return `the drain had not started at ${notAfter} (spec.schedule.notAfter): ${message}; ${again}`;
  },
  empty: (seconds: number, total: number, ended: string) =>
    `the node is empty after ${seconds}s; VMs that left: ${total}${ended === "" ? "" : `, of which ${ended}`}`,
  ended: (
    how: "restarted" | "stopped" | "shut down by their eviction strategy" | "restarted or stopped by others",
    names: readonly string[],
  ) => {
    const distinct = [...new Set(names)].toSorted();
    const more = distinct.length - MOST_NAMES;
    return `${names.length} ${how} (${distinct.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""})`;
  },
  detaching: (volumes: number) => `volumes that are not detached yet: ${volumes}`,
  stillAttached: (volumes: number) =>
    `volumes that are still attached to the node (kubectl get volumeattachments): ${volumes}`,
  attachmentsUnknown: DETACHING_UNKNOWN,
  noVmLeft: (volumes: string) => `no VM is left; ${volumes}`,
  notStartedAgain: (vms: readonly string[]) => `stopped VMs that have not started again yet: ${vms.join("; ")}`,
  aboutToStart: "it is about to start",

  // Messages of the doctor.
  noneOpen: "no node is under maintenance",
  notInstalled: "the maintenance component is not installed: nobody can drain with Lifeboat",
  open: (names: string) => `NodeEvacuations that have not ended: ${names}`,
  isBlocked: ({ name, spec }: NodeEvacuationFacts) => `NodeEvacuation ${name} of node ${spec.nodeName} is blocked`,
} as const;
