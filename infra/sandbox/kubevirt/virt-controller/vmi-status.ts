/** Computes a VMI's status from its launcher pods, as virt-controller does. */
import { findCondition, isTrue, type Condition } from "../../actors/conditions.ts";
import type { Pod } from "../../actors/resources.ts";
import { conditionOf, withCondition, withoutCondition } from "../conditions.ts";
import { enterPhase } from "../phases.ts";
import * as kubevirt from "../resources.ts";
import { IMAGE } from "./launcher-pod.ts";
import { isActive } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Status = kubevirt.VirtualMachineInstanceStatus;

const OBSERVED = {
  "kubevirt.io/latest-observed-api-version": "v1",
  "kubevirt.io/storage-observed-api-version": "v1",
};

export function stateOf(vmi: Vmi, pod: Pod | undefined, launchers: readonly Pod[], now: string): Vmi {
  const { status = {}, metadata } = vmi;
  const conditions = withCondition(status.conditions, readyCondition(vmi, pod, now));
  const next: Status = {
    ...enterPhase(status, phaseOf(vmi, pod), now),
    // Completed launcher pods stay in this list until they are deleted.
    activePods: Object.fromEntries(launchers.map(({ metadata, spec }) => [metadata.uid, spec?.nodeName ?? ""])),
    conditions: withEvictionRequested(conditions, vmi, now),
  };
  const annotations = { ...metadata.annotations, ...OBSERVED };
  const node = next.phase === "Scheduled" && status.phase !== "Scheduled" ? pod?.spec?.nodeName : undefined;
  const own = labelsOf(vmi, pod);
  if (node === undefined) return { ...vmi, metadata: { ...metadata, ...own, annotations }, status: next };
  const labels = { ...own.labels, [kubevirt.LABEL.nodeName]: node };
  return { ...vmi, metadata: { ...metadata, annotations, labels }, status: { ...next, nodeName: node } };
}

/**
 * Returns the VMI's labels. One label marks VMIs whose launchers have an outdated image. Upstream:
 * `setLauncherContainerInfo`.
 */
function labelsOf({ metadata }: Vmi, pod: Pod | undefined): Pick<Vmi["metadata"], "labels"> {
  const image = pod?.spec?.containers.find(({ name }) => name === "compute")?.image;
  const { [kubevirt.LABEL.outdatedLauncher]: before, ...others } = metadata.labels ?? {};
  if (image === undefined || (image === IMAGE) === (before === undefined)) return metadata;
  return { labels: image === IMAGE ? others : { ...others, [kubevirt.LABEL.outdatedLauncher]: "" } };
}

export function isWaiting({ status }: Vmi): boolean {
  return [undefined, "", "Pending", "Scheduling", "WaitingForSync"].includes(status?.phase);
}

function isPodReady(pod: Pod | undefined): boolean {
  return isTrue(pod?.status?.conditions, "Ready");
}

function phaseOf(vmi: Vmi, pod: Pod | undefined): string {
  const { phase = "Pending" } = vmi.status ?? {};
  if (kubevirt.isFinal(vmi.status)) return phase;
  if (pod === undefined || !isActive(pod)) return kubevirt.isReceiver(vmi) ? "WaitingForSync" : "Failed";
  if (!isWaiting(vmi)) return phase;
  return phase === "Scheduling" && isPodReady(pod) ? "Scheduled" : "Scheduling";
}

function readyCondition(vmi: Vmi, pod: Pod | undefined, now: string): Condition {
  if (pod === undefined) return notReady("PodNotExists", "virt-launcher pod has not yet been scheduled", now);
  if (pod.metadata.deletionTimestamp !== undefined || !isActive(pod))
    return notReady("PodTerminating", "virt-launcher pod is terminating", now);
  if (vmi.status?.phase !== "Running") return notReady("GuestNotRunning", "Guest VM is not reported as running", now);
  const ready: Condition | undefined = findCondition(pod.status?.conditions, "Ready");
  return ready === undefined
    ? notReady("PodConditionMissing", "virt-launcher pod is missing the Ready condition", now)
    : conditionOf(ready);
}

function notReady(reason: string, message: string, now: string): Condition {
  return conditionOf({ type: "Ready", status: "False", reason, message }, now);
}

/** Sets the condition EvictionRequested if evacuationNodeName is set. Otherwise removes the condition. */
function withEvictionRequested(conditions: readonly Condition[], { status }: Vmi, now: string): Condition[] {
  const type = "EvictionRequested";
  if (status?.evacuationNodeName === undefined) return withoutCondition(conditions, type);
  const message = "VMI is marked for eviction";
  return withCondition(conditions, conditionOf({ type, status: "True", reason: type, message }, now));
}
