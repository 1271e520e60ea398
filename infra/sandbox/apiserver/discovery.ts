/** Discovery: lists the served groups, versions and resources. */
import { REVIEWS } from "./access-reviews.ts";
import type { RequestContext } from "./context.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { apiVersionOf } from "./objects.ts";
import { readYaml } from "./read-yaml.ts";

interface Said {
  readonly version: object;
  readonly subresources: Readonly<Record<string, Pick<ApiResource, "verbs" | "group" | "version">>>;
}

export const { version: VERSION, subresources: SUBRESOURCES } = readYaml<Said>("discovery.yaml");

interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly group?: string;
  readonly version?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

function resourcesOf(kind: ResourceKind): readonly ApiResource[] {
  const { plural, singular, namespaced, shortNames, categories } = kind;
  const base = { namespaced, kind: kind.kind };
  const optional = { ...(shortNames.length > 0 && { shortNames }), ...(categories.length > 0 && { categories }) };
  return [
    { ...base, name: plural, singularName: singular, verbs: kind.verbs, ...optional },
    ...[...kind.subresources, ...(kind.hasStatus ? ["status"] : [])].map((name) => {
      const { verbs = [], ...other } = SUBRESOURCES[name] ?? {};
      return { ...base, name: `${plural}/${name}`, singularName: "", verbs, ...other };
    }),
  ];
}

interface Version {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ApiResource[];
}

export function versionsOf(ctx: RequestContext): readonly Version[] {
  const versions = new Map<string, ApiResource[]>();
  const add = (apiVersion: string, resources: readonly ApiResource[]): void => {
    versions.set(apiVersion, [...(versions.get(apiVersion) ?? []), ...resources]);
  };
  for (const kind of ctx.state.kinds.all()) add(apiVersionOf(kind.group, kind.version), resourcesOf(kind));
  for (const { group, plural, kind, namespaced } of REVIEWS) {
    add(`${group}/v1`, [{ name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs: ["create"] }]);
  }
  return [...versions].map(([apiVersion, resources]) => {
    const [first = "", second] = apiVersion.split("/");
    const place = second === undefined ? { group: "", version: first } : { group: first, version: second };
    return { ...place, resources: resources.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
  });
}

/**
 * Answers `/api`. If the client accepts the aggregated format, the answer lists all resources of the core group.
 * Otherwise it lists only the group's version.
 */
export function coreDiscovery(ctx: RequestContext): Discovery {
  const versions = versionsOf(ctx).filter(({ group }) => group === "");
  const addresses = [{ clientCIDR: "0.0.0.0/0", serverAddress: ctx.headers.host ?? "" }];
  const plain = { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: addresses };
  return wantsAggregated(ctx) ? aggregated(versions) : { body: plain };
}

export function groupDiscovery(ctx: RequestContext): Discovery {
  const versions = versionsOf(ctx).filter(({ group }) => group !== "");
  if (wantsAggregated(ctx)) return aggregated(versions);
  const groups = Map.groupBy(versions, ({ group }) => group);
  return {
    body: { kind: "APIGroupList", apiVersion: "v1", groups: [...groups].map(([name, all]) => groupOf(name, all)) },
  };
}

function groupOf(name: string, versions: readonly Version[]) {
  const entries = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

/** Answers `/apis/<group>`. */
export function oneGroup(ctx: RequestContext, name: string): Discovery | undefined {
  const versions = versionsOf(ctx).filter(({ group }) => group === name && name !== "");
  return versions.length === 0
    ? undefined
    : { body: { kind: "APIGroup", apiVersion: "v1", ...groupOf(name, versions) } };
}

/** Answers `/api/v1` and `/apis/<group>/<version>`. */
export function resourceDiscovery(ctx: RequestContext, group: string, version: string): Discovery | undefined {
  const found = versionsOf(ctx).find((one) => one.group === group && one.version === version);
  if (found === undefined) return undefined;
  const { resources } = found;
  return { body: { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersionOf(group, version), resources } };
}

export interface Discovery {
  readonly body: unknown;
  readonly contentType?: string;
}

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

function wantsAggregated(ctx: RequestContext): boolean {
  return (ctx.headers.accept ?? "").replaceAll(" ", "").split(",").includes(AGGREGATED);
}

function aggregated(versions: readonly Version[]): Discovery {
  const groups = Map.groupBy(versions, ({ group }) => group);
  const items = [...groups].map(([name, all]) => ({
    metadata: { name, creationTimestamp: null },
    versions: all.map(({ version, resources }) => ({
      version,
      resources: aggregatedResources({ group: name, version }, resources),
      freshness: "Current",
    })),
  }));
  const body = { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
  return { body, contentType: AGGREGATED };
}

function aggregatedResources(place: { group: string; version: string }, resources: readonly ApiResource[]) {
  const subresourcesOf = (parent: string) =>
    resources
      .filter(({ name }) => name.startsWith(`${parent}/`))
      .map(({ name, kind, verbs, group, version }) => ({
        subresource: name.slice(parent.length + 1),
        responseKind: { group: group ?? place.group, version: version ?? place.version, kind },
        verbs,
      }));
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ name, singularName, namespaced, kind, verbs, shortNames, categories }) => ({
      resource: name,
      responseKind: { ...place, kind },
      scope: namespaced ? "Namespaced" : "Cluster",
      singularResource: singularName,
      verbs,
      ...(shortNames && { shortNames }),
      ...(categories && { categories }),
      subresources: subresourcesOf(name),
    }));
}
