/** The oldest versions that Lifeboat is made for, minor versions of 1, and what is said of older ones. */
export const OLDEST = { kubernetes: 33, kubevirt: 7 } as const;

/** Undefined: it does not say. */
export type MinorVersions = Readonly<Record<keyof typeof OLDEST, number | undefined>>;

export function notesOnVersions({ kubernetes, kubevirt }: MinorVersions): readonly string[] {
  return [...noteOn("kubernetes", "Kubernetes", kubernetes), ...noteOn("kubevirt", "KubeVirt", kubevirt)];
}

function noteOn(of: keyof typeof OLDEST, name: string, minor = OLDEST[of] as number): readonly string[] {
  return minor < OLDEST[of] ? [`${name} 1.${minor} is older than 1.${OLDEST[of]}, the oldest supported`] : [];
}
