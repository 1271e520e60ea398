/**
 * Whose pod it is: a launcher or hotplug pod of a VMI, the target of its migration, or none whose end ends a guest. Upstream:
 * `isVirtLauncher`, `isHotplugPod`, `isCompleted` of KubeVirt's pod eviction admitter.
 */
import { isCompleted, type OwnerReference, type PodFacts, type VmiFacts } from "./facts.ts";
import {
  COMPONENT_LABEL,
  CREATED_BY_LABEL,
  DOMAIN_ANNOTATION,
  HOTPLUG_COMPONENT,
  LAUNCHER_COMPONENT,
} from "./names.ts";

export function isLauncher(pod: PodFacts): boolean {
  return pod.labels[COMPONENT_LABEL] === LAUNCHER_COMPONENT && !isCompleted(pod);
}

/** The launcher pod that a hotplug pod belongs to: its only owner. */
export function launcherOfHotplug(pod: PodFacts): OwnerReference | undefined {
  return pod.labels[COMPONENT_LABEL] === HOTPLUG_COMPONENT && pod.owners.length === 1 ? pod.owners[0] : undefined;
}

/** Name of the VMI that a launcher pod runs, in the pod's namespace. */
export function vmiNameOf(launcher: PodFacts): string | undefined {
  return launcher.annotations[DOMAIN_ANNOTATION] || undefined;
}

/**
 * Why the end of this pod ends no guest, or undefined if it may. Whether the VMI lives is for the caller to see;
 * here it only matters whether the pod is that VMI's at all: a VMI that was deleted and made anew has another UID.
 */
export function unprotectedReason(pod: PodFacts, launcher: PodFacts | undefined, vmi: VmiFacts | undefined) {
  if (isCompleted(pod)) return "PodCompleted";
  const owner = launcherOfHotplug(pod);
  const subject = owner === undefined ? pod : launcher;
  if (subject?.uid !== (owner ?? pod).uid) return "VmiGone";
  if (!isLauncher(subject) || vmiNameOf(subject) === undefined) return "NotAVirtualMachine";
  return belongsTo(subject, vmi) ? undefined : "VmiGone";
}

function belongsTo(launcher: PodFacts, vmi: VmiFacts | undefined): boolean {
  const owner = launcher.owners.find((o) => o.kind === "VirtualMachineInstance");
  const uid = owner?.uid ?? launcher.labels[CREATED_BY_LABEL] ?? vmi?.uid;
  return vmi !== undefined && vmiNameOf(launcher) === vmi.name && uid === vmi.uid;
}

/**
 * A pod on another node than its VMI, or one that KubeVirt does not count among the VMI's own: its end is not the
 * guest's end, so the VMI is never marked for it. The second half also keeps a pod that merely claims to belong to a VMI,
 * which a tenant can create, from moving that VMI.
 */
export function isMigrationTarget(pod: Pick<PodFacts, "uid" | "nodeName">, vmi: VmiFacts): boolean {
  if (isBeingReceived(vmi)) return true;
  if (vmi.nodeName === undefined) return false;
  const listed = Object.keys(vmi.activePods);
  return pod.nodeName !== vmi.nodeName || (listed.length > 0 && !listed.includes(pod.uid));
}

const BEFORE_RUNNING: readonly string[] = ["", "Pending", "Scheduling", "Scheduled"];

/**
 * Whether its guest still runs in a VMI of another namespace or cluster: the end of its pod ends the transfer, no guest.
 * Upstream: `IsMigrationTarget`, `IsWaitingForSync`; the VMI has a node before it has the guest.
 */
export function isBeingReceived({ phase, decentralized }: VmiFacts): boolean {
  return phase === "WaitingForSync" || (decentralized === "Receives" && BEFORE_RUNNING.includes(phase));
}

/**
 * Whether KubeVirt itself counts the pod among the VMI's own. A pod's creator writes its labels, annotations and owners; KubeVirt
 * alone writes this list, so rules that concern other tenants' VMs go by it.
 */
export function isListedBy(vmi: VmiFacts, { namespace, uid }: PodFacts): boolean {
  return vmi.namespace === namespace && Object.hasOwn(vmi.activePods, uid);
}

/** A launcher pod that has not ended, or a hotplug pod, which holds a volume of one. */
export function isOfLiveVm(pod: PodFacts): boolean {
  return !isCompleted(pod) && (isLauncher(pod) || launcherOfHotplug(pod) !== undefined);
}
