/** How the command ends, for scripts: documented in REFERENCE.md. */
export const EXIT = {
  done: 0,
  /** Something could not be done: the cluster cannot be reached, a permission is missing. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The answer is no: a drain would not end, a check has failed. */
  no: 3,
  /** Not everything could be read, so the answer may be no. */
  unknown: 4,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
