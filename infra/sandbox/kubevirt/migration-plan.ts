/** Configures the simulated migrations: their duration, outcome and back-off. */
export interface Attempt {
  readonly namespace: string;
  readonly name: string;
  /** The number of this migration, starting at 1. Only migrations that have started to copy memory are counted. */
  readonly attempt: number;
}

export type Outcome = "Succeeded" | "Failed";

export interface MigrationPlan {
  configure(options: {
    readonly seconds?: number | ((attempt: Attempt) => number);
    readonly outcome?: (attempt: Attempt) => Outcome;
    /** Returns libvirt's error message if the migration fails. */
    readonly failureReason?: (attempt: Attempt) => string;
    /**
     * Returns true if the migration is in post-copy mode: the guest runs on the target, but some of its memory is still
     * on the source.
     */
    readonly postCopy?: (attempt: Attempt) => boolean;
    /**
     * KubeVirt's back-off after the first failed migration. The back-off doubles with each failure. It does not apply
     * to migrations that users create.
     */
    readonly backoffSeconds?: number;
  }): void;
  secondsOf(attempt: Attempt): number;
  outcomeOf(attempt: Attempt): Outcome;
  failureReasonOf(attempt: Attempt): string;
  isPostCopy(attempt: Attempt): boolean;
  backoffSeconds(): number;
}

const DEFAULT_SECONDS = 2;
const DEFAULT_BACKOFF_SECONDS = 20;

const always = (): Outcome => "Succeeded";
const unnamed = (): string => "Live migration failed";
const never = (): boolean => false;

export function createMigrationPlan(seconds: number = DEFAULT_SECONDS): MigrationPlan {
  let secondsOf: (attempt: Attempt) => number = () => seconds;
  let outcomeOf: (attempt: Attempt) => Outcome = always;
  let failureReasonOf: (attempt: Attempt) => string = unnamed;
  let isPostCopy: (attempt: Attempt) => boolean = never;
  let backoffSeconds = DEFAULT_BACKOFF_SECONDS;
  return {
    configure({ seconds, outcome, failureReason, postCopy, backoffSeconds: backoff }) {
      if (seconds !== undefined) secondsOf = typeof seconds === "number" ? () => seconds : seconds;
      if (outcome !== undefined) outcomeOf = outcome;
      if (failureReason !== undefined) failureReasonOf = failureReason;
      if (postCopy !== undefined) isPostCopy = postCopy;
      if (backoff !== undefined) backoffSeconds = backoff;
    },
    secondsOf: (attempt) => secondsOf(attempt),
    outcomeOf: (attempt) => outcomeOf(attempt),
    failureReasonOf: (attempt) => failureReasonOf(attempt),
    isPostCopy: (attempt) => isPostCopy(attempt),
    backoffSeconds: () => backoffSeconds,
  };
}
