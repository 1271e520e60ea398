/**
 * Evacuations of VMs that KubeVirt restarts or stops, because they cannot move. A NodeEvacuation starts them.
 *
 * KubeVirt's restart has no precondition. So the phase is written first, with the VMI's UID, and the VMI is read again just before the
 * request. It is sent once more only if nothing has come of it for so long that the first one has been lost. Upstream:
 * pkg/virt-api/rest/lifecycle.go, and syncRunStrategy of virt-controller.
 */
import { recordEvent } from "../kube/action.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { isFinal } from "../kube/objects.ts";
import { isLive } from "../settings/strategy.ts";
import { secondsSince } from "../settings/time.ts";
import { ended, moved } from "./ends.ts";
import { type EvacuationWorld, type Facts, isElsewhere, type Next } from "./world.ts";

export function isShutdown({ spec }: EvacuationFacts): boolean {
  return spec.by === "Restart" || spec.by === "ShutDown";
}

function isRestart({ spec }: EvacuationFacts): boolean {
  return spec.by === "Restart";
}

/** It is for a VM whose migrations have failed too often, and not for one that cannot migrate. */
export function isForFailures({ spec }: EvacuationFacts): boolean {
  return (spec.inherited?.attempts ?? 0) > 0;
}

export function nextOfShutdown(e: EvacuationFacts, f: Facts | undefined, w: EvacuationWorld): Next {
  const { phase } = e.status;
  if (f !== undefined && hasMovedFirst(f)) return moved(f, f.vmi.nodeName);
  if (phase === "Restarting" || phase === "Stopping") return followed(e, f?.vmi, w);
  if (f === undefined || !isLive(f.vmi)) return ended("the VM has ended");
  return notWanted(e, f.vmi) ?? ask(f);
}

/** Also after it was asked for: a migration may have been first. Of a new VMI nothing has moved. */
function hasMovedFirst(f: Facts): boolean {
  const { vmi, e } = f;
  return vmi.uid === (e.status.virtualMachineInstanceUID ?? vmi.uid) && isLive(vmi) && isElsewhere(f);
}

/** What is not to be asked for, for the first time or again. */
function notWanted(e: EvacuationFacts, { liveMigratable }: VmiFacts): Next | undefined {
  if (e.spec.intent === "Withdrawn") return withdrawn("spec.intent is Withdrawn");
  return liveMigratable.migratable && !isForFailures(e) ? withdrawn("the VM can migrate now") : undefined;
}

function withdrawn(message: string): Next {
  return { phase: "Withdrawn", reason: "IntentWithdrawn", message };
}

function ask({ e, vmi }: Facts): Next {
  const message = `KubeVirt is asked to ${isRestart(e) ? "restart the VM, on another node" : "stop the VM"}`;
  const event = recordEvent(vmi, isRestart(e) ? "Restarted" : "Stopped", message, e.uid);
  return { ...asked(e, "Asked", message), after: [event, { verb: "ShutDown", e, vmi }] };
}

function asked(e: EvacuationFacts, reason: string, message: string): Next {
  return { phase: isRestart(e) ? "Restarting" : "Stopping", reason, message };
}

function followed(e: EvacuationFacts, vmi: VmiFacts | undefined, w: EvacuationWorld): Next {
  if (vmi === undefined) return isOff(e);
  if (vmi.uid === e.status.virtualMachineInstanceUID) return isFinal(vmi) ? isOff(e) : stillOn(e, vmi, w);
  return isRestart(e) ? startedAgain(e, vmi) : ended("another party has started the VM again");
}

/** No request of Lifeboat's takes longer, and virt-controller acts within moments. */
const LOST_SECONDS = 60;

function stillOn(e: EvacuationFacts, vmi: VmiFacts, w: EvacuationWorld): Next {
  if (vmi.deleting) return asked(e, "ShuttingDown", "the guest shuts down");
  const { reason = "", message = "", startTime } = e.status;
  if (secondsSince(startTime, w.now) < LOST_SECONDS) return asked(e, reason, message);
  const why = `KubeVirt has not taken it up for ${LOST_SECONDS} s: Lifeboat asks again`;
  return notWanted(e, vmi) ?? { ...asked(e, "NotTaken", why), actions: [{ verb: "ShutDown", e, vmi }] };
}

function isOff(e: EvacuationFacts): Next {
  // What had asked for it has ended meanwhile: nothing else would start a VM that was stopped for it.
  if (e.spec.intent === "Withdrawn") {
    const next = withdrawn(`spec.intent is Withdrawn, and the VM is off${isRestart(e) ? "" : ": it is started again"}`);
    return isRestart(e) ? next : { ...next, actions: [{ verb: "StartVm", evacuation: e }] };
  }
  if (isRestart(e)) return asked(e, "Starting", "the VM is off, and KubeVirt starts it on another node");
  const start = `virtctl start ${e.spec.vmiName} -n ${e.namespace}`;
  const message = `stopped; Lifeboat starts it when its node is schedulable again, and before that: ${start}`;
  return { phase: "Stopped", reason: "Stopped", message };
}

function startedAgain(e: EvacuationFacts, { phase, nodeName }: VmiFacts): Next {
  if (phase !== "Running" || nodeName === undefined) return isOff(e);
  const message = `restarted on node ${nodeName}`;
  return { phase: "Restarted", reason: "Restarted", message, more: { targetNode: nodeName } };
}
