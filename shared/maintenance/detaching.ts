/**
 * Volumes that are still attached to a node after its VMs have left. Until they are detached, the node may write to
 * them.
 */
import { unlessFailed, type View } from "../facts/facts.ts";
import { ClusterError, describeFailure, isForbidden, isLasting, isOddObject } from "../kube/failures.ts";
import { isFinal, keyOf } from "../kube/objects.ts";
import { type ClaimedVolume, PersistentVolumeWithClaim, type VolumeAttachmentFacts } from "../kube/schemas/storage.ts";
import { selectPodsOn } from "../kube/selections.ts";
import { PREFLIGHT_PODS } from "../preflight/views.ts";
import { secondsSince } from "../settings/time.ts";
import type { NodeWorld } from "./world.ts";

/**
 * Counted from the last VM's departure. A storage system that does not answer must not delay a maintenance for ever.
 */
const MOST_SECONDS = 300;

export const CLAIMED_VOLUMES: View<ClaimedVolume> = {
  resource: "persistentvolumes",
  name: "ClaimedVolume",
  schema: () => PersistentVolumeWithClaim,
};

export interface VolumesLeft {
  readonly isAwaited: boolean;
  /** For people. Empty if there are none. */
  readonly text: string;
}

/**
 * Lists attached volumes if a VM was on the node. Without the permission, or if the cluster does not serve the kind,
 * nothing is waited for.
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
  if (left instanceof ClusterError) return { isAwaited: false, text: unknownText(left) };
  if (left === 0) return { isAwaited: false, text: "" };
  return isOver
    ? { isAwaited: false, text: `volumes that are still attached to it (kubectl get volumeattachments): ${left}` }
    : { isAwaited: true, text: `volumes that are not detached yet: ${left}` };
}

function unknownText(failed: ClusterError): string {
  const fix = isForbidden(failed) ? "; lifeboat install --with maintenance" : "";
  return `whether volumes are still attached to it is not known: ${describeFailure(failed.failure)}${fix}`;
}

/** Returns attached volumes, without those of pods that stay, such as DaemonSets' pods. */
function attachedTo(w: NodeWorld): readonly VolumeAttachmentFacts[] {
  const { ne, facts } = w;
  const all = facts.list("volumeattachments");
  const here = all.filter((one) => one.nodeName === ne.spec.nodeName && one.persistentVolumeName !== undefined);
  const used = claimsOn(w);
  if (here.length === 0 || used.size === 0) return here;
  const stays = ({ claim }: ClaimedVolume) => claim !== undefined && used.has(keyOf(claim));
  const staying = new Set(
    facts
      .list(CLAIMED_VOLUMES)
      .filter(stays)
      .map(({ name }) => name),
  );
  return here.filter(({ persistentVolumeName = "" }) => !staying.has(persistentVolumeName));
}

function claimsOn({ ne, facts }: NodeWorld): ReadonlySet<string> {
  const pods = facts.list(PREFLIGHT_PODS, selectPodsOn(ne.spec.nodeName)).filter((pod) => !isFinal(pod));
  return new Set(pods.flatMap(({ namespace, claims }) => claims.map((name) => keyOf({ namespace, name }))));
}
