/** Applies manifests to a cluster. */
import type { KubeClient } from "./actors/client.ts";
import { discoverGroupVersion } from "./actors/discovery.ts";
import type { Manifest } from "./actors/rbac.ts";
import type { KubeObject, Resource } from "./actors/resources.ts";
import { isAlreadyExists } from "./actors/status-error.ts";
import { waitFor } from "./actors/wait-for.ts";

/**
 * Applies CRDs first, and waits until the API server serves their kinds. Then applies the other manifests in the given
 * order.
 */
export async function applyManifests(client: KubeClient, manifests: readonly Manifest[]): Promise<void> {
  const { kind } = definitions;
  const [first, rest] = [manifests.filter((one) => one.kind === kind), manifests.filter((one) => one.kind !== kind)];
  const apply = createApplier(client);
  await Promise.all(first.map(apply));
  await Promise.all(
    first.map(({ metadata }) =>
      waitFor(client, { resource: definitions, key: metadata, what: "established", until: isEstablished }),
    ),
  );
  for (const manifest of rest) await apply(manifest);
}

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const definitions: Resource<Definition> = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

function isEstablished({ status }: Definition): boolean {
  return (status?.conditions ?? []).some((one) => one.type === "Established" && one.status === "True");
}

function createApplier(client: KubeClient): (manifest: Manifest) => Promise<void> {
  const discovered = new Map<string, ReturnType<typeof discoverGroupVersion>>();
  return async (manifest) => {
    const { apiVersion, kind, metadata } = manifest;
    const offers = discovered.get(apiVersion) ?? discoverGroupVersion(client, apiVersion);
    discovered.set(apiVersion, offers);
    const resource = (await offers).find((offered) => offered.kind === kind);
    if (resource === undefined) throw new Error(`the API server does not know ${apiVersion} ${kind}`);
    try {
      await client.create(resource, manifest);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await client.patch(resource, metadata, { type: "merge", body: manifest });
    }
  };
}
