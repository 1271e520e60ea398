import { LONGEST_LABEL } from "../kube/names.ts";

/** The oldest versions that Lifeboat is made for, minor versions of 1. */
export const OLDEST = { kubernetes: 33, kubevirt: 7 } as const;

/** Undefined: it does not say. */
export type MinorVersions = Readonly<Record<keyof typeof OLDEST, number | undefined>>;

export function isOld(of: keyof MinorVersions, minor: number | undefined): minor is number {
  return minor !== undefined && minor < OLDEST[of];
}

/** The newest minor version of KubeVirt that is known to label migrations with the whole name of the VM (`addMigrationSelectorLabel`). */
const WHOLE_NAME_IN_LABEL = 9;

/** Whether the API server refuses migrations of a VM, because KubeVirt makes its name a label. Undefined: KubeVirt may shorten it. */
export function isNameTooLong(name: string, kubevirtMinor: number | undefined): boolean | undefined {
  if (name.length <= LONGEST_LABEL) return false;
  return kubevirtMinor !== undefined && kubevirtMinor <= WHOLE_NAME_IN_LABEL ? true : undefined;
}
