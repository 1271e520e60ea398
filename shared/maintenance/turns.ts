/** Decides which VMs leave the node next. A VM leaves by a migration, a restart or a stop. */
import type { Action } from "../kube/action.ts";
import { each, takeInOrder, together } from "../facts/facts.ts";
import { evacuationsOf } from "../facts/questions.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { activeEvacuation, newEvacuation } from "../evacuation/identity.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { isShutdownDue } from "./blockers.ts";
import { isRestarting, isRunning } from "./held-back.ts";
import { virtualMachineOf } from "./questions.ts";
import { heldByBlocked, heldByOwner, placesFree, type VmView } from "./vms.ts";
import type { NodeWorld } from "./world.ts";

export interface Turns {
  readonly views: readonly VmView[];
  readonly starts: readonly Action[];
}

export function turnsOf(views: readonly VmView[], w: NodeWorld): Turns {
  if (!isRunning(w)) return { views, starts: [] };
  const [moves, ends] = together(
    () => movesOf(views, w),
    () => endsOf(views, w),
  );
  return { views: moves.views, starts: [...moves.starts, ...ends] };
}

/**
 * Starts migrations up to the allowed number. Skips a VM if its owner delays it, or if another party's Evacuation of
 * the VM is Blocked.
 */
function movesOf(views: readonly VmView[], w: NodeWorld): Turns {
  const staying = new Map<VmView, VmView>();
  const started = takeInOrder(
    views.filter(({ fate }) => fate === "Next"),
    placesFree(views, w),
    (view) => {
      const held = heldByOwner(view.vmi, w) ?? heldByEvacuation(view.vmi, w);
      if (held === undefined) return moveOf(view.vmi, w);
      staying.set(view, held);
      return undefined;
    },
  );
  return { views: views.map((view) => staying.get(view) ?? view), starts: started.flat() };
}

/** Returns the state of a VM whose active Evacuation is Blocked. Such a VM does not count as moving. */
function heldByEvacuation(vmi: VmiFacts, w: NodeWorld): VmView | undefined {
  const active = activeEvacuation(vmi, evacuationsOf(vmi, w.facts));
  return active?.status.phase === "Blocked" ? heldByBlocked(vmi, active) : undefined;
}

function moveOf(vmi: VmiFacts, w: NodeWorld): readonly Action[] {
  const evacuations = evacuationsOf(vmi, w.facts);
  return activeEvacuation(vmi, evacuations) === undefined ? [create(vmi, evacuations, {}, w)] : [];
}

function endsOf(views: readonly VmView[], w: NodeWorld): readonly Action[] {
  const due = views.filter((view) => isShutdownDue(view, w));
  const stops = due.filter(({ way }) => way === "ShutDown");
  const restarts = isRestarting(w) ? [] : due.filter(({ way }) => way === "Restart").slice(0, 1);
  return each([...stops, ...restarts], (view) => endOf(view, w)).flat();
}

function endOf(view: VmView, w: NodeWorld): readonly Action[] {
  const evacuations = evacuationsOf(view.vmi, w.facts);
  if (evacuations.some((e) => isActive(e) && isShutdown(e))) return [];
  // A pod has at most one active Evacuation. Before Lifeboat shuts the VM down, it withdraws the Evacuation that should
  // migrate the VM.
  if (view.evacuation !== undefined) return [{ verb: "WithdrawEvacuation", evacuation: view.evacuation }];
  const runStrategy = virtualMachineOf(view.vmi, w)?.runStrategy;
  return [create(view.vmi, evacuations, { by: view.way, runStrategy, inherited: inheritedOf(view, evacuations) }, w)];
}

function inheritedOf({ blocker }: VmView, evacuations: readonly EvacuationFacts[]) {
  if (blocker?.reason !== "Abandoned" && blocker?.reason !== "BoundToNode") return undefined;
  const failed = evacuations.filter((e) => e.status.phase === "Abandoned").map(({ status }) => status.attempts);
  return { attempts: Math.max(1, ...failed) };
}

type Own = Pick<EvacuationFacts["spec"], "by" | "runStrategy" | "inherited">;

function create(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], own: Own, { ne, now }: NodeWorld): Action {
  const asked = { cause: "NodeEvacuation", requestedBy: `NodeEvacuation ${ne.name}` } as const;
  const evacuation = newEvacuation(vmi, asked, { evacuations, now });
  const part = { nodeEvacuation: { name: ne.name, uid: ne.uid }, ...own };
  return { verb: "CreateEvacuation", evacuation: { ...evacuation, spec: { ...evacuation.spec, ...part } } };
}
