/** The phases of VMIs and migrations, with the times of their transitions. */
import type { PhaseTransition } from "./resources.ts";

interface Phased {
  phase?: string;
  phaseTransitionTimestamps?: PhaseTransition[];
}

export function enterPhase<S extends Phased>(status: S, phase: string, now: string): S & { phase: string } {
  if (status.phase === phase) return { ...status, phase };
  const transitions = (status.phaseTransitionTimestamps ?? []).filter((transition) => transition.phase !== phase);
  const phaseTransitionTimestamps = [...transitions, { phase, phaseTransitionTimestamp: now }];
  return { ...status, phase, phaseTransitionTimestamps };
}
