/** The fate of each VM of the node: it moves, may leave now, waits, or cannot leave. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { keyOf } from "../kube/objects.ts";
import type { NodeBlocker, NodeEvacuationSpec, VirtualMachineFacts, WhenBlocked } from "../kube/node-evacuation.ts";
import { byAge, isAbout } from "../evacuation/identity.ts";
import { isForFailures, isShutdown } from "../evacuation/shutdown.ts";
import { remedyOf, remedyOfBlocked } from "../eviction/messages.ts";
import { isMarked } from "../evacuation/mark.ts";
import { FIRST_REQUEST, mobilityOf } from "../eviction/table.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import { secondsSince, secondsUntil } from "../settings/time.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { activeEvacuationOf, boundTo, ownEvacuations, virtualMachineOf } from "./questions.ts";
import type { NodeWorld } from "./world.ts";

/**
 * `Moving`: the VM moves now. `Next`: the VM may leave when a place is free. `Waits`: the VM leaves later, or its
 * controller moves it. `Goes`: an eviction shuts the VM down, because of its eviction strategy. `ShutsDown`: Lifeboat
 * restarts or stops the VM. `Blocked`: a person has to act.
 */
export type Fate = "Moving" | "Next" | "Waits" | "Goes" | "ShutsDown" | "Blocked";

export interface VmView {
  readonly vmi: VmiFacts;
  readonly fate: Fate;
  /** Why the VM does not leave without further action. */
  readonly blocker?: NodeBlocker | undefined;
  /** A budget refuses the VM's restart or stop for now. */
  readonly isKept?: true;
  /** Lifeboat does not end the guest yet, because something else blocks the node. */
  readonly isHeldBack?: true;
  /** How Lifeboat shuts the VM down. */
  readonly way?: "Restart" | "ShutDown";
  /** The VM's active Evacuation, if the phase of this Evacuation is Blocked. */
  readonly evacuation?: EvacuationFacts | undefined;
}

export function viewOf(vmi: VmiFacts, w: NodeWorld): VmView {
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

/** The maximum number of VMs that one NodeEvacuation restarts after failed migrations. */
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
 * Keeps a VM on the node until the time that its owner's annotation names, unless the NodeEvacuation ignores owners'
 * choices.
 */
export function heldByOwner(vmi: VmiFacts, w: NodeWorld): VmView | undefined {
  const { notBefore } = ownersChoices(vmi, w);
  if (secondsUntil(notBefore, w.now) <= 0) return undefined;
  const message = MESSAGES.ownerDelays(notBefore ?? "");
  return { ...blocked(vmi, "NotBefore", message, MESSAGES.ownerDelaysFix), fate: "Waits" };
}

/**
 * Returns how a VM that cannot migrate leaves, by the choice of its owner or of the NodeEvacuation. Undefined: the VM
 * waits, or it can migrate.
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

/** Returns the fate of a VM that can migrate. The VM stays if no other node has what its owner requires. */
function movable(vmi: VmiFacts, w: NodeWorld): VmView {
  const why = boundTo(vmi, w);
  return why === undefined ? mayMove(vmi, w) : staying(vmi, blockerOf(vmi, "BoundToNode", why), w);
}

function staying(vmi: VmiFacts, blocker: NodeBlocker, w: NodeWorld): VmView {
  const way = askedWay(vmi, w) ?? "Wait";
  return way === "Wait" ? { vmi, fate: "Blocked", blocker } : shutDown(vmi, way, blocker, w);
}

/** KubeVirt's `start` restores these run strategies. */
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
  if (held !== undefined) return held;
  return { vmi, fate: "ShutsDown", way, blocker: { ...blocker, message: MESSAGES.shutsDown(blocker.message, way) } };
}

/** Checking the room for a restart is expensive: between ticks the last result is used. */
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
  return isDone ? MESSAGES.alreadyShutDown : undefined;
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
 * By default, Lifeboat requests twice as many migrations as KubeVirt runs at a time, so that KubeVirt's queue is never
 * empty. With a longer queue, pausing the drain or ordering the VMs would have no effect.
 */
const AHEAD = 2;

/** Returns how many VMs may leave now. */
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

/** Returns the key of the VM that the Evacuation is about. */
export function vmOf({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}
