/** Determines whether a node can use a pod's volumes. The node affinity of the PersistentVolumes decides. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "./resources.ts";

export interface Storage {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
}

type Terms = NonNullable<
  NonNullable<NonNullable<NonNullable<PersistentVolume["spec"]>["nodeAffinity"]>["required"]>["nodeSelectorTerms"]
>;

/** Returns the node selector terms of the pod's volumes. Omits volumes without a node affinity. */
export function reachOf({ metadata, spec }: Pod, { claims, volumes }: Storage): readonly Terms[] {
  const names = (spec?.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
  return names.flatMap((name) => {
    const claim = claims.find((one) => one.metadata.name === name && one.metadata.namespace === metadata.namespace);
    const volume = volumes.find((one) => one.metadata.name === claim?.spec?.volumeName);
    const required = volume?.spec?.nodeAffinity?.required;
    return required === undefined ? [] : [required.nodeSelectorTerms];
  });
}
