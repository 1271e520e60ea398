/** Decides what to do for one VMI, with its Evacuations, PodDisruptionBudget and pods. */
import { deschedulerSupport } from "../annotations/feature.ts";
import { areBudgetsWanted, isBudgetDue, ownBudget, planBudgets } from "../budget/budget.ts";
import { planEvacuations } from "../evacuation/plan.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { type EvacuationWorld, isPodDecisive } from "../evacuation/world.ts";
import { together, type View } from "../facts/facts.ts";
import { evacuationsOf, migrationsOf, podsOf } from "../facts/questions.ts";
import { guard } from "../guard/feature.ts";
import { type EvacuationFacts, isActive, isUnfinished } from "../kube/evacuation.ts";
import type { LauncherFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import { Launcher } from "../kube/schemas/kubernetes.ts";
import { selectLaunchersOf } from "../kube/selections.ts";
import { isFeatureOn } from "../settings/feature.ts";
import type { Deciding } from "../settings/time.ts";
import type { Plan, Plans } from "../kube/action.ts";

export interface VmiDecision {
  readonly evacuations: readonly EvacuationFacts[];
  readonly plans: Plans;
}

interface Subject extends Deciding {
  readonly vmi: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  /** Pods of the VMI for which an event has arrived. */
  readonly named: readonly PodFacts[];
}

/**
 * Decides what to do for a VMI. Reads the Evacuations before the VMI. If an Evacuation has the condition Marked and the
 * VMI has no evacuationNodeName, somebody has therefore removed the evacuationNodeName.
 */
export function decideOnVmi(
  key: NamespacedName,
  named: readonly PodFacts[],
  w: Omit<EvacuationWorld, "vmis" | "evacuations">,
): VmiDecision {
  const evacuations = evacuationsOf(key, w.facts);
  const isMoving = evacuations.some((e) => isUnfinished(e) && !isShutdown(e));
  const [vmi] = together(
    () => w.facts.get("virtualmachineinstances", key),
    () => (isMoving ? migrationsOf(key, w.facts) : []),
  );
  const subject: Subject = { ...w, vmi, evacuations, named };
  const plans = together(
    () => ({ name: guard.name, ...disruptionOf(subject) }),
    () => ({ name: deschedulerSupport.name, ...annotationsOf(subject) }),
    () => ({ name: "budget", ...budgetOf(subject) }),
    () => ({ name: "evacuation", ...planEvacuations({ ...w, vmis: vmisOf(subject), evacuations }) }),
  );
  return { evacuations, plans };
}

const NOTHING: Plan = { chains: [] };

function vmisOf({ vmi }: Subject): readonly VmiFacts[] {
  return vmi === undefined ? [] : [vmi];
}

/** Plans how to handle the VMI's disruption. Also respects the deadlines of Evacuations that ended as Duplicate. */
function disruptionOf(subject: Subject): Plan {
  const { vmi, evacuations, named, settings, now, facts } = subject;
  const continuing = evacuations.filter((e) => isActive(e) || e.status.phase === "Duplicate");
  const isAsked = vmi !== undefined && continuing.some((e) => isPodDecisive(e, now));
  if (!isAsked && named.length === 0) return NOTHING;
  const own = isAsked ? podsOf(vmi, facts) : [];
  const pods = [...new Map([...named, ...own].map((pod) => [pod.uid, pod])).values()];
  return guard.plan({ settings, now, facts, vmis: vmisOf(subject), evacuations, pods });
}

function budgetOf(subject: Subject): Plan {
  const { vmi, evacuations, settings, now, facts } = subject;
  if (vmi === undefined || !areBudgetsWanted(settings) || !isBudgetDue(evacuations)) return NOTHING;
  const [migrations, budget] = together(
    () => (evacuations.some(isUnfinished) ? migrationsOf(vmi, facts) : []),
    () => ownBudget(vmi, facts),
  );
  const budgets = budget === undefined ? [] : [budget];
  return planBudgets({ settings, now, vmis: [vmi], evacuations, migrations, budgets, complete: false });
}

const LAUNCHERS: View<LauncherFacts> = { resource: "pods", name: "Launcher", schema: () => Launcher };

function annotationsOf(subject: Subject): Plan {
  const { vmi, evacuations, settings, now, facts } = subject;
  if (vmi === undefined || !isFeatureOn(deschedulerSupport, settings)) return NOTHING;
  const launchers = facts.readable(LAUNCHERS, selectLaunchersOf(vmi)).items;
  return deschedulerSupport.plan({ settings, now, vmis: [vmi], launchers, evacuations });
}
