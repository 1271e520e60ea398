/**
 * The shape of a reconciler: one concern, one pure plan for an observed world; and which of them look at what.
 *
 * What is urgent is marked first, and budgets grow before migrations are created.
 */
import type { Action, Plan } from "../policy/action.ts";
import { planBudgets } from "../policy/budget/budget.ts";
import { planAnnotations } from "../policy/annotations/descheduler-annotations.ts";
import { planDisruptions } from "../policy/guard/disruption.ts";
import { planBeginnings, planEvacuations } from "../policy/evacuation/evacuation.ts";
import { refusedMigration } from "../policy/evacuation/ends.ts";
import { planHistory } from "../policy/evacuation/history.ts";
import { planPressure } from "../policy/pressure/pressure.ts";
import { planShield } from "../policy/shield/shield.ts";
import type { World } from "./world.ts";

export interface Reconciler {
  readonly name: string;
  /** Pure: what to do in this world. */
  plan(world: World): Plan;
  /** Pure: what to do about an action that was refused for good, by KubeVirt's admission or whatever stands before it. */
  refused?(action: Action, world: World): readonly Action[];
}

const evacuation: Reconciler = {
  name: "evacuation",
  plan: planEvacuations,
  refused: (action, world) =>
    action.verb === "CreateMigration" ? refusedMigration(action.evacuation, action.vmi, world) : [],
};
const budget: Reconciler = { name: "budget", plan: planBudgets };
const annotations: Reconciler = { name: "annotations", plan: planAnnotations };
const disruption: Reconciler = { name: "disruption", plan: planDisruptions };
const pressure: Reconciler = { name: "pressure", plan: planPressure };
const shield: Reconciler = { name: "shield", plan: planShield };
const beginnings: Reconciler = { name: "evacuation", plan: planBeginnings };
const history: Reconciler = { name: "history", plan: planHistory };

export const OF_A_VMI: readonly Reconciler[] = [disruption, budget, annotations, evacuation];
export const OF_NODES: readonly Reconciler[] = [shield, pressure, beginnings];
export const OF_SHIELDED: readonly Reconciler[] = [shield];
export const OF_ALL: readonly Reconciler[] = [shield, pressure, budget, annotations, beginnings, history];
