/**
 * Puts manifests into a cluster, as an administrator does.
 * Owns: where a manifest goes; what is there already is patched, not replaced. Does not own: what is in them.
 */
import type { KubeClient } from "./actors/client.ts";
import { discoverGroupVersion } from "./actors/discovery.ts";
import type { Manifest } from "./actors/rbac.ts";
import { isAlreadyExists } from "./actors/status-error.ts";

/** In order: a namespace comes before what is in it. */
export async function applyManifests(client: KubeClient, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) await applyManifest(client, manifest);
}

async function applyManifest(client: KubeClient, manifest: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = manifest;
  const resource = (await discoverGroupVersion(client, apiVersion)).find((offered) => offered.kind === kind);
  if (resource === undefined) throw new Error(`the API server does not know ${apiVersion} ${kind}`);
  try {
    await client.create(resource, manifest);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await client.patch(resource, metadata, { type: "merge", body: manifest });
  }
}
