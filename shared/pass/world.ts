/**
 * The facts that reconcilers decide on, whatever was observed: one VMI, some nodes, or the whole cluster.
 * Owns: their sum. Does not own: observing (observe-*.ts), what follows from it (shared/policy).
 */
import type { BudgetWorld } from "../policy/budget/budget.ts";
import type { AnnotationWorld } from "../policy/annotations/descheduler-annotations.ts";
import type { DisruptionWorld } from "../policy/guard/disruption.ts";
import type { EvacuationWorld } from "../policy/evacuation/world.ts";
import type { PressureWorld } from "../policy/pressure/pressure.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & PressureWorld & AnnotationWorld;

/** Where nothing was observed. */
export const NO_WORLD = {
  vmis: [],
  evacuations: [],
  migrations: [],
  budgets: [],
  pods: [],
  nodes: [],
  launchers: [],
  pressured: [],
  takers: [],
  signals: [],
  vmisAreNewer: false,
  complete: false,
} as const satisfies Omit<World, "settings" | "now">;
