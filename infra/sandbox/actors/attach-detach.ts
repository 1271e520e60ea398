/**
 * kube-controller-manager's attach-detach controller, and the CSI drivers' attachers. The controller attaches a volume
 * to each node with a pod that uses the volume. It detaches the volume some time after these pods have ended.
 */
import { createHash } from "node:crypto";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import type { KubeClient } from "./client.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { isFinished } from "./pod-status.ts";
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type PersistentVolume,
  type Pod,
  volumeAttachments,
  type VolumeAttachment,
} from "./resources.ts";
import { isAlreadyExists } from "./status-error.ts";

export interface AttachDetachOptions extends ActorOptions {
  /** A client with the identity of the CSI attachers. They write the status of VolumeAttachments. */
  readonly attacher: KubeClient;
  readonly detachSeconds: number;
}

export function startAttachDetach(options: AttachDetachOptions): Actor {
  const { client, attacher, clock, detachSeconds } = options;
  const claims = startInformer({ ...options, resource: persistentVolumeClaims });
  const volumes = startInformer({ ...options, resource: persistentVolumes });
  const onNodes = startInformer({ ...options, resource: pods, indexes: { node: (pod: Pod) => nodeOf(pod) } });
  const attached = startInformer({
    ...options,
    resource: volumeAttachments,
    indexes: { node: ({ spec }: VolumeAttachment) => [spec.nodeName] },
  });
  const informers = [claims, volumes, onNodes, attached];
  /** The times at which VolumeAttachments became unused. The keys are UIDs. */
  const unusedSince = new Map<string, number>();

  const volumesOf = ({ metadata: { namespace }, spec }: Pod): readonly PersistentVolume[] =>
    (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => {
      const claim = persistentVolumeClaim && claims.get(`${namespace}/${persistentVolumeClaim.claimName}`);
      const volume = volumes.get(claim?.spec?.volumeName ?? "");
      return volume?.spec?.csi === undefined ? [] : [volume];
    });

  const attach = async (volume: PersistentVolume, nodeName: string): Promise<void> => {
    const { name: persistentVolumeName } = volume.metadata;
    const metadata = { name: nameOf(persistentVolumeName, nodeName) };
    const spec = { attacher: volume.spec?.csi?.driver ?? "", nodeName, source: { persistentVolumeName } };
    await client.create(volumeAttachments, { metadata, spec }).catch(unlessThere);
    const body = { status: { attached: true } };
    await attacher.patch(volumeAttachments, metadata, { type: "merge", body }, { subresource: "status" });
  };

  /** Detaches the volume if it has been unused for long enough. Otherwise returns the remaining milliseconds. */
  const detach = async ({ metadata: { name, uid } }: VolumeAttachment): Promise<number> => {
    const now = clock.now().getTime();
    const since = unusedSince.get(uid) ?? now;
    unusedSince.set(uid, since);
    const left = since + detachSeconds * 1000 - now;
    if (left > 0) return left;
    await client.delete(volumeAttachments, { name }, { preconditions: { uid } });
    unusedSince.delete(uid);
    return 0;
  };

  const reconcile = async (node: string): Promise<Result> => {
    await Promise.all(informers.map(({ synced }) => synced));
    const used = onNodes.byIndex("node", node).flatMap(volumesOf);
    const wanted = new Map(used.map((volume) => [volume.metadata.name, volume]));
    const there = attached.byIndex("node", node);
    const unused = there.filter((one) => !wanted.has(volumeOf(one)));
    for (const one of there) if (wanted.has(volumeOf(one))) unusedSince.delete(one.metadata.uid);
    const known = new Set(there.map(volumeOf));
    for (const [name, volume] of wanted) if (!known.has(name)) await attach(volume, node);
    const waits = (await Promise.all(unused.map(detach))).filter((ms) => ms > 0);
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  };

  const controller = startController({ name: "attachdetach", reconcile, ...options });
  controller.watch(onNodes, nodeOf);
  controller.watch(attached, ({ spec }) => [spec.nodeName]);
  for (const informer of [claims, volumes])
    informer.onChange(() => {
      for (const node of new Set([...onNodes.list()].flatMap(nodeOf))) controller.enqueue(node);
    });
  return actorOf([controller], informers);
}

function nodeOf(pod: Pod): readonly string[] {
  const { nodeName } = pod.spec ?? {};
  return nodeName === undefined || isFinished(pod) ? [] : [nodeName];
}

function volumeOf({ spec }: VolumeAttachment): string {
  return spec.source.persistentVolumeName ?? "";
}

/**
 * Returns a name for the VolumeAttachment of a volume on a node. The same volume and node always give the same name.
 */
function nameOf(volume: string, node: string): string {
  return `csi-${createHash("sha256").update(`${volume}\0${node}`).digest("hex")}`;
}

function unlessThere(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
