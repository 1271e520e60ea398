/**
 * What a reconciler wants done, and when it wants to look again.
 * Owns: the shape that all reconcilers share. Does not own: performing it (shared/reconcilers).
 */
import type { Action } from "./action.ts";

/**
 * Chains of actions: each is performed in order and ends at its first conflict, none depends on another.
 * `requeueAfterSeconds`: when to look again; absent: when somebody acts.
 */
export interface Plan {
  readonly chains: readonly (readonly Action[])[];
  readonly requeueAfterSeconds?: number;
}
