/** The ReplicaSet controller. It creates or deletes pods until each ReplicaSet has the right number of pods. */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { findCondition, isTrue } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { isFinished } from "./pod-status.ts";
import { controllerOf, keyOf, ownerReferenceTo, parseKey, pods, type ReplicaSet, replicaSets } from "./resources.ts";
import type { Deployment, Pod } from "./resources.ts";
import { isForbidden } from "./status-error.ts";

const AGAIN_MS = 500;

interface Counts {
  readonly replicas: number;
  readonly readyReplicas: number;
  readonly conditions: readonly { readonly message: string }[] | null;
}

export function startReplicaSets(options: ActorOptions): Actor {
  const { client, clock } = options;
  const sets = startInformer({ client, clock, resource: replicaSets });
  const all = startInformer({ client, clock, resource: pods });

  const reconcile = async (key: string): Promise<Result> => {
    const set = await client.get(replicaSets, parseKey(key));
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
    // Lists the pods from the API server, because a cache can lack the newest pods.
    const { items } = await client.list(pods, set.metadata.namespace);
    const alive = items.filter((pod) => ownerOf(pod) === key && isAlive(pod));
    const { replicas: wanted = 1 } = set.spec ?? {};
    const refusal = await createMissing(set, wanted - alive.length);
    for (const pod of alive.slice(wanted)) await client.delete(pods, pod.metadata);
    const readyReplicas = alive.filter(({ status }) => isTrue(status?.conditions, "Ready")).length;
    const { status: before } = set;
    const status = { replicas: alive.length, readyReplicas, conditions: refusal === undefined ? null : [refusal] };
    if (!isSame(before, status)) {
      await client.patch(replicaSets, set.metadata, { type: "merge", body: { status } }, { subresource: "status" });
    }
    return refusal === undefined ? undefined : { requeueAfterMs: AGAIN_MS };
  };

  /**
   * Creates missing pods. If the API server refuses a pod, for example because of a quota, returns the condition
   * `ReplicaFailure`.
   */
  const createMissing = async (set: ReplicaSet, count: number) => {
    try {
      for (let missing = count; missing > 0; missing--) await client.create(pods, podOf(set));
      return undefined;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: error.status.message ?? "" };
    }
  };

  const controller = startController({ name: "replicaset", reconcile, ...options, workers: 1 });
  controller.watch(sets, (set) => [keyOf(set)]);
  controller.watch(all, (pod) => [ownerOf(pod) ?? []].flat());
  return actorOf([controller], [sets, all]);
}

/** Returns why pods are missing: the message of the condition `ReplicaFailure`. */
export function failureIn(status: ReplicaSet["status"] | Deployment["status"]): string | undefined {
  return findCondition(status?.conditions, "ReplicaFailure")?.message;
}

function isSame(before: ReplicaSet["status"], after: Counts): boolean {
  const isCounted = before?.replicas === after.replicas && before.readyReplicas === after.readyReplicas;
  return isCounted && failureIn(before) === after.conditions?.[0]?.message;
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
