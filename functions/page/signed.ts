/**
 * Values that this Lifeboat has signed, as text.
 * Owns: `BASE64URL(json).BASE64URL(mac)`, and the key. Does not own: what is signed (session.ts).
 *
 * The key is made of secrets that are there already, mostly the cluster's own two tokens: there is no further secret to keep, and once one
 * of them is replaced, nothing that was signed with it counts any more. Neither of those who hold one of them can sign.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import type { ClusterEntry } from "../../shared/config/clusters.ts";

/** Signed for one of them, a text counts for no other. */
export type Purpose = "session" | "cookie";

export async function sign(purpose: Purpose, value: unknown, entry: Doors): Promise<string> {
  const text = unpadded(bytes(JSON.stringify(value)).buffer);
  return `${text}.${await macOf(purpose, text, secretsOf(entry))}`;
}

/** With the first of the secrets. */
export async function macOf(purpose: Purpose, text: string, [secret = ""]: readonly string[]): Promise<string> {
  return unpadded(await crypto.subtle.sign("HMAC", await keyOf(purpose, secret), bytes(text)));
}

/** `=` would have to be escaped in a cookie. */
function unpadded(binary: ArrayBuffer): string {
  return encodeBase64Url(binary).replaceAll("=", "");
}

/** What it says, whether it is signed or not; undefined: it is none. */
export function readUnchecked(signed: string): unknown {
  const json = decoded(signed.split(".")[0] ?? "");
  if (json === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(json));
    return value;
  } catch {
    return undefined;
  }
}

export async function isSigned(purpose: Purpose, signed: string, entry: Doors): Promise<boolean> {
  const [text = "", mac = ""] = signed.split(".");
  return await isMacOf(purpose, text, mac, secretsOf(entry));
}

/** With any of the secrets. */
export async function isMacOf(
  purpose: Purpose,
  text: string,
  mac: string,
  secrets: readonly string[],
): Promise<boolean> {
  const signature = decoded(mac);
  if (signature === undefined) return false;
  // `verify` compares in constant time.
  const tried = secrets.map(async (secret) =>
    crypto.subtle.verify("HMAC", await keyOf(purpose, secret), signature, bytes(text)),
  );
  return (await Promise.all(tried)).includes(true);
}

export type Doors = Pick<ClusterEntry, "webhookToken" | "operatorToken">;

/** While tokens are rotated, each pair of them. */
function secretsOf({ webhookToken, operatorToken = webhookToken }: Doors): readonly string[] {
  const others = [webhookToken].flat();
  return [operatorToken].flat().flatMap((one) => others.map((other) => `${one} ${other}`));
}

function keyOf(purpose: Purpose, secret: string) {
  const key = bytes(`lifeboat.dev/${purpose} ${secret}`);
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text));
}

/** What is no base64url is nothing. */
function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64Url(text);
  } catch {
    return undefined;
  }
}
