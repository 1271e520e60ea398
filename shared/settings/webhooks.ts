/** Whether the webhook objects that are installed lead the API server to Lifeboat. A URL holds a token: no message repeats any part of it. */
import { GUARD_CAUSES, isGateOn } from "./guarded.ts";
import { GUARD_WEBHOOKS, OWN_WEBHOOKS } from "../kube/names.ts";
import type { Settings } from "./settings.ts";
import type { InstalledWebhooks } from "../kube/facts.ts";

export const WEBHOOK_ENDPOINTS = ["evictions", "deletions"] as const;
export type WebhookEndpoint = (typeof WEBHOOK_ENDPOINTS)[number];
export const WEBHOOK_OBJECTS = { evictions: OWN_WEBHOOKS, deletions: GUARD_WEBHOOKS } as const;

export interface WebhookExpectation {
  readonly endpoint: WebhookEndpoint;
  /** Lifeboat's name of the cluster. */
  readonly cluster: string;
  /** Each of them opens the endpoint. Never to be logged. */
  readonly tokens: readonly string[];
  readonly settings: Pick<Settings, "featureGates">;
}

export interface WebhookState {
  readonly endpoint: WebhookEndpoint;
  /** What keeps the API server from asking. */
  readonly problem?: { readonly reason: "WebhookMissing" | "WebhookMisconfigured"; readonly message: string };
}

/** Undefined for a guard that is neither wanted nor there. */
export function webhookState(
  installed: InstalledWebhooks | undefined,
  e: WebhookExpectation,
): WebhookState | undefined {
  const { endpoint } = e;
  const object = WEBHOOK_OBJECTS[endpoint];
  if (installed === undefined) {
    const isWanted = endpoint === "evictions" || GUARD_CAUSES.some((cause) => isGateOn(cause, e.settings));
    const message = `${object}: there is no such object: lifeboat install`;
    return isWanted ? { endpoint, problem: { reason: "WebhookMissing", message } } : undefined;
  }
  const own = installed.webhooks.find(({ name }) => name === `${endpoint}.lifeboat.dev`);
  if (leadsTo(own?.url ?? "", e)) return { endpoint };
  const path = `/clusters/${e.cluster}/admission/${endpoint}`;
  const message = `${object}: expected a webhook ${endpoint}.lifeboat.dev whose path is ${path} and a webhookToken of this cluster`;
  return { endpoint, problem: { reason: "WebhookMisconfigured", message } };
}

function leadsTo(url: string, { endpoint, cluster, tokens }: WebhookExpectation): boolean {
  const parts = partsOf(url);
  if (parts?.endpoint !== endpoint || parts.cluster !== cluster) return false;
  return parts.token === undefined || tokens.includes(parts.token);
}

/** What is before `/clusters`, the cluster, the endpoint, the token. */
const PATH = /^(.*)\/clusters\/([^/]+)\/admission\/([^/]+)(?:\/([^/]+))?$/;

/** Undefined: it leads to no endpoint of Lifeboat's. Holds the token. */
export function partsOf(url: string) {
  const [found, base = "", cluster = "", endpoint = "", token] = PATH.exec(url) ?? [];
  if (found === undefined) return undefined;
  return { base, cluster: decoded(cluster), endpoint, token: token === undefined ? undefined : decoded(token) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
