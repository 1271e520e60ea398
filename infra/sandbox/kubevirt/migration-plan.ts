/**
 * How long migrations take in this sandbox, how they end, and how long KubeVirt waits after a failed one. All of it can change while the
 * sandbox runs.
 */
export interface Attempt {
  readonly namespace: string;
  readonly name: string;
  /** Counts this VMI's migrations that began to move memory, from 1. */
  readonly attempt: number;
}

export type Outcome = "Succeeded" | "Failed";

export interface MigrationPlan {
  configure(options: {
    readonly seconds?: number | ((attempt: Attempt) => number);
    readonly outcome?: (attempt: Attempt) => Outcome;
    /** The guest runs on the target while its memory still comes. */
    readonly postCopy?: (attempt: Attempt) => boolean;
    /**
     * KubeVirt's back-off after the first failure of a migration that no user asked for; it doubles with each failure.
     */
    readonly backoffSeconds?: number;
  }): void;
  secondsOf(attempt: Attempt): number;
  outcomeOf(attempt: Attempt): Outcome;
  isPostCopy(attempt: Attempt): boolean;
  backoffSeconds(): number;
}

const DEFAULT_SECONDS = 2;
const DEFAULT_BACKOFF_SECONDS = 20;

const always = (): Outcome => "Succeeded";
const never = (): boolean => false;

export function createMigrationPlan(seconds: number = DEFAULT_SECONDS): MigrationPlan {
  let secondsOf: (attempt: Attempt) => number = () => seconds;
  let outcomeOf: (attempt: Attempt) => Outcome = always;
  let isPostCopy: (attempt: Attempt) => boolean = never;
  let backoffSeconds = DEFAULT_BACKOFF_SECONDS;
  return {
    configure({ seconds, outcome, postCopy, backoffSeconds: backoff }) {
      if (seconds !== undefined) secondsOf = typeof seconds === "number" ? () => seconds : seconds;
      if (outcome !== undefined) outcomeOf = outcome;
      if (postCopy !== undefined) isPostCopy = postCopy;
      if (backoff !== undefined) backoffSeconds = backoff;
    },
    secondsOf: (attempt) => secondsOf(attempt),
    outcomeOf: (attempt) => outcomeOf(attempt),
    isPostCopy: (attempt) => isPostCopy(attempt),
    backoffSeconds: () => backoffSeconds,
  };
}
