/**
 * The deployment controller. It creates a ReplicaSet for each template of a Deployment. When the new ReplicaSet is
 * ready, the controller removes older ReplicaSets. Surge and history are not simulated.
 */
import { createHash } from "node:crypto";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { failureIn } from "./replica-sets.ts";
import { controllerOf, deployments, keyOf, ownerReferenceTo, replicaSets } from "./resources.ts";
import type { Deployment, ReplicaSet } from "./resources.ts";
import { isAlreadyExists } from "./status-error.ts";

const HASH_LABEL = "pod-template-hash";

export function startDeployments(options: ActorOptions): Actor {
  const { client } = options;
  const wanted = startInformer({ ...options, resource: deployments });
  const sets = startInformer({ ...options, resource: replicaSets, indexes: { deployment: deploymentOf } });

  const reconcile = async (key: string): Promise<Result> => {
    await sets.synced;
    const deployment = wanted.get(key);
    if (deployment?.spec === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
    const { metadata, spec } = deployment;
    const draft = replicaSetOf(deployment, spec);
    const set = sets.get(keyOf({ metadata: { ...metadata, name: draft.metadata.name } }));
    if (set === undefined) return void (await client.create(replicaSets, draft).catch(unlessThere));
    const { replicas } = draft.spec;
    if (set.spec?.replicas !== replicas)
      await client.patch(replicaSets, set.metadata, { type: "merge", body: { spec: { replicas } } });
    if ((set.status?.readyReplicas ?? 0) >= replicas) await deleteOthers(key, set);
    await report(deployment, set);
  };

  const deleteOthers = async (key: string, current: ReplicaSet): Promise<void> => {
    for (const set of sets.byIndex("deployment", key))
      if (set !== current) await client.delete(replicaSets, set.metadata);
  };

  const report = async ({ metadata, status }: Deployment, set: ReplicaSet): Promise<void> => {
    const { replicas = 0, readyReplicas = 0, conditions } = set.status ?? {};
    const isSame = status?.replicas === replicas && status.readyReplicas === readyReplicas;
    if (isSame && failureIn(status) === failureIn(set.status)) return;
    const counts = { replicas, readyReplicas, availableReplicas: readyReplicas, updatedReplicas: replicas };
    const body = { status: { ...counts, observedGeneration: metadata.generation, conditions: conditions ?? null } };
    await client.patch(deployments, metadata, { type: "merge", body }, { subresource: "status" });
  };

  const controller = startController({ name: "deployment", reconcile, workers: 1, ...options });
  controller.watch(wanted, (deployment) => [keyOf(deployment)]);
  controller.watch(sets, deploymentOf);
  return actorOf([controller], [wanted, sets]);
}

function deploymentOf(set: ReplicaSet): readonly string[] {
  const owner = controllerOf(set);
  return owner?.kind === "Deployment" ? [keyOf({ metadata: { ...set.metadata, name: owner.name } })] : [];
}

function replicaSetOf(deployment: Deployment, { replicas = 1, selector, template }: NonNullable<Deployment["spec"]>) {
  const { namespace = "", name } = deployment.metadata;
  const hash = createHash("sha256").update(JSON.stringify(template)).digest("hex").slice(0, 10);
  const own = { [HASH_LABEL]: hash };
  const labels = { ...template.metadata?.labels, ...own };
  const ownerReferences = [ownerReferenceTo(deployment, deployments)];
  return {
    metadata: { namespace, name: `${name}-${hash}`, labels, ownerReferences },
    spec: {
      replicas,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, ...own } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function unlessThere(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
