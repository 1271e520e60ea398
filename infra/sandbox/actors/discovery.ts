/** Lists the kinds that an API server serves. */
import type { KubeClient } from "./client.ts";
import type { Resource } from "./resources.ts";

export interface DiscoveredResource extends Resource {
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

interface ApiResourceList {
  readonly resources: readonly { name: string; kind: string; namespaced: boolean; verbs: readonly string[] }[];
}

/** Lists the kinds of a group version. Returns an empty list if the group version does not exist. */
export async function discoverGroupVersion(
  client: KubeClient,
  apiVersion: string,
): Promise<readonly DiscoveredResource[]> {
  const found = await client.read(apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`);
  if (found === undefined) return [];
  const { resources } = found as ApiResourceList;
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ name, kind, namespaced, verbs }) => ({
      apiVersion,
      kind,
      plural: name,
      namespaced,
      verbs,
      subresources: resources
        .filter((other) => other.name.startsWith(`${name}/`))
        .map((other) => other.name.slice(name.length + 1)),
    }));
}

/** Lists every kind once, in its preferred version. */
export async function discoverAll(client: KubeClient): Promise<readonly DiscoveredResource[]> {
  const groups = (await client.read("/apis")) as
    { groups: readonly { preferredVersion: { groupVersion: string } }[] } | undefined;
  const versions = ["v1", ...(groups?.groups ?? []).map(({ preferredVersion }) => preferredVersion.groupVersion)];
  return (await Promise.all(versions.map((version) => discoverGroupVersion(client, version)))).flat();
}
