/**
 * Who asks: the right bearer, a wrong one, somebody else's, several; and the signatures of deliveries.
 * Owns: these headers. Does not own: what follows from them (contract).
 */
import { createHmac } from "node:crypto";
import { SECRETS } from "../canaries.ts";
import { oddString } from "../json-mutations.ts";
import type { Random } from "../random.ts";

export type Header = readonly [name: string, value: string];

export type Caller = "webhook" | "operator";

const { webhookToken, operatorToken } = SECRETS;
const TOKENS = {
  webhook: [webhookToken, operatorToken],
  operator: [operatorToken, webhookToken],
} as const satisfies Record<Caller, readonly [own: string, other: string]>;

function one(value: string): readonly Header[] {
  return [["authorization", value]];
}

function oddAuthorization(token: string, random: Random): readonly Header[] {
  switch (random.below(12)) {
    case 0:
      return [];
    case 1:
      return one("");
    case 2:
      return one(`bearer   ${token}`);
    case 3:
      return one(`Bearer ${token} `);
    case 4:
      return one(`Bearer ${token}x`);
    case 5:
      return one(`Bearer ${token.slice(0, -1)}`);
    case 6:
      return one(`Basic ${random.pick([btoa(`lifeboat:${token}`), token])}`);
    case 7:
      return [...one(`Bearer ${token}`), ...one("Bearer other")];
    case 8:
      return one(`Bearer ${"x".repeat(60_000)}`);
    case 9:
      return one(`Bearer ${random.pick(Object.values(SECRETS))}`);
    case 10:
      return one(token);
    default:
      return one(`Bearer ${oddString(random)}`);
  }
}

export function authorization(caller: Caller, random: Random): readonly Header[] {
  // Where people have none of their own, the webhook's is theirs.
  const [own, other] = TOKENS[caller];
  const token = random.mostly(own, [other]);
  return random.chance(0.85) ? [["authorization", `Bearer ${token}`]] : oddAuthorization(token, random);
}

const CONTENT_TYPES: readonly string[] = [
  "application/cloudevents-batch+json; charset=utf-8",
  "Application/CloudEvents-Batch+JSON",
  "application/cloudevents+json",
  "application/json",
  "text/html",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  ";",
  "",
];

export function contentType(usual: string, random: Random): readonly Header[] {
  if (random.chance(0.05)) return [];
  return [["content-type", random.mostly(usual, CONTENT_TYPES)]];
}

/** Lengths that are announced and not kept. */
export function oddLength(random: Random): readonly Header[] {
  if (random.chance(0.97)) return [];
  return [["content-length", random.pick(["0", "1", "99999999999", "-1", "1e9", "NaN", ""])]];
}

/** `v1,<base64>` of Standard Webhooks. */
export function signatureOf(body: string, id: string, timestamp: string, secret: string): string {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

function oddSignature(right: string, random: Random): string {
  const wrong = right.replace(/.$/, "A").replace(/^v1,./, "v1,!");
  return random.pick([
    "",
    "v1,",
    wrong,
    right.replace("v1,", "v1a,"),
    right.replace("v1,", "v2,"),
    right.slice(3),
    `${wrong} ${right}`,
    `${right} ${wrong} v1a,AAAA`,
    `${right},${wrong}`,
    right.toUpperCase(),
    `${wrong} `.repeat(2000),
    `${" ".repeat(5000)}${right}`,
    oddString(random),
  ]);
}

const ODD_TIMES: readonly string[] = [
  "0", "-1", "NaN", "1e9", "0x5f5e100", " ", "", "999999999999", "9999999999999", "2026-11-20T12:00:00Z", "1.5", "٣",
]; // prettier-ignore

/** Of a delivery, signed at that time; by the real clock some seconds pass until it is received. */
export function signature(body: string, now: Date, random: Random): readonly Header[] {
  const seconds = Math.floor(now.getTime() / 1000);
  const fresh = String(seconds + random.pick([0, 0, 0, -280, 280]));
  const stale = String(seconds + random.pick([-320, 320, -86_400, 86_400]));
  const timestamp = random.chance(0.92) ? fresh : random.pick([stale, random.pick(ODD_TIMES)]);
  const id = random.mostly("msg_1", ["", "a.b", "x".repeat(5000), "💥", oddString(random)]);
  const secret = random.mostly(SECRETS.relaySecret, [SECRETS.oldRelaySecret, `whsec_${btoa("of nobody")}`]);
  const right = signatureOf(body, id, timestamp, secret);
  const signed: readonly Header[] = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", random.chance(0.9) ? right : oddSignature(right, random)],
  ];
  if (random.chance(0.95)) return signed;
  const kept = signed.filter(() => random.chance(0.6));
  return random.chance(0.5) ? kept : [...signed, random.pick(signed)];
}
