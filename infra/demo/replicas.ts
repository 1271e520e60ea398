/**
 * ReplicaSets, as far as the demo's ordinary pods need them: what is evicted is started again elsewhere.
 * Owns: their controller, that is the number of pods of each, and making one. Does not own: where they run (the sandbox's scheduler).
 */
import type { KubeClient } from "../sandbox/actors/client.ts";
import { actorOf, type Actor, type ActorOptions } from "../sandbox/actors/actor.ts";
import { isTrue } from "../sandbox/actors/conditions.ts";
import { startController, type Result } from "../sandbox/actors/controller.ts";
import { startInformer } from "../sandbox/actors/informer.ts";
import { controllerOf, keyOf, ownerReferenceTo, parseKey, pods } from "../sandbox/actors/resources.ts";
import type { KubeObject, Pod, Resource } from "../sandbox/actors/resources.ts";
import { waitFor } from "../sandbox/actors/wait-for.ts";

export interface ReplicaSet extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: PodSpec };
  };
  readonly status?: { readonly replicas: number; readonly readyReplicas: number };
}

type PodSpec = NonNullable<Pod["spec"]>;

export const replicaSets: Resource<ReplicaSet> = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
};

export interface Replicas {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Of each pod. */
  readonly requests?: Readonly<Record<string, string>>;
}

/** Resolves when its pods run. */
export async function createReplicaSet(client: KubeClient, { replicas, requests = {}, ...key }: Replicas) {
  const labels = { app: key.name };
  const container = { name: key.name, image: `example.com/${key.name}`, resources: { requests } };
  await client.create(replicaSets, {
    metadata: key,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  await waitFor(client, {
    resource: replicaSets,
    key,
    what: "running",
    until: ({ status }) => status?.readyReplicas === replicas,
  });
}

export function startReplicaSets(options: ActorOptions): Actor {
  const { client, clock } = options;
  const sets = startInformer({ client, clock, resource: replicaSets });
  const all = startInformer({ client, clock, resource: pods });

  const reconcile = async (key: string): Promise<Result> => {
    const set = await client.get(replicaSets, parseKey(key));
    if (set === undefined) return undefined;
    // Read, not cached: the pods created a moment ago count.
    const { items } = await client.list(pods, set.metadata.namespace);
    const alive = items.filter((pod) => ownerOf(pod) === key && pod.metadata.deletionTimestamp === undefined);
    for (let missing = set.spec.replicas - alive.length; missing > 0; missing--) await client.create(pods, podOf(set));
    const readyReplicas = alive.filter((pod) => isTrue(pod.status?.conditions, "Ready")).length;
    const status = { replicas: alive.length, readyReplicas };
    if (JSON.stringify(status) !== JSON.stringify(set.status))
      await client.patch(replicaSets, set.metadata, { type: "merge", body: { status } }, { subresource: "status" });
    return undefined;
  };

  const controller = startController({ name: "replicaset", reconcile, ...options, workers: 1 });
  controller.watch(sets, (set) => [keyOf(set)]);
  controller.watch(all, (pod) => [ownerOf(pod) ?? []].flat());
  return actorOf([controller], [sets, all]);
}

function ownerOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  return owner?.kind === "ReplicaSet" ? `${pod.metadata.namespace}/${owner.name}` : undefined;
}

function podOf(set: ReplicaSet) {
  const { namespace, name } = set.metadata;
  return {
    metadata: {
      generateName: `${name}-`,
      ...(namespace !== undefined && { namespace }),
      labels: set.spec.template.metadata.labels,
      ownerReferences: [ownerReferenceTo(set, replicaSets)],
    },
    spec: set.spec.template.spec,
  };
}
