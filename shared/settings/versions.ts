/** The oldest versions that Lifeboat is made for, minor versions of 1. */
export const OLDEST = { kubernetes: 33, kubevirt: 7 } as const;

/** Undefined: it does not say. */
export type MinorVersions = Readonly<Record<keyof typeof OLDEST, number | undefined>>;

export function isOld(of: keyof MinorVersions, minor: number | undefined): minor is number {
  return minor !== undefined && minor < OLDEST[of];
}
