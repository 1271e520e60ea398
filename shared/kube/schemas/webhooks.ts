/** ValidatingWebhookConfigurations, Lifeboat's own and KubeVirt's: the fields that decide whether the API server asks. */
import * as z from "zod/mini";
import { kind, listOf, Meta, part, TextsOrNone, Text } from "./fields.ts";
import type { InstalledWebhook, InstalledWebhooks } from "../facts.ts";

const Selector = z.lazy(() => z.nullish(z.object({ matchLabels: TextsOrNone, matchExpressions: listOf(z.unknown()) })));

const Service = z.lazy(() =>
  z.object({ namespace: Text, name: z.string(), port: z._default(z.number(), 443), path: Text }),
);

const Webhook = kind(
  () => ({
    name: z.string(),
    clientConfig: part({ url: Text, service: z.nullish(Service) }),
    rules: listOf(
      z.object({
        operations: listOf(z.string()),
        apiGroups: listOf(z.string()),
        apiVersions: listOf(z.string()),
        resources: listOf(z.string()),
        scope: z._default(z.string(), "*"),
      }),
    ),
    matchConditions: listOf(z.object({ name: z.string(), expression: z.string() })),
    namespaceSelector: Selector,
    objectSelector: Selector,
    failurePolicy: z._default(z.string(), "Fail"),
    matchPolicy: z._default(z.string(), "Equivalent"),
    timeoutSeconds: z._default(z.number(), 10),
    admissionReviewVersions: listOf(z.string()),
  }),
  ({ clientConfig: { url, service }, namespaceSelector, objectSelector, ...rest }): InstalledWebhook => ({
    ...rest,
    url: service ? urlOf(service) : url,
    isService: Boolean(service),
    selectors: Object.entries({ namespaceSelector, objectSelector }).flatMap(([field, selector]) => {
      const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
      return Object.keys(matchLabels).length + matchExpressions.length === 0 ? [] : [field];
    }),
  }),
);

function urlOf({ namespace = "", name, port, path = "/" }: z.output<typeof Service>): string {
  return `https://${name}.${namespace}.svc${port === 443 ? "" : `:${port}`}${path}`;
}

export const WebhookConfiguration = kind(
  () => ({ metadata: Meta, webhooks: listOf(Webhook) }),
  ({ metadata: { uid, resourceVersion }, webhooks }): InstalledWebhooks => ({ uid, resourceVersion, webhooks }),
);
