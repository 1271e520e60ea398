/**
 * What the server serves, as clients ask for it: groups, versions, resources, aggregated or one by one.
 * Owns: the discovery documents and /version. Does not own: the schemas (schema/openapi.ts).
 */
import { REVIEWS } from "./access-reviews.ts";
import type { RequestContext } from "./context.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { apiVersionOf } from "./objects.ts";

export const VERSION = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.2",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "2026-08-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "linux/amd64",
};

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

const SUBRESOURCE_VERBS: Readonly<Record<string, readonly string[]>> = {
  eviction: ["create"],
  binding: ["create"],
  token: ["create"],
  finalize: ["update"],
};

/** Subresources that take an object of another kind. */
const SUBRESOURCE_KINDS: Readonly<Record<string, { group: string; version: string; kind: string }>> = {
  eviction: { group: "policy", version: "v1", kind: "Eviction" },
  token: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
};

function resourcesOf(kind: ResourceKind): readonly ApiResource[] {
  const { plural, singular, namespaced, shortNames, categories } = kind;
  const base = { namespaced, kind: kind.kind };
  const status = { ...base, name: `${plural}/status`, singularName: "", verbs: ["get", "patch", "update"] };
  return [
    {
      ...base,
      name: plural,
      singularName: singular,
      verbs: kind.verbs,
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
    },
    ...kind.subresources.map((name) => ({
      ...base,
      name: `${plural}/${name}`,
      singularName: "",
      verbs: SUBRESOURCE_VERBS[name] ?? [],
      ...(name === "binding" && { kind: "Binding" }),
      ...SUBRESOURCE_KINDS[name],
    })),
    ...(kind.hasStatus ? [status] : []),
  ];
}

interface Version {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ApiResource[];
}

function versionsOf(ctx: RequestContext): readonly Version[] {
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

export function groupVersionsOf(ctx: RequestContext): readonly { group: string; version: string }[] {
  return versionsOf(ctx);
}

/** `/api`, or its aggregated form with all resources. */
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

/** `/apis/<group>` */
export function oneGroup(ctx: RequestContext, name: string): Discovery | undefined {
  const versions = versionsOf(ctx).filter(({ group }) => group === name && name !== "");
  return versions.length === 0
    ? undefined
    : { body: { kind: "APIGroup", apiVersion: "v1", ...groupOf(name, versions) } };
}

/** `/api/v1`, `/apis/<group>/<version>` */
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
