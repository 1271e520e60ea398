/**
 * Defines the schemas of webhook configurations, with only the fields that decide whether the API server calls a
 * webhook.
 */
import * as z from "zod/mini";
import { LARGE_FACTS } from "./bounds.ts";
import { kind, listOf, Meta, part, TextsOrNone, Text } from "./fields.ts";
import type { InstalledWebhook, InstalledWebhooks } from "../facts.ts";

const Selector = z.lazy(() => z.nullish(z.object({ matchLabels: TextsOrNone, matchExpressions: listOf(z.unknown()) })));

const Webhook = kind(
  () => ({
    name: z.string(),
    clientConfig: part({ url: Text, caBundle: Text, service: z.nullish(z.object({ path: Text })) }),
    rules: listOf(z.object({ operations: listOf(z.string()), resources: listOf(z.string()) })),
    matchConditions: listOf(z.object({ name: z.string(), expression: z.string() })),
    namespaceSelector: Selector,
    objectSelector: Selector,
    failurePolicy: z._default(z.string(), "Fail"),
  }),
  ({ clientConfig: { url, service, caBundle }, namespaceSelector, objectSelector, ...rest }): InstalledWebhook => ({
    ...rest,
    url: service ? service.path : url,
    caBundle,
    selectors: Object.entries({ namespaceSelector, objectSelector }).flatMap(([field, selector]) => {
      const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
      return Object.keys(matchLabels).length + matchExpressions.length === 0 ? [] : [field];
    }),
  }),
);

export const WebhookConfiguration = kind(
  () => ({ metadata: Meta, webhooks: listOf(Webhook) }),
  ({ metadata: { uid, resourceVersion }, webhooks }): InstalledWebhooks => ({ uid, resourceVersion, webhooks }),
  LARGE_FACTS,
);
