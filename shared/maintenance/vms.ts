/** Decides for each VM of the node whether it is moving, leaves next, waits, or cannot leave. */
import { unlessFailed } from "../facts/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { isOddObject } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import type { NodeBlocker, NodeEvacuationSpec, VirtualMachineFacts, WhenBlocked } from "../kube/node-evacuation.ts";
import { byAge, isAbout } from "../evacuation/identity.ts";
import { isForFailures, isShutdown } from "../evacuation/shutdown.ts";
import { remedyOf, remedyOfBlocked } from "../eviction/messages.ts";
import { isMarked } from "../evacuation/mark.ts";
import { FIRST_REQUEST, mobilityOf } from "../eviction/table.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import { hasCome, secondsSince, secondsUntil } from "../settings/time.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { activeEvacuationOf, boundTo, oddEvacuations, ownEvacuations, virtualMachineOf } from "./questions.ts";
import type { NodeWorld } from "./world.ts";

/**
 * The next step for a VM. `Moving`: the VM is moving. `Next`: the VM leaves when fewer VMs than allowed are moving.
 * `Waits`: the VM leaves later, or its external controller moves it. `Goes`: an eviction shuts the VM down, because of
 * its eviction strategy. `ShutsDown`: Lifeboat restarts or stops the VM. `Blocked`: a person has to act.
 */
export type Fate = "Moving" | "Next" | "Waits" | "Goes" | "ShutsDown" | "Blocked";

export interface VmView {
  readonly vmi: VmiFacts;
  readonly fate: Fate;
  readonly blocker?: NodeBlocker | undefined;
  /** True if a PodDisruptionBudget currently refuses the restart or stop of the VM. */
  readonly isKept?: true;
  /** True if Lifeboat does not shut the guest down yet, because something else blocks the drain. */
  readonly isHeldBack?: true;
  readonly way?: "Restart" | "ShutDown";
  /** The VM's active Evacuation, if its phase is Blocked. */
  readonly evacuation?: EvacuationFacts | undefined;
}

export function viewOf(vmi: VmiFacts, w: NodeWorld): VmView {
  return unlessOddVm(vmi, () => nextStep(vmi, w));
}

/** Returns a Blocked view if the VirtualMachine cannot be parsed. */
function unlessOddVm<T>(vmi: VmiFacts, ask: () => T): T | VmView {
  return unlessFailed(ask, (failed) => {
    if (!isOddObject(failed.failure)) throw failed;
    return blocked(vmi, "Unreadable", MESSAGES.unreadable("VirtualMachine", failed.failure.issue));
  });
}

function nextStep(vmi: VmiFacts, w: NodeWorld): VmView {
  const active = activeEvacuationOf(vmi, w);
  if (active !== undefined && active.status.phase !== "Blocked") return onItsWay(vmi, active, w);
  if (vmi.decentralized === "Sends")
    return { ...blocked(vmi, "DecentralizedMigration", MESSAGES.isSent), fate: "Waits" };
  if (active === undefined && (isMarked(vmi) || vmi.isMigrating)) return { vmi, fate: "Moving" };
  const resolved = resolveStrategy(vmi, w.settings);
  if (!resolved.known) {
    return blocked(vmi, "UnknownStrategy", MESSAGES.unknownStrategy(resolved.field, resolved.value.slice(0, 64)));
  }
  switch (FIRST_REQUEST[resolved.strategy][mobilityOf(vmi)]) {
    case "evacuate":
      return active === undefined ? movable(vmi, w) : heldByBlocked(vmi, active);
    case "refuse":
      return { ...pinned(vmi, w), evacuation: active };
    case "allow":
    case "shutdown":
      return { ...endedByEviction(vmi, w), evacuation: active };
  }
}

function endedByEviction(vmi: VmiFacts, w: NodeWorld): VmView {
  if (wayOf(vmi, w) !== undefined) return pinned(vmi, w);
  return heldByOwner(vmi, w) ?? { vmi, fate: "Goes" };
}

function isOf(e: EvacuationFacts, { namespace, name }: NamespacedName): boolean {
  return e.namespace === namespace && e.spec.vmiName === name;
}

export const OVERDUE_SECONDS = 300;

function onItsWay(vmi: VmiFacts, e: EvacuationFacts, { now }: NodeWorld): VmView {
  const { phase, reason = "", message = "", startTime } = e.status;
  if (phase === "BackingOff") return { vmi, fate: "Waits" };
  if (phase === "WaitingForExternalController") return { ...blocked(vmi, "External", message), fate: "Waits" };
  const isOverdue = isShutdown(e) && secondsSince(startTime, now) >= OVERDUE_SECONDS;
  return { vmi, fate: "Moving", ...(isOverdue && { blocker: blockerOf(vmi, reason, message) }) };
}

export function heldByBlocked(vmi: VmiFacts, { status: { reason = "", message = "" } }: EvacuationFacts): VmView {
  return blocked(vmi, reason, message, remedyOfBlocked(reason));
}

/** The maximum number of VMs that one NodeEvacuation restarts because their migrations failed. */
const MOST_FOR_FAILURES = 2;

function mayMove(vmi: VmiFacts, w: NodeWorld): VmView {
  const evacuations = ownEvacuations(w);
  const last = evacuations
    .filter((e) => !isShutdown(e) && isOf(e, vmi) && isAbout(e, vmi))
    .toSorted(byAge)
    .at(-1);
  const { phase, message = "", nextAttemptTime } = last?.status ?? {};
  const restarts = evacuations.filter((e) => isShutdown(e) && isForFailures(e)).length;
  const isFailed = phase === "Abandoned";
  if (isFailed && w.ne.spec.virtualMachines.whenAttemptsFail === "Restart" && restarts < MOST_FOR_FAILURES) {
    return shutDown(vmi, "Restart", blockerOf(vmi, "Abandoned", message), w);
  }
  if (secondsUntil(nextAttemptTime, w.now) === 0) return { vmi, fate: "Next" };
  return isFailed ? blocked(vmi, "Abandoned", message) : { vmi, fate: "Waits" };
}

/**
 * Returns the fate `Waits` if the time in the owner's annotation has not come. If the annotation is not a time, the VM
 * waits forever. Returns undefined if the NodeEvacuation ignores owners' choices. Returns the fate `Blocked` if the
 * VirtualMachine cannot be parsed.
 */
export function heldByOwner(vmi: VmiFacts, w: NodeWorld): VmView | undefined {
  return unlessOddVm(vmi, () => delayedByOwner(vmi, w));
}

function delayedByOwner(vmi: VmiFacts, w: NodeWorld): VmView | undefined {
  const { notBefore } = ownersChoices(vmi, w);
  if (notBefore === undefined || hasCome(notBefore, w.now)) return undefined;
  const message = MESSAGES.ownerDelays(notBefore);
  return { ...blocked(vmi, "NotBefore", message, MESSAGES.ownerDelaysFix), fate: "Waits" };
}

/**
 * Returns how to shut down a VM that cannot migrate, as chosen by its owner or the NodeEvacuation. Returns undefined if
 * the VM waits or can migrate.
 */
function wayOf(vmi: VmiFacts, w: NodeWorld): WhenBlocked | undefined {
  return vmi.liveMigratable.migratable ? undefined : askedWay(vmi, w);
}

function askedWay(vmi: VmiFacts, w: NodeWorld): WhenBlocked | undefined {
  const { whenBlocked } = w.ne.spec.virtualMachines;
  return ownersChoices(vmi, w).whenBlocked ?? (whenBlocked === "Wait" ? undefined : whenBlocked);
}

function ownersChoices(vmi: VmiFacts, w: NodeWorld): Partial<VirtualMachineFacts> {
  return w.ne.spec.virtualMachines.ownersChoice === "Respected" ? (virtualMachineOf(vmi, w) ?? {}) : {};
}

function pinned(vmi: VmiFacts, w: NodeWorld): VmView {
  return staying(vmi, blockerOf(vmi, "NotMigratable", MESSAGES.cannotMigrate(vmi)), w);
}

function movable(vmi: VmiFacts, w: NodeWorld): VmView {
  const why = boundTo(vmi, w);
  return why === undefined ? mayMove(vmi, w) : staying(vmi, blockerOf(vmi, "BoundToNode", why), w);
}

function staying(vmi: VmiFacts, blocker: NodeBlocker, w: NodeWorld): VmView {
  const way = askedWay(vmi, w) ?? "Wait";
  return way === "Wait" ? { vmi, fate: "Blocked", blocker } : shutDown(vmi, way, blocker, w);
}

/**
 * Lifeboat restarts or stops only VMs with these run strategies, because KubeVirt's subresource `start` restores the
 * run strategy after a stop.
 */
const RESTARTABLE: readonly string[] = ["Always", "Manual", "RerunOnFailure"];
const ASKED: readonly unknown[] = ["Restarting", "Stopping", "Restarted", "Stopped"];

function shutDown(vmi: VmiFacts, way: "Restart" | "ShutDown", blocker: NodeBlocker, w: NodeWorld): VmView {
  const why = whyNot(vmi, w);
  if (why !== undefined) {
    return { vmi, fate: "Blocked", blocker: { ...blocker, message: MESSAGES.staysBecause(blocker.message, why) } };
  }
  const obstacle = way === "Restart" ? knownObstacle(vmi, w) : undefined;
  if (obstacle !== undefined) return withoutRoom(vmi, obstacle);
  const held = heldByOwner(vmi, w);
  if (held !== undefined) return { ...held, way };
  return { vmi, fate: "ShutsDown", way, blocker: { ...blocker, message: MESSAGES.shutsDown(blocker.message, way) } };
}

/**
 * It is expensive to check whether a restarted VM fits on another node. Lifeboat does it once a minute, and otherwise
 * uses the last result.
 */
function knownObstacle(vmi: VmiFacts, { ne, isThorough }: NodeWorld): string | undefined {
  const isIts = (one: NodeBlocker) => one.reason === "NoRestart" && keyOf(one) === keyOf(vmi);
  return isThorough ? undefined : ne.status.blockers.find(isIts)?.message;
}

export function withoutRoom(vmi: VmiFacts, why: string): VmView {
  return blocked(vmi, "NoRestart", why, remedyOf("NoRoom"));
}

function whyNot(vmi: VmiFacts, w: NodeWorld): string | undefined {
  const vm = virtualMachineOf(vmi, w);
  if (vm === undefined) return MESSAGES.noVirtualMachine;
  if (!RESTARTABLE.includes(vm.runStrategy)) return MESSAGES.notRestartable(vm.runStrategy);
  const isDone = ownEvacuations(w).some((e) => isShutdown(e) && isOf(e, vmi) && ASKED.includes(e.status.phase));
  if (isDone) return MESSAGES.alreadyShutDown;
  // An Evacuation that cannot be parsed might have shut down this guest, or might be shutting down another guest.
  const [odd] = oddEvacuations(w);
  return odd === undefined ? undefined : MESSAGES.maybeShutDown(odd);
}

export function blocked(vmi: VmiFacts, reason: string, message: string, whoCanFix?: string): VmView {
  return { vmi, fate: "Blocked", blocker: blockerOf(vmi, reason, message, whoCanFix) };
}

export function blockerOf(
  { namespace, name, uid }: NamespacedName & { readonly uid?: string },
  reason: string,
  message: string,
  whoCanFix: string | undefined = remedyOf(reason),
): NodeBlocker {
  return {
    namespace,
    name,
    ...(uid !== undefined && { uid }),
    reason,
    message,
    ...(whoCanFix !== undefined && { whoCanFix }),
  };
}

/**
 * By default, Lifeboat requests twice as many migrations as KubeVirt runs at the same time from one node. KubeVirt's
 * queue is then never empty. With a longer queue, a pause would stop few migrations, and KubeVirt instead of Lifeboat
 * would decide the order of the VMs.
 */
const AHEAD = 2;

export function placesFree(views: readonly VmView[], { ne, settings }: Pick<NodeWorld, "ne" | "settings">): number {
  const most = ne.spec.virtualMachines.concurrency ?? settings.limits.parallelOutboundMigrationsPerNode * AHEAD;
  return Math.max(0, most - views.filter(({ fate }) => fate === "Moving").length);
}

export function inOrder(
  vmis: readonly VmiFacts[],
  order: NodeEvacuationSpec["virtualMachines"]["order"],
  priorities: ReadonlyMap<string, number>,
): readonly VmiFacts[] {
  const priority = (vmi: VmiFacts) => (order === "ByPriority" ? (priorities.get(keyOf(vmi)) ?? 0) : 0);
  const size = ({ guestMemory = 0 }: VmiFacts) => (order === "LargestFirst" ? -guestMemory : guestMemory);
  return vmis.toSorted((a, b) => priority(a) - priority(b) || size(a) - size(b) || (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** Returns the key of the VM to which the Evacuation belongs. */
export function vmOf({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}
