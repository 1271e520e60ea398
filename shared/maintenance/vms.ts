/** What becomes of each VM of the node: whether it is on its way, may leave now, waits, or cannot leave. */
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { keyOf } from "../kube/objects.ts";
import type { NodeBlocker, NodeEvacuationSpec, WhenBlocked } from "../kube/node-evacuation.ts";
import { byAge, isAbout } from "../evacuation/identity.ts";
import { isForFailures, isShutdown } from "../evacuation/shutdown.ts";
import { pinnedBecause, remedyOf, remedyOfBlocked } from "../eviction/messages.ts";
import { isMarked } from "../evacuation/mark.ts";
import { FIRST_REQUEST, mobilityOf } from "../eviction/table.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import { secondsSince, secondsUntil, withoutFractions } from "../settings/time.ts";
import type { NodeWorld, VmFacts } from "./world.ts";

/**
 * `Moving`: on its way. `Next`: it may leave when a place is free. `Waits`: it leaves later, or its controller moves it. `Goes`: its
 * eviction shuts it down, as its strategy says. `ShutsDown`: to be restarted or stopped. `Blocked`: it needs action.
 */
export type Fate = "Moving" | "Next" | "Waits" | "Goes" | "ShutsDown" | "Blocked";

export interface VmView {
  readonly vmi: VmiFacts;
  readonly fate: Fate;
  /** Of one that does not leave by itself. */
  readonly blocker?: NodeBlocker | undefined;
  /** Its guest would end, and something else blocks the node. */
  readonly isHeldBack?: true;
  /** How it is shut down. */
  readonly way?: "Restart" | "ShutDown";
  /** Its active one, if that is Blocked. */
  readonly evacuation?: EvacuationFacts | undefined;
}

const IS_SENT = "it is being sent to another namespace or cluster";

type Seen = Pick<
  NodeWorld,
  "ne" | "evacuations" | "others" | "vms" | "obstacles" | "bound" | "kept" | "settings" | "now"
>;

export function viewOf(vmi: VmiFacts, w: Seen): VmView {
  const active = [...w.evacuations, ...w.others].find((e) => isActive(e) && isOf(e, vmi));
  if (active !== undefined && active.status.phase !== "Blocked") return onItsWay(vmi, active, w);
  if (vmi.decentralized === "Sends") return { ...blocked(vmi, "DecentralizedMigration", IS_SENT), fate: "Waits" };
  if (active === undefined && (isMarked(vmi) || vmi.isMigrating)) return { vmi, fate: "Moving" };
  const resolved = resolveStrategy(vmi, w.settings);
  if (!resolved.known) return blocked(vmi, "UnknownStrategy", `${resolved.field} is "${resolved.value.slice(0, 64)}"`);
  switch (FIRST_REQUEST[resolved.strategy][mobilityOf(vmi)]) {
    case "evacuate":
      return active === undefined ? movable(vmi, w) : heldBy(vmi, active);
    case "refuse":
      return { ...pinned(vmi, w), evacuation: active };
    case "allow":
    case "shutdown":
      return { ...endedByEviction(vmi, w), evacuation: active };
  }
}

function endedByEviction(vmi: VmiFacts, w: Seen): VmView {
  if (wayOf(vmi, w) !== undefined) return pinned(vmi, w);
  return heldByOwner(vmi, w) ?? { vmi, fate: "Goes" };
}

function isOf(e: EvacuationFacts, { namespace, name }: NamespacedName): boolean {
  return e.namespace === namespace && e.spec.vmiName === name;
}

/** Longer than a guest takes to shut down, most often. */
export const OVERDUE_SECONDS = 300;

function onItsWay(vmi: VmiFacts, e: EvacuationFacts, { now }: Seen): VmView {
  const { phase, reason = "", message = "", startTime } = e.status;
  if (phase === "BackingOff") return { vmi, fate: "Waits" };
  if (phase === "WaitingForExternalController") return { ...blocked(vmi, "External", message), fate: "Waits" };
  const isOverdue = isShutdown(e) && secondsSince(startTime, now) >= OVERDUE_SECONDS;
  return { vmi, fate: "Moving", ...(isOverdue && { blocker: blockerOf(vmi, reason, message) }) };
}

function heldBy(vmi: VmiFacts, { status: { reason = "", message = "" } }: EvacuationFacts): VmView {
  return blocked(vmi, reason, message, remedyOfBlocked(reason));
}

/** Of restarts because migrations failed: a common cause must not reboot every VM of a node. */
const MOST_FOR_FAILURES = 2;

function mayMove(vmi: VmiFacts, w: Seen): VmView {
  const last = w.evacuations
    .filter((e) => !isShutdown(e) && isOf(e, vmi) && isAbout(e, vmi))
    .toSorted(byAge)
    .at(-1);
  const { phase, message = "", nextAttemptTime } = last?.status ?? {};
  const restarts = w.evacuations.filter((e) => isShutdown(e) && isForFailures(e)).length;
  const isFailed = phase === "Abandoned";
  if (isFailed && w.ne.spec.virtualMachines.whenAttemptsFail === "Restart" && restarts < MOST_FOR_FAILURES) {
    return shutDown(vmi, "Restart", blockerOf(vmi, "Abandoned", message), w);
  }
  if (secondsUntil(nextAttemptTime, w.now) === 0) return heldByOwner(vmi, w) ?? { vmi, fate: "Next" };
  return isFailed ? blocked(vmi, "Abandoned", message) : { vmi, fate: "Waits" };
}

function heldByOwner(vmi: VmiFacts, w: Seen): VmView | undefined {
  const until = heldUntil(w.vms.get(keyOf(vmi)), w.ne.spec, w.now);
  if (until === undefined) return undefined;
  const message = `its owner wants it to stay until ${until}`;
  return { ...blocked(vmi, "NotBefore", message, "its owner: annotation lifeboat.dev/not-before"), fate: "Waits" };
}

/** What is to become of a VM that cannot migrate; undefined: nothing has been said, or it can, and its strategy counts. */
function wayOf(vmi: VmiFacts, w: Pick<Seen, "ne" | "vms">): WhenBlocked | undefined {
  return vmi.liveMigratable.migratable ? undefined : askedWay(vmi, w);
}

function askedWay(vmi: VmiFacts, { ne, vms }: Pick<Seen, "ne" | "vms">): WhenBlocked | undefined {
  const { ownersChoice, whenBlocked } = ne.spec.virtualMachines;
  const vm = vms.get(keyOf(vmi));
  const own = ownersChoice === "Respected" && vm !== undefined && vm !== "None" ? vm.whenBlocked : undefined;
  return own ?? (whenBlocked === "Wait" ? undefined : whenBlocked);
}

function pinned(vmi: VmiFacts, w: Seen): VmView {
  return staying(vmi, blockerOf(vmi, "NotMigratable", `it cannot migrate: ${pinnedBecause(vmi)}`), w);
}

/** Unless its owner asks for what no other node has. */
function movable(vmi: VmiFacts, w: Seen): VmView {
  const why = w.bound.get(keyOf(vmi));
  return why === undefined ? mayMove(vmi, w) : staying(vmi, blockerOf(vmi, "BoundToNode", why), w);
}

function staying(vmi: VmiFacts, blocker: NodeBlocker, w: Seen): VmView {
  const way = askedWay(vmi, w) ?? "Wait";
  return way === "Wait" ? { vmi, fate: "Blocked", blocker } : shutDown(vmi, way, blocker, w);
}

/** `start` gives these the run strategy back that they had. */
const RESTARTABLE: readonly string[] = ["Always", "Manual", "RerunOnFailure"];
const ASKED: readonly unknown[] = ["Restarting", "Stopping", "Restarted", "Stopped"];

function shutDown(vmi: VmiFacts, way: "Restart" | "ShutDown", blocker: NodeBlocker, w: Seen): VmView {
  const vm = w.vms.get(keyOf(vmi)) ?? "NotRead";
  const why = whyNot(vmi, vm, w);
  const stays: NodeBlocker = { ...blocker, message: `${blocker.message}; ${why}` };
  if (why !== undefined) return { vmi, fate: "Blocked", blocker: stays };
  const obstacle = way === "Restart" ? w.obstacles.get(keyOf(vmi)) : undefined;
  if (obstacle !== undefined) return blocked(vmi, "NoRestart", obstacle, remedyOf("NoRoom"));
  const held = heldByOwner(vmi, w) ?? keptByBudget(vmi, w);
  if (held !== undefined) return held;
  const message = `${blocker.message}; Lifeboat ${way === "Restart" ? "restarts" : "stops"} it`;
  return { vmi, fate: "ShutsDown", way, blocker: { ...blocker, message } };
}

/** As its eviction would be. */
function keptByBudget(vmi: VmiFacts, { kept }: Seen): VmView | undefined {
  const refusal = kept.get(keyOf(vmi));
  return refusal && blocked(vmi, refusal.reason, refusal.message);
}

function whyNot(vmi: VmiFacts, vm: VmFacts | "None" | "NotRead", w: Seen): string | undefined {
  if (vm === "NotRead") return "others come first";
  if (vm === "None") return "it has no VirtualMachine, which KubeVirt could restart or stop";
  if (!RESTARTABLE.includes(vm.runStrategy)) return `its run strategy is ${vm.runStrategy}: it would not start again`;
  const isDone = w.evacuations.some((e) => isShutdown(e) && isOf(e, vmi) && ASKED.includes(e.status.phase));
  return isDone ? "this NodeEvacuation has restarted or stopped it once" : undefined;
}

function blocked(vmi: VmiFacts, reason: string, message: string, whoCanFix?: string): VmView {
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

/** Whether its owner's wishes are known, if they count. */
export function isHeard(vmi: VmiFacts, { ne, vms }: Pick<Seen, "ne" | "vms">): boolean {
  return ne.spec.virtualMachines.ownersChoice === "Ignored" || vms.has(keyOf(vmi));
}

/** Until when the owner wants the VM to stay, if that is not over. */
export function heldUntil(vm: VmFacts | "None" | undefined, spec: NodeEvacuationSpec, now: Date) {
  if (vm === undefined || vm === "None" || spec.virtualMachines.ownersChoice === "Ignored") return undefined;
  return secondsUntil(vm.notBefore, now) > 0 ? withoutFractions(vm.notBefore ?? "") : undefined;
}

/** KubeVirt's queue has the next ones before the first have left; more than that could not be paused, nor be in an order. */
const AHEAD = 2;

/** How many may leave now. */
export function placesFree(views: readonly VmView[], { ne, settings }: Pick<NodeWorld, "ne" | "settings">): number {
  const most = ne.spec.virtualMachines.concurrency ?? settings.limits.parallelOutboundMigrationsPerNode * AHEAD;
  return Math.max(0, most - views.filter(({ fate }) => fate === "Moving").length);
}

export type Priorities = ReadonlyMap<string, number>;

export function inOrder(
  vmis: readonly VmiFacts[],
  order: NodeEvacuationSpec["virtualMachines"]["order"],
  priorities: Priorities,
): readonly VmiFacts[] {
  const priority = (vmi: VmiFacts) => (order === "ByPriority" ? (priorities.get(keyOf(vmi)) ?? 0) : 0);
  const size = ({ guestMemory = 0 }: VmiFacts) => (order === "LargestFirst" ? -guestMemory : guestMemory);
  return vmis.toSorted((a, b) => priority(a) - priority(b) || size(a) - size(b) || (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The key of the VM that it is about. */
export function vmOf({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}
