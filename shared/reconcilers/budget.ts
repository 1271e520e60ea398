/**
 * The disruption budget reconciler: what must not be evicted is protected by a budget of the right size.
 * Owns: plugging the policy into the pass. Does not own: the policy (shared/policy/budget.ts).
 */
import { planBudgets } from "../policy/budget.ts";
import type { Reconciler } from "./reconciler.ts";

export const budget: Reconciler = { name: "budget", plan: planBudgets };
