/** How Lifeboat itself is installed in a cluster: its token, and the webhook objects that make the API server ask it. */
import type { Context } from "hono";
import { expiryOf } from "../shared/settings/token-expiry.ts";
import { type Client, named } from "../shared/kube/client.ts";
import { ClusterError } from "../shared/kube/failures.ts";
import { isTokenAccepted } from "../shared/kube/reviews.ts";
import { type CredentialFacts, judgeCredential } from "../shared/settings/credential.ts";
import type { Settings } from "../shared/settings/settings.ts";
import {
  compareWebhook,
  type Comparison,
  type Installation,
  WEBHOOK_ENDPOINTS,
  WEBHOOK_OBJECTS,
} from "../shared/settings/webhooks.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

/**
 * Whether the API server of a cluster accepts Lifeboat. What else may be wrong, the conditions of the LifeboatConfiguration say, and
 * `lifeboat doctor`. An API server that does not answer is a ClusterError, as in every route.
 */
export async function clusterReadyz(c: Context, target: Target): Promise<Response> {
  const rejected = !(await isTokenAccepted(target.connect(READ_SECONDS)));
  const credential = { expiresAt: expiryOf(target.entry.token), rejected };
  const { ok, message } = judgeCredential(credential, target.platform.now());
  return c.json({ ready: ok, message }, ok ? 200 : 503);
}

export async function credentialOf({ entry }: Target, cluster: Client): Promise<CredentialFacts> {
  return { expiresAt: expiryOf(entry.token), rejected: !(await isAccepted(cluster)) };
}

/** An API server that does not answer has not rejected anything. */
export async function isAccepted(cluster: Client): Promise<boolean> {
  return await orWhenUnread(isTokenAccepted(cluster), true);
}

async function orWhenUnread<T, F>(reading: Promise<T>, otherwise: F): Promise<T | F> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return otherwise;
  }
}

/** Where there is something to be done. */
export function logCredential(facts: CredentialFacts, { name, platform }: Target): void {
  const { ok, reason, message } = judgeCredential(facts, platform.now());
  if (reason !== "Valid") platform.log({ level: ok ? "warn" : "error", cluster: name, reason, message });
}

export async function lookAtWebhooks(
  target: Target,
  cluster: Client,
  settings: Settings,
): Promise<readonly Comparison[]> {
  const { name, entry, publicUrl } = target;
  const tokens = [entry.webhookToken].flat();
  return await Promise.all(
    WEBHOOK_ENDPOINTS.map(async (endpoint) => {
      const reading = cluster.get("validatingwebhookconfigurations", named(WEBHOOK_OBJECTS[endpoint]));
      // What cannot be read is not known to be wrong.
      const installed: Installation = (await orWhenUnread(reading, "Unread")) ?? "Absent";
      return compareWebhook(installed, { endpoint, cluster: name, tokens, publicUrl, settings });
    }),
  );
}

/** What is wrong: once for each full scan. */
export function logWebhooks(webhooks: readonly Comparison[], { name, platform }: Target): void {
  for (const message of webhooks.flatMap(({ problems }) => problems)) {
    platform.log({ level: "error", cluster: name, reason: "WebhookNotCalled", message });
  }
}
