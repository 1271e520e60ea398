/** The oldest versions that Lifeboat is made for, minor versions of 1, and what is said of older ones. */
export const OLDEST = { kubernetes: 33, kubevirt: 7 } as const;

/** Undefined: it does not say. */
export type MinorVersions = Readonly<Record<keyof typeof OLDEST, number | undefined>>;

export function notesOnVersions({ kubernetes, kubevirt }: MinorVersions): readonly string[] {
  return [
    ...(isOld("kubernetes", kubernetes) ? [olderThan("Kubernetes", kubernetes, OLDEST.kubernetes)] : []),
    ...(isOld("kubevirt", kubevirt) ? [olderThan("KubeVirt", kubevirt, OLDEST.kubevirt)] : []),
  ];
}

export function isOld(of: keyof MinorVersions, minor: number | undefined): minor is number {
  return minor !== undefined && minor < OLDEST[of];
}

function olderThan(name: string, minor: number, oldest: number): string {
  return `${name} 1.${minor} is older than 1.${oldest}, the oldest supported`;
}
