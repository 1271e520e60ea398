/**
 * Points Lifeboat's webhooks at the server: each endpoint's path with its token, and the certificates to trust.
 *
 * The manifests leave both fields out, so that no file holds a secret, and applying them again changes neither.
 */
import * as z from "zod/mini";
import { type Client, meaningOf, named } from "../../shared/kube/client.ts";
import { kind, listOf, Meta, part, Text } from "../../shared/kube/schemas/fields.ts";
import { NAME, NAMESPACE, WEBHOOK_CONFIGURATIONS } from "./names.ts";

export interface Pointing {
  readonly cluster: string;
  readonly webhookToken: string;
  /** PEM; undefined: cert-manager's CA injector writes the caBundle. */
  readonly trusted: string | undefined;
}

const Webhook = z.lazy(() =>
  z.object({
    name: z.string(),
    clientConfig: part({
      caBundle: Text,
      service: z.nullish(z.object({ namespace: z.string(), name: z.string(), path: Text })),
    }),
  }),
);

const Configuration = kind(
  () => ({ metadata: Meta, webhooks: listOf(Webhook) }),
  ({ metadata: { resourceVersion }, webhooks }) => ({ resourceVersion, webhooks }),
);
type Configuration = z.output<typeof Configuration>;

const [EVICTIONS] = WEBHOOK_CONFIGURATIONS;
const RESOURCE = "validatingwebhookconfigurations";
const CHANGED = { 404: "Conflict", 409: "Conflict", 422: "Conflict" } as const;

/** `Conflict`: another writer was faster with one of them. `Missing`: the evictions' webhook is not installed yet. */
export async function pointWebhooks(pointing: Pointing, cluster: Client): Promise<"Done" | "Conflict" | "Missing"> {
  const results = await Promise.all(
    WEBHOOK_CONFIGURATIONS.map(async (name) => {
      const found = await cluster.get(RESOURCE, named(name), { as: Configuration });
      if (found === undefined) return name === EVICTIONS ? "Missing" : "Done";
      const changes = changesOf(found, pointing);
      if (changes.length === 0) return "Done";
      const test = { op: "test", path: "/metadata/resourceVersion", value: found.resourceVersion };
      const answer = await cluster.patch(RESOURCE, named(name), [test, ...changes]);
      return meaningOf(answer, CHANGED);
    }),
  );
  return (["Conflict", "Missing"] as const).find((result) => results.includes(result)) ?? "Done";
}

function changesOf({ webhooks }: Configuration, { cluster, webhookToken, trusted }: Pointing) {
  return webhooks.flatMap(({ name, clientConfig: { caBundle, service } }, index) => {
    if (service?.namespace !== NAMESPACE || service.name !== NAME) return [];
    const [endpoint = ""] = name.split(".");
    const path = `/clusters/${cluster}/admission/${endpoint}/${webhookToken}`;
    const bundle = trusted === undefined ? caBundle : Buffer.from(trusted).toString("base64");
    const at = `/webhooks/${index}/clientConfig`;
    return [
      ...(bundle === caBundle ? [] : [{ op: "add", path: `${at}/caBundle`, value: bundle }]),
      ...(path === service.path ? [] : [{ op: "add", path: `${at}/service/path`, value: path }]),
    ];
  });
}
