/**
 * How many pods the controllers of some pods want.
 * Owns: asking any kind's scale subresource, built-in or custom. Does not own: what the number is for (disruption.ts).
 */
import type { V1OwnerReference } from "@kubernetes/client-node";
import type { KubeClient } from "./client.ts";
import { discoverGroupVersion } from "./discovery.ts";
import { controllerOf, type Pod } from "./resources.ts";
import { StatusError, type Status } from "./status-error.ts";

export interface Scale {
  readonly expected: number;
  /** Pods that nobody controls. */
  readonly unmanaged: readonly Pod[];
}

export async function scaleOf(client: KubeClient, pods: readonly Pod[]): Promise<Scale> {
  const byController = new Map<string, number>();
  const unmanaged: Pod[] = [];
  for (const pod of pods) {
    const controller = controllerOf(pod);
    if (controller === undefined) unmanaged.push(pod);
    else if (!byController.has(controller.uid)) {
      const replicas = await replicasOf(client, controller, pod.metadata.namespace ?? "");
      if (replicas === undefined) throw new Error(`found no controllers for pod "${pod.metadata.name}"`);
      byController.set(controller.uid, replicas);
    }
  }
  return { expected: [...byController.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged };
}

async function replicasOf(
  client: KubeClient,
  { apiVersion, kind, name }: V1OwnerReference,
  namespace: string,
): Promise<number | undefined> {
  const offered = await discoverGroupVersion(client, apiVersion);
  const resource = offered.find((resource) => resource.kind === kind);
  if (resource === undefined) return undefined;
  const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  const qualified = group === "" ? resource.plural : `${resource.plural}.${group}`;
  if (!resource.subresources.includes("scale"))
    throw new Error(`${qualified} does not implement the scale subresource`);
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const path = `${root}/namespaces/${namespace}/${resource.plural}/${name}/scale`;
  const { code, body } = await client.raw({ method: "GET", path });
  if (code === 404) return undefined;
  if (code >= 400) throw new StatusError(code, body as Partial<Status>, `GET ${path}`);
  return (body as { spec?: { replicas?: number } }).spec?.replicas ?? 0;
}
