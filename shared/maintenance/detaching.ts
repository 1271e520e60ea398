/**
 * Finds the volumes that are still attached to a node after its VMs have left. The node can still write to these
 * volumes until they are detached.
 */
import { unlessFailed, type View } from "../facts/facts.ts";
import { ClusterError, isLasting, isOddObject } from "../kube/failures.ts";
import { isFinal, keyOf } from "../kube/objects.ts";
import { type ClaimedVolume, PersistentVolumeWithClaim, type VolumeAttachmentFacts } from "../kube/schemas/storage.ts";
import { selectPodsOn } from "../kube/selections.ts";
import type { PreflightPod } from "../preflight/facts.ts";
import { PREFLIGHT_PODS } from "../preflight/views.ts";
import { secondsSince } from "../settings/time.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import type { NodeWorld } from "./world.ts";

/**
 * The maximum time to wait for volumes, in seconds since the last VM left the node. A storage system that does not
 * respond must not delay the maintenance forever.
 */
const MOST_SECONDS = 300;

export const CLAIMED_VOLUMES: View<ClaimedVolume> = {
  resource: "persistentvolumes",
  name: "ClaimedVolume",
  schema: () => PersistentVolumeWithClaim,
};

export interface VolumesLeft {
  readonly isAwaited: boolean;
  /** Describes the volumes. Empty if all volumes are detached. */
  readonly text: string;
}

/**
 * Returns whether the drain waits for attached volumes. The drain does not wait if Lifeboat has no permission to list
 * VolumeAttachments, or if the cluster does not serve this kind.
 */
export function volumesLeft(w: NodeWorld): VolumesLeft {
  const lastLeft = Math.max(...w.ne.status.outcomes.map(({ time }) => Date.parse(time ?? "")).filter(Number.isFinite));
  if (!Number.isFinite(lastLeft)) return { isAwaited: false, text: "" };
  const isOver = secondsSince(lastLeft, w.now) >= MOST_SECONDS;
  const left = unlessFailed(
    () => attachedTo(w).length,
    (failed) => {
      if (isOver || isLasting(failed.failure) || isOddObject(failed.failure)) return failed;
      throw failed;
    },
  );
  if (left instanceof ClusterError) return { isAwaited: false, text: MESSAGES.attachmentsUnknown(left) };
  if (left === 0) return { isAwaited: false, text: "" };
  return isOver
    ? { isAwaited: false, text: MESSAGES.stillAttached(left) }
    : { isAwaited: true, text: MESSAGES.detaching(left) };
}

function attachedTo({ ne, facts }: NodeWorld): readonly VolumeAttachmentFacts[] {
  const { nodeName } = ne.spec;
  return unclaimedOn(nodeName, {
    attachments: facts.list("volumeattachments"),
    pods: facts.list(PREFLIGHT_PODS, selectPodsOn(nodeName)),
    volumes: () => facts.list(CLAIMED_VOLUMES),
  });
}

interface Attached {
  readonly attachments: readonly VolumeAttachmentFacts[];
  /** All pods on the node, including finished pods. */
  readonly pods: readonly Pick<PreflightPod, "namespace" | "phase" | "claims" | "ephemeralClaims">[];
  /** Returns the PersistentVolumes. Called only if a pod on the node might use one of the attached volumes. */
  readonly volumes: () => readonly ClaimedVolume[];
}

/** Returns the volumes that are attached to the node although no pod on the node uses them. */
export function unclaimedOn(node: string, { attachments, pods, volumes }: Attached): readonly VolumeAttachmentFacts[] {
  const here = attachments.filter((one) => one.nodeName === node && one.persistentVolumeName !== undefined);
  const used = new Set(pods.filter((pod) => !isFinal(pod)).flatMap(claimsOf));
  if (here.length === 0 || used.size === 0) return here;
  const isUsed = ({ claim }: ClaimedVolume) => claim !== undefined && used.has(keyOf(claim));
  const inUse = new Set(
    volumes()
      .filter(isUsed)
      .map(({ name }) => name),
  );
  return here.filter(({ persistentVolumeName = "" }) => !inUse.has(persistentVolumeName));
}

function claimsOf({ namespace, claims, ephemeralClaims = [] }: Attached["pods"][number]): readonly string[] {
  return [...claims, ...ephemeralClaims].map((name) => keyOf({ namespace, name }));
}
