/** kube-controller-manager's garbage collector. It deletes objects whose owners are all gone. */
import type { V1OwnerReference } from "@kubernetes/client-node";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import type { KubeObject } from "./resources.ts";
import { startOwnerGraph, type Item } from "./owner-graph.ts";

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

export function startGarbageCollector(options: ActorOptions): Actor {
  const { client } = options;
  const graph = startOwnerGraph(options);

  const reconcile = async (uid: string): Promise<Result> => {
    await graph.synced;
    const item = graph.find(uid);
    if (item === undefined) return undefined;
    const { deletionTimestamp, finalizers = [], ownerReferences = [] } = item.object.metadata;
    if (deletionTimestamp === undefined) await release(item, ownerReferences);
    else if (finalizers.includes(ORPHAN)) await orphanDependents(item);
    else if (finalizers.includes(FOREGROUND)) await deleteDependents(item);
  };

  /** Deletes the object if all of its owners are gone. Otherwise removes the references to missing owners. */
  const release = async (item: Item, references: readonly V1OwnerReference[]) => {
    if (references.length === 0) return;
    const owners = await Promise.all(
      references.map(async (reference) => ({ reference, state: await stateOf(item, reference) })),
    );
    const staying = owners.filter(({ state }) => state === "there").map(({ reference }) => reference);
    if (staying.length === references.length) return;
    if (staying.length > 0) await keepOwners(item, staying);
    else {
      const awaited = owners.some(({ state }) => state === "waiting");
      const owns = graph.dependentsOf(item.object.metadata.uid).length > 0;
      await remove(item, awaited && owns ? "Foreground" : "Background");
    }
  };

  /**
   * Returns `there` for an existing owner, and `gone` for a missing owner. Returns `waiting` for an owner that waits
   * for this dependent's deletion. If the graph does not contain the owner, asks the API server, because the graph can
   * be outdated.
   */
  const stateOf = async (item: Item, reference: V1OwnerReference) => {
    const { apiVersion, kind, name, uid, blockOwnerDeletion } = reference;
    const resource = graph.resourceOf(apiVersion, kind);
    if (resource === undefined) return "there";
    const { namespace } = item.object.metadata;
    const known = graph.find(uid)?.object;
    const owner = known ?? (await client.get(resource, resource.namespaced ? { namespace, name } : { name }));
    if (owner?.metadata.uid !== uid) return "gone";
    return blockOwnerDeletion === true && isWaiting(owner) ? "waiting" : "there";
  };

  const remove = ({ resource, object }: Item, propagationPolicy: "Background" | "Foreground") => {
    const { uid, resourceVersion } = object.metadata;
    return client.delete(resource, object.metadata, { propagationPolicy, preconditions: { uid, resourceVersion } });
  };

  const keepOwners = async ({ resource, object }: Item, ownerReferences: readonly V1OwnerReference[]) => {
    const { uid, resourceVersion } = object.metadata;
    const body = { metadata: { uid, resourceVersion, ownerReferences } };
    await client.patch(resource, object.metadata, { type: "merge", body });
  };

  const orphanDependents = async (owner: Item) => {
    const { uid } = owner.object.metadata;
    for (const dependent of graph.dependentsOf(uid)) {
      const references = dependent.object.metadata.ownerReferences ?? [];
      await keepOwners(
        dependent,
        references.filter((reference) => reference.uid !== uid),
      );
    }
    await dropFinalizer(owner, ORPHAN);
  };

  const deleteDependents = async (owner: Item) => {
    const { uid } = owner.object.metadata;
    const blocking = graph.dependentsOf(uid).filter(({ object }) => blocks(object.metadata.ownerReferences, uid));
    if (blocking.length === 0) return dropFinalizer(owner, FOREGROUND);
    for (const dependent of blocking)
      if (dependent.object.metadata.deletionTimestamp === undefined) await reconcile(dependent.object.metadata.uid);
  };

  const dropFinalizer = async ({ resource, object }: Item, finalizer: string) => {
    const { uid, resourceVersion, finalizers = [] } = object.metadata;
    const rest = finalizers.filter((other) => other !== finalizer);
    const body = { metadata: { uid, resourceVersion, finalizers: rest } };
    await client.patch(resource, object.metadata, { type: "merge", body });
  };

  const controller = startController({ name: "garbage-collector", reconcile, ...options });
  graph.onChange(({ metadata }) => {
    controller.enqueue(metadata.uid);
    for (const { object } of graph.dependentsOf(metadata.uid)) controller.enqueue(object.metadata.uid);
    for (const { uid } of metadata.ownerReferences ?? []) controller.enqueue(uid);
  });
  return actorOf([controller], [graph]);
}

function blocks(references: readonly V1OwnerReference[] | undefined, owner: string): boolean {
  return (references ?? []).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);
}

function isWaiting({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers.includes(FOREGROUND);
}
