/** Reads what `lifeboat doctor` judges. Nothing of the cluster is changed. */
import * as z from "zod/mini";
import { readConfiguration } from "../../../shared/cluster/read-configuration.ts";
import { ConfigMap, Version, WebhookConfiguration } from "../../../shared/cluster/kinds/kubernetes.ts";
import { Conditions, Count, listOf, part, Quantity, Text } from "../../../shared/cluster/kinds/fields.ts";
import { KubeVirt } from "../../../shared/cluster/kinds/kubevirt.ts";
import { OwnWebhooks } from "../../../shared/cluster/kinds/webhooks.ts";
import { object, type Resource } from "../../../shared/cluster/paths.ts";
import { parseAnswer, readItems, readOne } from "../../../shared/cluster/read.ts";
import * as names from "../../../shared/policy/names.ts";
import { SHIPPED } from "../../../shared/policy/webhooks/compare.ts";
import type { Connection } from "../connection.ts";
import { listTokens } from "../install/token.ts";
import { type Read, valueOf } from "./check.ts";
import {
  API,
  type Facts,
  type KubeVirtSeen,
  type DeploymentFacts,
  type SiteFacts,
  type VersionFacts,
} from "./facts.ts";
import { OWN, type Permission } from "./permissions.ts";
import { readGranted, readOwn } from "./read-access.ts";
import { attempt } from "./read.ts";
import { tryEviction } from "./try-eviction.ts";

const RELAY = { namespace: names.LIFEBOAT_NAMESPACE, name: "lifeboat-relay" };

export async function readVersion(connection: Connection): Promise<Read<VersionFacts>> {
  return await attempt(connection, undefined, async () => {
    const { body } = await connection.send()({ method: "GET", path: "/version" });
    const { minor } = parseAnswer(Version, body, "GET /version");
    const { gitVersion } = parseAnswer(z.object({ gitVersion: z.string() }), body, "GET /version");
    return { text: gitVersion.replace(/^v/, ""), minor: Number.parseInt(minor, 10) || undefined };
  });
}

/** Of a cluster that answers. */
export async function readFacts(connection: Connection, version: Read<VersionFacts>, now: Date): Promise<Facts> {
  const served = await attempt(connection, undefined, () => discover(connection));
  const serves = (group: string) => valueOf(served)?.has(group) === true;
  const kubevirt = await attempt(connection, OWN.kubevirt, async () => {
    return serves(API.kubevirt) ? await readKubeVirt(connection) : undefined;
  });
  return {
    now,
    context: connection.context,
    server: connection.server,
    version,
    own: await readOwn(connection),
    served,
    kubevirt,
    reviewers: await webhooks(connection, names.KUBEVIRT_WEBHOOKS, WebhookConfiguration, ({ webhooks }) => webhooks),
    configuration: await attempt(connection, OWN.configuration, () => readConfiguration(connection.send())),
    webhooks: {
      evictions: await webhooks(connection, SHIPPED.evictions.object, OwnWebhooks, (found) => found),
      deletions: await webhooks(connection, SHIPPED.deletions.object, OwnWebhooks, (found) => found),
    },
    granted: await readGranted(connection),
    trial: await tryEviction(connection, valueOf(kubevirt)?.facts.evictionStrategy, serves(API.kubevirt)),
    relay: await deployment(connection, OWN.relay, serves(API.apps)),
    inside: await deployment(connection, OWN.inside, serves(API.apps)),
    site: await attempt(connection, OWN.site, () => readSite(connection)),
    tokens: await attempt(connection, OWN.tokens, () => readTokens(connection)),
    hasPlugin: await attempt(connection, OWN.plugin, async () => serves(API.plugins) && (await readPlugin(connection))),
  };
}

const LISTED: readonly string[] = Object.values(API);

const Groups = z.object({
  kind: z.literal("APIGroupList"),
  groups: z.array(z.object({ versions: z.array(z.object({ groupVersion: z.string() })) })),
});
const Resources = z.object({ kind: z.literal("APIResourceList"), resources: z.array(z.object({ name: z.string() })) });

async function discover(connection: Connection): Promise<ReadonlyMap<string, readonly string[]>> {
  const get = async <S extends z.ZodMiniType>(path: string, schema: S) =>
    parseAnswer(schema, (await connection.send()({ method: "GET", path })).body, `GET ${path}`);
  const { groups } = await get("/apis", Groups);
  const found = new Map<string, readonly string[]>();
  for (const { groupVersion } of groups.flatMap(({ versions }) => versions)) {
    const { resources } = LISTED.includes(groupVersion)
      ? await get(`/apis/${groupVersion}`, Resources)
      : { resources: [] };
    found.set(
      groupVersion,
      resources.map(({ name }) => name),
    );
  }
  return found;
}

const Seen = z.object({
  metadata: z.object({ name: z.string() }),
  spec: part({
    configuration: part({
      migrations: part({ bandwidthPerMigration: Quantity }),
    }),
    workloadUpdateStrategy: part({ workloadUpdateMethods: listOf(z.string()) }),
  }),
  status: part({ observedKubeVirtVersion: Text }),
});

/** KubeVirt allows one. */
async function readKubeVirt(connection: Connection): Promise<KubeVirtSeen | undefined> {
  const [first] = await readItems(connection.send(), "kubevirts");
  if (first === undefined) return undefined;
  const { metadata, spec, status } = parseAnswer(Seen, first, "GET of KubeVirt");
  return {
    facts: parseAnswer(KubeVirt, first, "GET of KubeVirt"),
    name: metadata.name,
    version: status.observedKubeVirtVersion ?? "",
    bandwidthPerMigration: spec.configuration.migrations.bandwidthPerMigration ?? "",
    workloadUpdateMethods: spec.workloadUpdateStrategy.workloadUpdateMethods,
  };
}

async function webhooks<S extends z.ZodMiniType, T>(
  connection: Connection,
  name: string,
  schema: S,
  of: (found: z.output<S>) => T,
): Promise<Read<T | undefined>> {
  const resource: Resource = "validatingwebhookconfigurations";
  return await attempt(connection, { ...OWN.webhooks, name }, async () => {
    const found = await readOne(connection.send(), resource, { namespace: "", name }, schema);
    return found === undefined ? undefined : of(found);
  });
}

const Deployment = z.object({
  spec: z.object({ replicas: z._default(z.number(), 1) }),
  status: part({ availableReplicas: Count, conditions: Conditions }),
});

async function deployment(
  connection: Connection,
  needs: Permission,
  isServed: boolean,
): Promise<Read<DeploymentFacts | undefined>> {
  const path = `/apis/apps/v1/namespaces/${needs.namespace}/deployments/${needs.name}`;
  return await attempt(connection, needs, async () => {
    if (!isServed) return undefined;
    const { code, body } = await connection.send()({ method: "GET", path, expect: [404] });
    if (code === 404) return undefined;
    const { spec, status } = parseAnswer(Deployment, body, `GET ${path}`);
    const wrong = status.conditions.filter((one) => one.status === "False").flatMap(({ message }) => message ?? []);
    return { wanted: spec.replicas, available: status.availableReplicas, message: wrong.join("; ") };
  });
}

async function readSite(connection: Connection): Promise<SiteFacts | undefined> {
  const found = await readOne(connection.send(), "configmaps", RELAY, ConfigMap);
  if (found === undefined) return undefined;
  return { url: found.data["LIFEBOAT_URL"] ?? "", cluster: found.data["LIFEBOAT_CLUSTER"] ?? "" };
}

/** Without the tokens. */
async function readTokens(connection: Connection) {
  const found = await listTokens(connection.send());
  return found.map(({ name, createdAt, isUsed }) => ({ name, createdAt, isUsed }));
}

async function readPlugin(connection: Connection): Promise<boolean> {
  const path = object("plugins", { namespace: "", name: names.SHIELD_PLUGIN });
  return (await connection.send()({ method: "GET", path, expect: [404] })).code !== 404;
}
