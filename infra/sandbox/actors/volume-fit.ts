/** Determines whether a pod's volumes can be used on a node, by the node affinity of the bound PersistentVolumes. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "./resources.ts";

export interface Storage {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
}

type Terms = NonNullable<
  NonNullable<NonNullable<NonNullable<PersistentVolume["spec"]>["nodeAffinity"]>["required"]>["nodeSelectorTerms"]
>;

/** Returns the node selector terms of each volume that can be used only on some nodes. */
export function reachOf({ metadata, spec }: Pod, { claims, volumes }: Storage): readonly Terms[] {
  const names = (spec?.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
  return names.flatMap((name) => {
    const claim = claims.find((one) => one.metadata.name === name && one.metadata.namespace === metadata.namespace);
    const volume = volumes.find((one) => one.metadata.name === claim?.spec?.volumeName);
    const required = volume?.spec?.nodeAffinity?.required;
    return required === undefined ? [] : [required.nodeSelectorTerms];
  });
}
