/**
 * The node pressure reconciler: VMs leave a node before its kubelet kills them.
 * Owns: plugging the policy into the pass. Does not own: the policy (shared/policy/pressure.ts).
 */
import { planPressure } from "../policy/pressure.ts";
import type { Reconciler } from "./reconciler.ts";

export const pressure: Reconciler = { name: "pressure", plan: planPressure };
