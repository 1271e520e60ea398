/** Adds up the replicas that the controllers of the given pods want. */
import type { V1OwnerReference } from "@kubernetes/client-node";
import type { KubeClient } from "./client.ts";
import { discoverGroupVersion, type DiscoveredResource } from "./discovery.ts";
import { controllerOf, pathOf, type KubeObject, type Pod, type Resource } from "./resources.ts";

export interface Scale {
  readonly expected: number;
  readonly unmanaged: readonly Pod[];
}

/** Thrown if the expected number of pods cannot be computed from the cluster's objects. */
export class UncountableError extends Error {
  override readonly name = "UncountableError";
}

interface Controller {
  readonly uid: string;
  readonly replicas: number;
}

type Replicated = KubeObject & { readonly spec?: { readonly replicas?: number } };

const BUILT_IN: readonly Resource<Replicated>[] = [
  { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments", namespaced: true },
  { apiVersion: "apps/v1", kind: "ReplicaSet", plural: "replicasets", namespaced: true },
  { apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true },
  { apiVersion: "v1", kind: "ReplicationController", plural: "replicationcontrollers", namespaced: true },
];

export async function scaleOf(client: KubeClient, pods: readonly Pod[]): Promise<Scale> {
  const replicas = new Map<string, number>();
  const unmanaged: Pod[] = [];
  for (const pod of pods) {
    const reference = controllerOf(pod);
    if (reference === undefined) unmanaged.push(pod);
    else if (!replicas.has(reference.uid)) {
      const controller = await controllerFor(client, reference, pod.metadata.namespace ?? "");
      if (controller === undefined) throw new UncountableError(`found no controllers for pod "${pod.metadata.name}"`);
      replicas.set(controller.uid, controller.replicas);
    }
  }
  return { expected: [...replicas.values()].reduce((sum, count) => sum + count, 0), unmanaged };
}

async function controllerFor(
  client: KubeClient,
  reference: V1OwnerReference,
  namespace: string,
): Promise<Controller | undefined> {
  const { apiVersion, kind, name, uid } = reference;
  const builtIn = BUILT_IN.find((resource) => resource.kind === kind && resource.apiVersion === apiVersion);
  if (builtIn === undefined) return scaled(client, reference, namespace);
  const found = await client.get(builtIn, { namespace, name });
  if (found?.metadata.uid !== uid) return undefined;
  // If a Deployment owns the ReplicaSet, the Deployment's replicas are used.
  const above = controllerOf(found);
  if (above?.kind === "Deployment") return controllerFor(client, above, namespace);
  return { uid, replicas: found.spec?.replicas ?? 1 };
}

async function scaled(
  client: KubeClient,
  { apiVersion, kind, name, uid }: V1OwnerReference,
  namespace: string,
): Promise<Controller | undefined> {
  const resource = (await discoverGroupVersion(client, apiVersion)).find((offered) => offered.kind === kind);
  if (resource === undefined) return undefined;
  if (!resource.subresources.includes("scale"))
    throw new UncountableError(`${qualifiedName(resource)} does not implement the scale subresource`);
  const path = pathOf(resource, { namespace, name }, "scale");
  const scale = (await client.read(path)) as Replicated | undefined;
  return scale && { uid, replicas: scale.spec?.replicas ?? 0 };
}

function qualifiedName({ apiVersion, plural }: DiscoveredResource): string {
  return apiVersion.includes("/") ? `${plural}.${apiVersion.split("/")[0]}` : plural;
}
