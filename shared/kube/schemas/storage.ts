/** Defines the schemas of VolumeAttachments and PersistentVolumes. */
import * as z from "zod/mini";
import { ObjectName } from "./fields.ts";

export interface VolumeAttachmentFacts {
  readonly name: string;
  readonly nodeName: string;
  /** The name of the PersistentVolume. Absent for an inline volume, which has no claim. */
  readonly persistentVolumeName?: string | undefined;
}

/**
 * A VolumeAttachment exists until its volume is detached. `status.attached` is less reliable, because a failed
 * attachment might have succeeded in part.
 */
export const VolumeAttachment = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: z.object({ name: ObjectName }),
      spec: z.object({
        nodeName: z.string(),
        source: z.object({ persistentVolumeName: z.nullish(z.string()) }),
      }),
    }),
    z.transform(({ metadata: { name }, spec: { nodeName, source } }): VolumeAttachmentFacts => {
      const { persistentVolumeName } = source;
      return persistentVolumeName ? { name, nodeName, persistentVolumeName } : { name, nodeName };
    }),
  ),
);

export interface ClaimedVolume {
  readonly name: string;
  readonly claim?: { readonly namespace: string; readonly name: string } | undefined;
}

export const PersistentVolumeWithClaim = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: z.object({ name: ObjectName }),
      spec: z.object({ claimRef: z.nullish(z.object({ namespace: z.string(), name: z.string() })) }),
    }),
    z.transform(({ metadata: { name }, spec: { claimRef } }): ClaimedVolume => {
      return { name, claim: claimRef ?? undefined };
    }),
  ),
);
