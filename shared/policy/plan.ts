/**
 * What a reconciler wants done.
 * Owns: the shape that all reconcilers share. Does not own: performing it (shared/pass).
 */
import type { Action } from "./action.ts";

/**
 * Chains of actions: each is performed in order and ends at its first conflict, none depends on another.
 * `again`: what is done now has consequences that another look finds at once.
 */
export interface Plan {
  readonly chains: readonly (readonly Action[])[];
  readonly again?: boolean;
}
