/**
 * All messages of a preflight and of a drain's progress. They say what happens to a pod, why it happens, and what is
 * unknown.
 */
import { failedText } from "../evacuation/messages.ts";
import { called } from "../evacuation/migration-cause.ts";
import { pinnedBecause } from "../eviction/messages.ts";
import type { MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { LONGEST_LABEL } from "../kube/names.ts";
import { keyOf } from "../kube/objects.ts";
import { durationText } from "../settings/time.ts";
import type { DrainTime, PreflightPod, QuotaFacts } from "./facts.ts";

type Pod = Pick<PreflightPod, "namespace" | "name">;
type Named = { readonly name: string };

const counted = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
const whenGone = (pod: Pod, why: string) => `when pod ${keyOf(pod)} leaves: ${why}`;
const moving = (vms: number) => `${counted(vms, "VM")} ${vms === 1 ? "moves" : "move"}`;

export const PREFLIGHT_MESSAGES = {
  // The verdict on a node
  summary: (node: string, verdict: string) => `draining ${node} ${verdict}`,
  willBlock: (pods: number) => `will block: ${counted(pods, "pod")} cannot be evicted`,
  noRoom: (vms: number, pods: number) => {
    const waiting = `the replacement pods that must run before ${counted(pods, "pod")} can be evicted`;
    const homeless = [...(vms > 0 ? [`${vms} of its VMs`] : []), ...(pods > 0 ? [waiting] : [])];
    return `will block: no other node has room for ${homeless.join(", nor for ")}`;
  },
  unknown: "may succeed: no known fact blocks it, but Lifeboat could not check every fact",
  withShutdowns: (vms: number, guests: number) =>
    `will succeed: ${moving(vms)}, and ${counted(guests, "guest")} ${guests === 1 ? "is" : "are"} shut down`,
  willSucceed: (vms: number) => `will succeed: ${moving(vms)}, and no guest is shut down`,

  // The duration
  basedOn: (migrations: number) => `based on ${counted(migrations, "finished migration")}`,
  basedOnPace: (slow: string, fast: string) =>
    `no migration finished yet: assumes ${slow === fast ? fast : `between ${slow} and ${fast}`} for each VM`,
  time: ({ moves, atOnce, seconds, basis }: DrainTime) => {
    const [least, most] = [durationText(seconds.least), durationText(seconds.most)];
    const range = least === most ? least : `${least} to ${most}`;
    const inWaves = moves <= atOnce ? "all at once" : `${atOnce} at a time`;
    return `about ${range} for ${moves} ${moves === 1 ? "VM" : `VMs, ${inWaves}`} (${basis})`;
  },

  // A pod that stays, is shut down or is evicted
  mirrorPod: "a static pod of the kubelet: a drain leaves it in place",
  daemonSet: (name: string) => `belongs to DaemonSet ${name}: a drain leaves the pod in place`,
  unmanaged: "no controller would create it again: kubectl drain refuses without --force",
  localStorage: "has an emptyDir: kubectl drain refuses without --delete-emptydir-data",
  noGuest: "no guest runs in it any more",
  isDeleted: "is being deleted",
  evicted: "not a VM's pod: evicted like any other pod",
  followsVm: "holds a volume of a VM, and leaves with the VM",
  orphaned: (vmi: Named | undefined) =>
    `${vmi === undefined ? "its VMI does not exist" : `VMI ${vmi.name} was created after this pod's VMI`}: KubeVirt's webhook refuses every eviction of this launcher pod`,
  leftOver: (pod: Named, { nodeName }: VmiFacts) =>
    `${pod.name} is left over from a migration: the VM runs on node ${nodeName}, and no migration of the VM is in progress`,
  terminating: (seconds: number) => `Terminating, and its grace period ended ${durationText(seconds)} ago`,
  finalizers: (since: string, names: readonly string[]) => `${since}: finalizers ${names.join(", ")}`,
  deadKubelet: (since: string, { name }: Pick<NodeFacts, "name">) => `${since}: the kubelet of ${name} is not ready`,

  // A VM
  strategyNone: "eviction strategy None: an eviction shuts the guest down",
  external: "eviction strategy External: the VM's external controller has to move the VM",
  markedButPinned: (vmi: VmiFacts) =>
    `is marked for evacuation, but is no longer live-migratable: ${pinnedBecause(vmi)}`,
  willMigrate: "is migrated to another node",
  migrates: (m: MigrationFacts, hasStarted: boolean) =>
    `its ${called(m)} ${hasStarted ? "is in progress" : "has not started yet"}`,
  arrives: (message: string, m: MigrationFacts | undefined) =>
    m === undefined ? message : `${message}; ${called(m)} brings the VM here`,
  migrationBlocked: (m: MigrationFacts, why: string) => `its ${called(m)} cannot start: ${why}`,
  backup: (name: string) => `the VM cannot migrate before its backup ${name} has ended`,
  utilityVolumes: "the VM cannot migrate before its utility volumes are detached",

  // A VM that cannot leave
  nameTooLong: (length: number) =>
    `the API server refuses its migrations: its name has ${length} characters, and KubeVirt uses the name as a label, which may have at most ${LONGEST_LABEL}`,
  secondLauncher: ({ name, nodeName }: Pick<PodFacts, "name" | "nodeName">) =>
    `KubeVirt starts no migration while the VM has a second launcher pod: ${name} on node ${nodeName} is left over from an earlier migration`,
  evacuationBlocked: ({ name }: Named, message: string) => `Evacuation ${name}: ${message}`,
  boundToNode: (selected: readonly string[], hasAffinity: boolean) => {
    const selector = selected.length > 0 ? [`nodeSelector ${selected.join(", ")}`] : [];
    return `no other node meets its requirements: ${[...selector, ...(hasAffinity ? ["node affinity"] : [])].join(" and ")}`;
  },
  noOtherNode: "there is no other node",
  noRoomFor: (reasons: string) => `no other node has room for it: ${reasons}`,
  replacementWaits: (budget: string, why: string | undefined) =>
    `PodDisruptionBudget ${budget} allows no eviction until another pod's replacement runs: ${why}`,
  quotaRefuses: ({ name }: Named, shortage: string) => `ResourceQuota ${name} refuses its target pod: ${shortage}`,
  quotaShortage: (resource: string, needed: string, left: string) => `${resource}: ${needed} needed, ${left} left`,

  // Facts that could not be checked
  whetherItMoves: ({ namespace, name }: VmiFacts, why: string) => `whether VM ${namespace}/${name} moves: ${why}`,
  longName: `its name is longer than ${LONGEST_LABEL} characters`,
  wasAbandoned: (message: string) => `its last evacuation was abandoned: ${message}`,
  attemptsFailed: (attempts: number, message: string) => `${failedText(attempts)}; ${message}`,
  targetNotPlaced: ({ name }: Named) => `the target pod of its migration ${name} has no node yet`,
  whetherQuotaSuffices: (quota: QuotaFacts, why: string) =>
    `whether ResourceQuota ${keyOf(quota)} leaves enough for a target pod: ${why}`,
  quotaNotCounted: "it has no status yet from the quota controller",
  quotaLimitUnknown: (key: string) => `the VM's pod has no ${key}`,
  quotaScope: (scope: string) => `scope ${scope} might exclude the pod`,
  quotaMayChange: (why: string, shortage: string) => `${why}; ${shortage}`,
  quotaVmsMove: "VMs of the namespace move now",
  quotaPodsEnd: "the drain also ends other pods of the namespace",
  quotaMayBeRaised: (by: string) => `${by} might raise the quota while the VM moves`,
  notChecked: (field: string, pod: Pod) => `${field} of pod ${keyOf(pod)}: not checked`,
  nextPodUnknown: (vm: Pod, field: string) => `which requirements the next pod of VM ${keyOf(vm)} has: ${field}`,
  nextPodUnsure: (vm: Pod, field: string) =>
    `whether the next pod of VM ${keyOf(vm)} fits on another node: this can depend on ${field}`,
  whenGone,
  noReplacement: (pod: Pod, budget: string) =>
    whenGone(
      pod,
      `PodDisruptionBudget ${budget} allows no eviction while another pod is missing, which no controller replaces`,
    ),
  kubeletNotReady: (node: string) =>
    `at what time the pods of ${node} leave: the kubelet of ${node} is not ready, so it ends no pod`,
  leavingElsewhere: (nodes: number | undefined) =>
    `which VMs leave ${nodes === undefined ? "" : `${nodes} `}other nodes and need room elsewhere`,
  unreadVmi: (pod: Pod) => `the VMI of pod ${keyOf(pod)}`,
  rollout: "whether KubeVirt's current rollout delays the drain",
  unreadKubeVirt: "the KubeVirt object",

  // Progress
  isBlocked: (reason: string) => `blocked: ${reason}`,
  waits: (why: string) => `waits: ${why}`,
  queued: "waits for KubeVirt to start its migration",
  backsOff: "waits for the end of KubeVirt's back-off",
  runs: "runs",
  hasToMove: "has to move",
  shutsDown: "is shutting down",
  moves: (isRunning: boolean, target: string | undefined) =>
    `${isRunning ? "moves" : "is about to move"}${target === undefined ? "" : ` to ${target}`}`,
  byWorkloadUpdate: (words: string) => `${words} (WorkloadUpdate)`,
} as const;
