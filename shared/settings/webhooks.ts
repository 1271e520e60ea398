/**
 * Checks whether the installed webhook configurations send the API server's requests to Lifeboat. A URL contains a
 * token, so no message contains any part of it.
 */
import { GUARD_CAUSES, isGateOn } from "./guarded.ts";
import { GUARD_WEBHOOKS, OWN_WEBHOOKS } from "../kube/names.ts";
import type { Settings } from "./settings.ts";
import type { InstalledWebhook, InstalledWebhooks } from "../kube/facts.ts";
import type { CertificateFacts, Validity } from "./certificate.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

export const WEBHOOK_ENDPOINTS = ["evictions", "deletions"] as const;
export type WebhookEndpoint = (typeof WEBHOOK_ENDPOINTS)[number];
export const WEBHOOK_OBJECTS = { evictions: OWN_WEBHOOKS, deletions: GUARD_WEBHOOKS } as const;
export const WEBHOOK_RESOURCES = {
  evictions: "validatingwebhookconfigurations",
  deletions: "mutatingwebhookconfigurations",
} as const;

export interface WebhookExpectation {
  readonly endpoint: WebhookEndpoint;
  readonly cluster: string;
  /** The valid tokens of the endpoint. Never log a token. */
  readonly tokens: readonly string[];
  readonly settings: Pick<Settings, "featureGates">;
  /**
   * Compares Lifeboat's certificate with a caBundle. Absent in a Worker, because Cloudflare provides its certificate.
   */
  readonly trust?: (caBundle: string) => CertificateFacts;
}

export interface WebhookState {
  readonly endpoint: WebhookEndpoint;
  readonly problem?: { readonly reason: "WebhookMissing" | "WebhookMisconfigured"; readonly message: string };
  /** The validity periods of the certificate and of the CA that the API server trusts. */
  readonly chain?: readonly Validity[];
}

/** Checks a webhook configuration. Returns undefined if the guard is off and not installed. */
export function webhookState(
  installed: InstalledWebhooks | undefined,
  e: WebhookExpectation,
): WebhookState | undefined {
  return installed === undefined ? missing(e) : installedState(installed, e);
}

function missing({ endpoint, settings }: WebhookExpectation): WebhookState | undefined {
  const isWanted = endpoint === "evictions" || GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
  const message = MESSAGES.webhookMissing(WEBHOOK_OBJECTS[endpoint]);
  return isWanted ? { endpoint, problem: { reason: "WebhookMissing", message } } : undefined;
}

function installedState(installed: InstalledWebhooks, e: WebhookExpectation): WebhookState {
  const { endpoint } = e;
  const own = installed.webhooks.find(({ name }) => name === `${endpoint}.lifeboat.dev`);
  const certificate = own && e.trust?.(own.caBundle ?? "");
  const state = { endpoint, ...(certificate && { chain: certificate.chain }) };
  const mismatches = [
    ...(own === undefined ? [MESSAGES.webhookAbsent(endpoint)] : mismatchesOf(own, e)),
    ...(certificate?.trusted === false ? [MESSAGES.webhookUntrusted] : []),
  ];
  if (mismatches.length === 0) return state;
  const message = MESSAGES.webhookWrong(WEBHOOK_OBJECTS[endpoint], mismatches);
  return { ...state, problem: { reason: "WebhookMisconfigured", message } };
}

function mismatchesOf({ url = "" }: InstalledWebhook, { endpoint, cluster, tokens }: WebhookExpectation): string[] {
  const parts = partsOfUrl(url);
  if (parts?.endpoint !== endpoint || parts.cluster !== cluster) {
    return [MESSAGES.webhookPath(cluster, endpoint)];
  }
  const isKnown = parts.token === undefined || tokens.includes(parts.token);
  return isKnown ? [] : [MESSAGES.webhookToken];
}

/** The path consists of a prefix, `/clusters`, the cluster, the endpoint and the token. */
const PATH = /^(.*)\/clusters\/([^/]+)\/admission\/([^/]+)(?:\/([^/]+))?$/;

/** Returns the parts of the URL, including the token. Returns undefined if the URL is not an endpoint of Lifeboat. */
export function partsOfUrl(url: string) {
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
