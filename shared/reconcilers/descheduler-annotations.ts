/**
 * The descheduler annotations reconciler: launcher pods say that they are to be asked only, and that they are on their way.
 * Owns: plugging the policy into the pass. Does not own: the policy (shared/policy/descheduler-annotations.ts).
 */
import { planAnnotations } from "../policy/descheduler-annotations.ts";
import type { Reconciler } from "./reconciler.ts";

export const deschedulerAnnotations: Reconciler = { name: "annotations", plan: planAnnotations };
