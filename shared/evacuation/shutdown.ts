/**
 * Contains the code that asked.ts and start-again.ts share. Their rules restart, stop or start a VM that cannot be
 * migrated. KubeVirt's API checks no precondition of such a request, so Lifeboat checks the preconditions just before
 * each request. Upstream: pkg/virt-api/rest/lifecycle.go, and syncRunStrategy of virt-controller.
 */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { hasEnded, type VirtualMachineFacts } from "../kube/node-evacuation.ts";
import { isFinal } from "../kube/objects.ts";
import { secondsAfter } from "../settings/time.ts";
import type { Asking } from "./asking.ts";
import type { EvacuationCase, EvacuationWorld } from "./world.ts";

export function isShutdown({ spec }: EvacuationFacts): boolean {
  return spec.by === "Restart" || spec.by === "ShutDown";
}

export function isRestart({ spec }: EvacuationFacts): boolean {
  return spec.by === "Restart";
}

/** Returns whether the VM is restarted because its migrations failed too often. */
export function isForFailures({ spec }: EvacuationFacts): boolean {
  return (spec.inherited?.attempts ?? 0) > 0;
}

export function isWithdrawn({ spec }: EvacuationFacts): boolean {
  return spec.intent === "Withdrawn";
}

export function isOff(vmi: VmiFacts | undefined): boolean {
  return vmi === undefined || isFinal(vmi);
}

export interface RequestCase {
  readonly e: EvacuationFacts;
  /** Undefined if the VM has no VMI. */
  readonly f: EvacuationCase | undefined;
  readonly w: EvacuationWorld;
}

export interface Row<Answer> {
  readonly asked: "nothing yet" | "restart" | "stop" | "restart or stop" | "stop, then start";
  /** Describes what has changed since the request. */
  readonly since: string;
  /** Describes Lifeboat's reaction. */
  readonly so: string;
  readonly applies: (q: RequestCase) => boolean;
  readonly answer: (q: RequestCase) => Answer;
}

/**
 * Returns whether KubeVirt has accepted the request to restart or stop the VM, but virt-controller has not acted on it.
 */
export function isPending({ spec }: EvacuationFacts, { runStrategy, isChanging }: VirtualMachineFacts): boolean {
  return isChanging || (runStrategy === "Halted" && spec.runStrategy !== "Halted");
}

export const isSame = ({ e, f }: RequestCase) => f?.vmi.uid === e.status.virtualMachineInstanceUID;
export const isAnother = (q: RequestCase) => q.f !== undefined && !isSame(q);

/**
 * The time in seconds after which an unanswered request is treated as lost. No request of Lifeboat takes longer, and
 * virt-controller acts within moments.
 */
export const LOST_SECONDS = 60;

/** Returns the time at which Lifeboat may repeat the request. */
export function askedUntil({ status: { nextAttemptTime, startTime } }: EvacuationFacts): string | undefined {
  return nextAttemptTime ?? (startTime === undefined ? undefined : secondsAfter(new Date(startTime), LOST_SECONDS));
}

/**
 * Returns whether Lifeboat may still send the request. `judged` is the VMI at the time of the decision. `now` is the
 * VMI just before the request, or undefined if it no longer exists.
 */
export function mayBeAsked(e: EvacuationFacts, judged: VmiFacts, now: VmiFacts | undefined, asking: Asking): boolean {
  const { vm, node, refusal } = asking;
  if (!isWanted(asking) || node === undefined || now === undefined || refusal !== undefined) return false;
  if (vm === undefined || vm.isChanging || vm.runStrategy !== e.spec.runStrategy) return false;
  return isAsJudged(now, judged.uid, node.name) && (!now.liveMigratable.migratable || isForFailures(e));
}

function isWanted({ ne, node }: Asking): boolean {
  if (ne === undefined || hasEnded(ne) || node?.unschedulable !== true) return false;
  return ne.spec.intent !== "Withdrawn" && ne.spec.progress === "Running";
}

function isAsJudged(now: VmiFacts, uid: string, nodeName: string): boolean {
  const isStill = now.uid === uid && now.nodeName === nodeName && !now.deleting && !isFinal(now);
  return isStill && !now.isMigrating && now.decentralized === undefined;
}

/** Returns the VM's run strategy after KubeVirt has stopped the VM. */
export function leftAs({ spec: { runStrategy } }: EvacuationFacts): string | undefined {
  return runStrategy === "Always" ? "Halted" : runStrategy;
}
