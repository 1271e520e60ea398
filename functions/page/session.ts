/**
 * Who has signed in: one cookie that lists the clusters it opens.
 * Owns: its form, signing and checking it. Does not own: how a visitor proves who they are (sign-in.ts).
 *
 * Each grant is signed with a key of the cluster's own operator token: there is no further secret to keep, and rotating the token
 * signs everybody out.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import type { ClusterEntry } from "../../shared/config/clusters.ts";
import type { Visitor } from "./visit.ts";

/** `__Host-`: over TLS only, for this host only, for every path. */
export const COOKIE = "__Host-lifeboat";

export interface Grant extends Visitor {
  readonly cluster: string;
  /** Seconds since the epoch. */
  readonly until: number;
}

type Fields = readonly [cluster: string, name: string, mayAct: boolean, until: number];

export async function signGrant({ cluster, name, mayAct, until }: Grant, entry: ClusterEntry): Promise<string> {
  const [token = ""] = operatorTokens(entry);
  const text = encodeBase64Url(bytes(JSON.stringify([cluster, name, mayAct, until] satisfies Fields)).buffer);
  const mac = await crypto.subtle.sign("HMAC", await keyOf(token), bytes(text));
  return `${text}.${encodeBase64Url(mac)}`;
}

/** The grant of the named cluster among those of the cookie, if it is signed with one of its tokens and has not ended. */
export async function findGrant(
  cookie: string | undefined,
  { cluster, entry, now }: { readonly cluster: string; readonly entry: ClusterEntry; readonly now: Date },
): Promise<Grant | undefined> {
  for (const one of (cookie ?? "").split("~")) {
    const [text = "", mac = ""] = one.split(".");
    const grant = parse(text);
    if (grant?.cluster !== cluster || grant.until * 1000 <= now.getTime()) continue;
    if (await isSigned(text, mac, entry)) return grant;
  }
  return undefined;
}

/** Of a cookie that nobody has checked: for showing which clusters to look up. */
export function clustersIn(cookie: string | undefined): readonly string[] {
  return (cookie ?? "").split("~").flatMap((one) => parse(one.split(".")[0] ?? "")?.cluster ?? []);
}

/** The cookie with one more grant; one of the same cluster is replaced. */
export function withGrant(cookie: string | undefined, cluster: string, grant: string): string {
  const others = (cookie ?? "").split("~").filter((one) => {
    const other = parse(one.split(".")[0] ?? "")?.cluster;
    return other !== undefined && other !== cluster;
  });
  return [...others, grant].join("~");
}

function operatorTokens({ webhookToken, operatorToken = webhookToken }: ClusterEntry): readonly string[] {
  return [operatorToken].flat();
}

async function isSigned(text: string, mac: string, entry: ClusterEntry): Promise<boolean> {
  const signature = decoded(mac);
  if (signature === undefined) return false;
  // `verify` compares in constant time.
  const tried = operatorTokens(entry).map(async (token) =>
    crypto.subtle.verify("HMAC", await keyOf(token), signature, bytes(text)),
  );
  return (await Promise.all(tried)).includes(true);
}

function keyOf(token: string) {
  const key = bytes(`lifeboat.dev/session ${token}`);
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function parse(text: string): Grant | undefined {
  const json = decoded(text);
  if (json === undefined) return undefined;
  try {
    const fields: unknown = JSON.parse(new TextDecoder().decode(json));
    if (!isFields(fields)) return undefined;
    const [cluster, name, mayAct, until] = fields;
    return { cluster, name, mayAct, until };
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  if (!Array.isArray(value) || value.length !== 4) return false;
  const [cluster, name, mayAct, until]: readonly unknown[] = value;
  const isText = typeof cluster === "string" && typeof name === "string";
  return isText && typeof mayAct === "boolean" && typeof until === "number";
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
