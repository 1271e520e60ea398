/** Who asks: the cluster's API server or Prometheus by a token, its relay by a signature. Everything is compared in constant time. */
import type { Context } from "hono";
import { timingSafeEqual } from "hono/utils/buffer";
import type { ClusterEntry } from "../shared/settings/clusters.ts";
import { RejectionError } from "./errors.ts";

/** Throws where the caller is not who they have to be. */
export type Verify = (c: Context, entry: ClusterEntry, now: Date) => Promise<void>;

/** An API server may send its token in the path: some can send no header. */
export const asWebhook: Verify = async (c, { webhookToken }) => {
  const presented = bearerOf(c) ?? c.req.param("webhookToken");
  if (!(await isOneOf(webhookToken, presented))) throw new RejectionError("Unauthorized");
};

const NOT_THE_OPERATOR =
  "expected the cluster's operatorToken, or its webhookToken where it has none, as Authorization: Bearer TOKEN";

export const asOperator: Verify = async (c, { webhookToken, operatorToken = webhookToken }) => {
  if (await isOneOf(operatorToken, bearerOf(c))) return;
  throw new RejectionError("Unauthorized", { message: NOT_THE_OPERATOR });
};

export const asRelay: Verify = async (c, { relaySecret = [] }, now) => {
  const payload = await c.req.text();
  const read = (name: string) => c.req.header(`webhook-${name}`) ?? "";
  const headers = { id: read("id"), timestamp: read("timestamp"), signature: read("signature") };
  if (!(await isSigned(payload, headers, [relaySecret].flat(), now))) throw new RejectionError("BadSignature");
};

function bearerOf(c: Context): string | undefined {
  return /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
}

/** One path for a missing and for a wrong token. Each of the expected ones is compared, whichever it is. */
async function isOneOf(expected: string | readonly string[], presented = ""): Promise<boolean> {
  return (await Promise.all([expected].flat().map((token) => isToken(presented, token)))).includes(true);
}

/** Of expected tokens only, which are as few as clusters: each is asked for with every request. */
const kept = new Map<string, string>();

async function isToken(presented: string, expected: string): Promise<boolean> {
  const digest = kept.get(expected) ?? (await sha256(expected));
  kept.set(expected, digest);
  // Equally long, and no caller can choose what they are: hashed once more they would be no better to compare.
  return await timingSafeEqual(await sha256(presented), digest, (hashed: string) => hashed);
}

/** One character a byte. */
async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return String.fromCharCode(...new Uint8Array(digest));
}

const TOLERANCE_SECONDS = 5 * 60;
/** Senders sign with an old and a new secret while rotating. A stranger may send a header of thousands. */
const MOST_SIGNATURES = 8;
const HMAC = { name: "HMAC", hash: "SHA-256" };

export interface SignatureHeaders {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: string;
  /** `v1,<base64>`, several separated by spaces. */
  readonly signature: string;
}

/**
 * Whether one of the signatures was made with one of the secrets, not more than five minutes from now:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 *
 * The relay signs with the library standardwebhooks. Here that would bring its own SHA-256 along: a twentieth of the bundle, and tens of
 * milliseconds of CPU for the largest delivery.
 */
export async function isSigned(
  payload: string,
  { id, timestamp, signature }: SignatureHeaders,
  secrets: readonly string[],
  now: Date,
): Promise<boolean> {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  const fresh = Math.abs(now.getTime() / 1000 - seconds) <= TOLERANCE_SECONDS;
  if (!fresh || id === "") return false;
  const signed = `${id}.${timestamp}.${payload}`;
  const expected = await Promise.all(secrets.map((secret) => sign(signed, secret)));
  const pairs = signature
    .split(" ", MOST_SIGNATURES)
    .flatMap((given) => expected.map((e) => timingSafeEqual(given, e)));
  return (await Promise.all(pairs)).includes(true);
}

/** `whsec_<base64>`, which the configuration has been checked for. */
async function sign(text: string, secret: string): Promise<string> {
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign(HMAC, key, new TextEncoder().encode(text)));
  return `v1,${btoa(String.fromCharCode(...signature))}`;
}
