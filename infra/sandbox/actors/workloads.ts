/**
 * The deployment and replicaset controllers in one: each Deployment has as many pods of its template as it asks for.
 * Owns: one ReplicaSet for each template, its pods, replacing those of an older template once the new ones are ready. Does
 * not own: rollout history, surge and the other controllers of apps.
 */
import { createHash } from "node:crypto";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { isTrue } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { isFinished } from "./pod-status.ts";
import {
  controllerOf,
  type Deployment,
  deployments,
  keyOf,
  type KubeObject,
  ownerReferenceTo,
  pods,
  type Pod,
  type ReplicaSet,
  replicaSets,
} from "./resources.ts";
import { isAlreadyExists } from "./status-error.ts";

const HASH_LABEL = "pod-template-hash";

export function startWorkloads(options: ActorOptions): Actor {
  const { client } = options;
  const wanted = startInformer({ ...options, resource: deployments });
  const sets = startInformer({ ...options, resource: replicaSets, indexes: { owner: ownersOf } });
  const running = startInformer({ ...options, resource: pods, indexes: { owner: ownersOf } });

  const reconcile = async (key: string): Promise<Result> => {
    await Promise.all([sets.synced, running.synced]);
    const deployment = wanted.get(key);
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
    const set = await currentSet(deployment);
    if (set === undefined) return undefined;
    const { replicas = 1 } = deployment.spec ?? {};
    const { live, expected } = podsOf(set);
    for (let missing = replicas - live.length - expected; missing > 0; missing -= 1) await createPod(set);
    for (const pod of live.slice(replicas)) await client.delete(pods, pod.metadata);
    const ready = live.filter(isReady).length;
    const others = sets.byIndex("owner", deployment.metadata.uid).filter((one) => one !== set);
    if (ready >= replicas) for (const old of others) await client.delete(replicaSets, old.metadata);
    await report(deployment, live.length, ready);
  };

  /** Undefined until the cache has it. */
  const currentSet = async (deployment: Deployment): Promise<ReplicaSet | undefined> => {
    const { metadata, spec } = deployment;
    const hash = createHash("sha256").update(JSON.stringify(spec?.template)).digest("hex").slice(0, 10);
    const name = `${metadata.name}-${hash}`;
    const known = sets.get(keyOf({ metadata: { ...metadata, name } }));
    if (known !== undefined) return known;
    const own = { [HASH_LABEL]: hash };
    const labels = { ...spec?.template.metadata?.labels, ...own };
    const ownerReferences = [ownerReferenceTo(deployment, deployments)];
    const set = {
      metadata: { ...place(metadata), name, labels, ownerReferences },
      spec: {
        ...spec,
        selector: { ...spec?.selector, matchLabels: { ...spec?.selector.matchLabels, ...own } },
        template: { ...spec?.template, metadata: { ...spec?.template.metadata, labels } },
      },
    };
    await client.create(replicaSets, set).catch(unlessThere);
    return undefined;
  };

  const createPod = async ({ metadata, spec }: ReplicaSet): Promise<void> => {
    const name = `${metadata.name}-${Math.random().toString(36).slice(2, 7)}`;
    const ownerReferences = [ownerReferenceTo({ metadata }, replicaSets)];
    const template = spec?.template;
    await client.create(pods, {
      ...template,
      metadata: { ...template?.metadata, ...place(metadata), name, ownerReferences },
    });
    created.set(name, metadata.uid);
  };
  /** Names of pods that the cache does not have yet, by ReplicaSet: otherwise the next look would create them again. */
  const created = new Map<string, string>();

  const podsOf = ({ metadata }: ReplicaSet): { readonly live: readonly Pod[]; readonly expected: number } => {
    const seen = running.byIndex("owner", metadata.uid);
    for (const pod of seen) created.delete(pod.metadata.name);
    const live = seen.filter((pod) => pod.metadata.deletionTimestamp === undefined && !isFinished(pod));
    const expected = [...created.values()].filter((uid) => uid === metadata.uid).length;
    return { live, expected };
  };

  const report = async (deployment: Deployment, replicas: number, readyReplicas: number): Promise<void> => {
    const { status } = deployment;
    if (status?.replicas === replicas && status.readyReplicas === readyReplicas) return;
    const counts = { replicas, readyReplicas, availableReplicas: readyReplicas, updatedReplicas: replicas };
    const body = { status: { ...counts, observedGeneration: deployment.metadata.generation } };
    await client.patch(deployments, deployment.metadata, { type: "merge", body }, { subresource: "status" });
  };

  const controller = startController({ name: "deployment", reconcile, workers: 1, ...options });
  controller.watch(wanted, (deployment) => [keyOf(deployment)]);
  controller.watch(sets, deploymentOf);
  controller.watch(running, deploymentOf);
  return actorOf([controller], [wanted, sets, running]);
}

function ownersOf(object: KubeObject): readonly string[] {
  return [controllerOf(object)?.uid ?? ""];
}

/** A pod's ReplicaSet has the Deployment's name, and a hash. */
function deploymentOf({ metadata }: Pod | ReplicaSet): readonly string[] {
  const [set] = metadata.ownerReferences ?? [];
  if (set?.kind === "Deployment") return [keyOf({ metadata: { ...metadata, name: set.name } })];
  const [, name] = /^(.*)-[^-]+$/.exec(set?.kind === "ReplicaSet" ? set.name : "") ?? [];
  return name === undefined ? [] : [keyOf({ metadata: { ...metadata, name } })];
}

function isReady({ status }: Pod): boolean {
  return isTrue(status?.conditions, "Ready");
}

function place({ namespace }: KubeObject["metadata"]): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function unlessThere(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
