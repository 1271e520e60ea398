/** What a reconcile is asked for, and the facts that it decides on. */
import type { AnnotationWorld } from "../annotations/descheduler-annotations.ts";
import type { BudgetWorld } from "../budget/budget.ts";
import type { EvacuationWorld } from "../evacuation/world.ts";
import type { DisruptionWorld } from "../guard/disruption.ts";
import type { PressureWorld } from "../pressure/pressure.ts";
import type { ShieldWorld } from "../shield/shield.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & PressureWorld & ShieldWorld & AnnotationWorld;

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
  shielded: [],
  vmisAreNewer: false,
  complete: false,
} as const satisfies Omit<World, "settings" | "now">;

/** Where something has happened, as an event says. It only says what to reconcile: the world is read anew. */
export type ReconcileRequest =
  | { readonly kind: "VirtualMachineInstance"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Pod"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Node"; readonly name: string }
  /** A kubelet has begun to end this pod; the API does not show it yet. */
  | { readonly kind: "EndingPod"; readonly namespace: string; readonly name: string; readonly by: string };
