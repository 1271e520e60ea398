/** Draws the credentials of callers: right, wrong or repeated bearer tokens, another caller's token, and signatures. */
import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { oddString } from "../../../support/generators/json.ts";
import { often, usually } from "../../../support/generators/often.ts";
import { SECRETS } from "../canaries.ts";
import type { Header } from "./request.ts";

export type Caller = "webhook" | "operator";

const { webhookToken, operatorToken } = SECRETS;

function oddAuthorizations(token: string): readonly (readonly string[])[] {
  return [
    [],
    [`bearer   ${token}`],
    [`Bearer ${token} `],
    [`Bearer ${token}x`],
    [`Bearer ${token.slice(0, -1)}`],
    [`Basic ${token}`],
    [`Bearer ${token}`, "Bearer other"],
    ...Object.values(SECRETS).map((secret) => [`Bearer ${secret}`]),
    [token],
  ];
}

const oddBearer = oddString.map((word) => [`Bearer ${word}`]);

/** Returns a caller's credentials. Without a separate token for people, the webhook's token is used. */
export function authorization(caller: Caller): fc.Arbitrary<readonly Header[]> {
  const token = caller === "webhook" ? often(webhookToken, operatorToken) : often(operatorToken, webhookToken);
  const right = token.map((one) => [`Bearer ${one}`]);
  const odd = token.chain((one) => fc.constantFrom(...oddAuthorizations(one)));
  const values = usually(right, usually(odd, oddBearer), 7);
  return values.map((all) => all.map((value) => ["authorization", value]));
}

const CONTENT_TYPES = [
  "Application/CloudEvents-Batch+JSON; charset=utf-8",
  "application/cloudevents+json",
  "application/json",
  "text/html",
  ";",
];

export function contentType(usual: string): fc.Arbitrary<readonly Header[]> {
  return usually(
    often(usual, ...CONTENT_TYPES).map((type): readonly Header[] => [["content-type", type]]),
    fc.constant([]),
    20,
  );
}

export function signatureOf(body: string, id: string, timestamp: string, secret: string): string {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

function wrong(right: string): string {
  return right.replace(/.$/, "A").replace(/^v1,./, "v1,!");
}

const ODD_SIGNATURES: readonly ((right: string) => string)[] = [
  () => "",
  wrong,
  (right) => right.replace("v1,", "v2,"),
  (right) => `${wrong(right)} ${right}`,
  (right) => `${right} ${wrong(right)} v1a,AAAA`,
  (right) => `${right},${wrong(right)}`,
  (right) => `${wrong(right)} `.repeat(2000),
  (right) => `${" ".repeat(5000)}${right}`,
];
const ODD_TIMES = ["0", "-1", "NaN", "1e9", "0x5f5e100", "", "9999999999999", "2026-11-20T12:00:00Z", "1.5", "٣"];

/** Signs a delivery at the time of sending. With the real clock, Lifeboat receives the delivery some seconds later. */
export const signing = fc
  .record({
    at: usually(
      fc.constantFrom(0, 0, 0, -280, 280),
      fc.constantFrom<number | string>(-320, 320, -86_400, 86_400, ...ODD_TIMES),
      12,
    ),
    id: often("msg_1", "", "a.b", "x".repeat(5000), "💥"),
    secret: often<string>(SECRETS.relaySecret, SECRETS.oldRelaySecret, `whsec_${btoa("of nobody")}`),
    odd: usually(
      fc.constant((right: string) => right),
      fc.constantFrom(...ODD_SIGNATURES),
    ),
    without: often<number | undefined>(undefined, 0, 1, 2),
    twice: often<number | undefined>(undefined, 0, 1, 2),
  })
  .map(({ at, id, secret, odd, without, twice }) => (body: string, now: Date): readonly Header[] => {
    const timestamp = typeof at === "string" ? at : String(Math.floor(now.getTime() / 1000) + at);
    const signed: readonly Header[] = [
      ["webhook-id", id],
      ["webhook-timestamp", timestamp],
      ["webhook-signature", odd(signatureOf(body, id, timestamp, secret))],
    ];
    return [...signed.filter((_, i) => i !== without), ...signed.filter((_, i) => i === twice)];
  });
