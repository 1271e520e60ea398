/**
 * How migrations go in this sandbox: how long they take and how they end, changeable while it runs.
 * Owns: the knobs. Does not own: migrating (virt-handler.ts).
 */
export interface Attempt {
  readonly namespace: string;
  readonly name: string;
  /** Counts the migrations of this VMI that got as far as moving memory, from 1. */
  readonly attempt: number;
}

export type Outcome = "Succeeded" | "Failed";

export interface MigrationPlan {
  configure(options: {
    readonly seconds?: number | ((attempt: Attempt) => number);
    readonly outcome?: (attempt: Attempt) => Outcome;
  }): void;
  secondsOf(attempt: Attempt): number;
  outcomeOf(attempt: Attempt): Outcome;
}

const DEFAULT_SECONDS = 2;

const always = (): Outcome => "Succeeded";

export function createMigrationPlan(seconds: number = DEFAULT_SECONDS): MigrationPlan {
  let secondsOf: (attempt: Attempt) => number = () => seconds;
  let outcomeOf: (attempt: Attempt) => Outcome = always;
  return {
    configure({ seconds, outcome }) {
      if (seconds !== undefined) secondsOf = typeof seconds === "number" ? () => seconds : seconds;
      if (outcome !== undefined) outcomeOf = outcome;
    },
    secondsOf: (attempt) => secondsOf(attempt),
    outcomeOf: (attempt) => outcomeOf(attempt),
  };
}
