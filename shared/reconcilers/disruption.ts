/**
 * The disruption reconciler: what the guard did not see, and what the taint manager gave up on.
 * Owns: plugging the policy into the pass. Does not own: the policy (shared/policy/disruption.ts).
 */
import { planDisruptions } from "../policy/disruption.ts";
import type { Reconciler } from "./reconciler.ts";

export const disruption: Reconciler = { name: "disruption", plan: planDisruptions };
