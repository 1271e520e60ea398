/** The replicaset controller: each ReplicaSet has as many pods as it asks for. */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { isTrue } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { isFinished } from "./pod-status.ts";
import { controllerOf, keyOf, ownerReferenceTo, parseKey, pods, type ReplicaSet, replicaSets } from "./resources.ts";
import type { Pod } from "./resources.ts";

export function startReplicaSets(options: ActorOptions): Actor {
  const { client, clock } = options;
  const sets = startInformer({ client, clock, resource: replicaSets });
  const all = startInformer({ client, clock, resource: pods });

  const reconcile = async (key: string): Promise<Result> => {
    const set = await client.get(replicaSets, parseKey(key));
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
    // Read, not cached: the pods created a moment ago count.
    const { items } = await client.list(pods, set.metadata.namespace);
    const alive = items.filter((pod) => ownerOf(pod) === key && isAlive(pod));
    const { replicas: wanted = 1 } = set.spec ?? {};
    for (let missing = wanted - alive.length; missing > 0; missing--) await client.create(pods, podOf(set));
    for (const pod of alive.slice(wanted)) await client.delete(pods, pod.metadata);
    const readyReplicas = alive.filter(({ status }) => isTrue(status?.conditions, "Ready")).length;
    const { status: before } = set;
    if (before?.replicas === alive.length && before.readyReplicas === readyReplicas) return undefined;
    const body = { status: { replicas: alive.length, readyReplicas } };
    await client.patch(replicaSets, set.metadata, { type: "merge", body }, { subresource: "status" });
  };

  const controller = startController({ name: "replicaset", reconcile, ...options, workers: 1 });
  controller.watch(sets, (set) => [keyOf(set)]);
  controller.watch(all, (pod) => [ownerOf(pod) ?? []].flat());
  return actorOf([controller], [sets, all]);
}

function isAlive(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !isFinished(pod);
}

function ownerOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  return owner?.kind === "ReplicaSet" ? `${pod.metadata.namespace}/${owner.name}` : undefined;
}

function podOf(set: ReplicaSet) {
  const { namespace, name } = set.metadata;
  const { metadata, spec } = set.spec?.template ?? {};
  return {
    metadata: {
      generateName: `${name}-`,
      ...(namespace !== undefined && { namespace }),
      labels: metadata?.labels ?? {},
      annotations: metadata?.annotations ?? {},
      ownerReferences: [ownerReferenceTo(set, replicaSets)],
    },
    ...(spec && { spec }),
  };
}
