/**
 * Manages the session cookie. For each cluster that a visitor has signed in to, the cookie contains a grant: the
 * cluster, the visitor's name and an expiry. Lifeboat signs a grant with the cluster's webhook token and operator
 * token. If either token is replaced, all sessions of the cluster end.
 */
import type { Context } from "hono";
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import * as z from "zod/mini";
import type { ClusterEntry } from "../../shared/settings/clusters.ts";
import { parseKeys } from "../../shared/settings/sealed-entry.ts";
import type { Env } from "../env.ts";
import { RejectionError } from "../errors.ts";
import { findEntry, type Surroundings, type Target, targetOf } from "../target.ts";

/** The prefix `__Host-` makes browsers send the cookie only over TLS and only to this host. */
export const COOKIE = "__Host-lifeboat";

export interface Visitor {
  readonly name: string;
}

export interface Grant extends Visitor {
  readonly cluster: string;
  /** The expiry of the grant, in seconds since the epoch. */
  readonly until: number;
}

const Fields = z.lazy(() => z.tuple([z.string(), z.string(), z.number()]));

/** Signs a grant. Returns `BASE64URL(json).BASE64URL(mac)`. */
export async function signGrant(grant: Grant, entry: ClusterEntry): Promise<string> {
  const { cluster, name, until } = grant;
  const text = unpadded(bytes(JSON.stringify([cluster, name, until])).buffer);
  return `${text}.${await macOf("session", text, secretsOf(entry))}`;
}

/**
 * Returns the named cluster's grant from the cookie. Returns undefined if the grant's signature is invalid or the grant
 * has expired.
 */
export async function findGrant(
  cookie: string | undefined,
  { cluster, entry, now }: { readonly cluster: string; readonly entry: ClusterEntry; readonly now: Date },
): Promise<Grant | undefined> {
  for (const one of grantsIn(cookie)) {
    const grant = parse(one);
    if (grant?.cluster !== cluster || isOver(grant, now)) continue;
    const [text = "", mac = ""] = one.split(".");
    if (await isMacOf("session", text, mac, secretsOf(entry))) return grant;
  }
  return undefined;
}

/** Lists the clusters of a cookie without checking signatures. */
export function clustersIn(cookie: string | undefined): readonly string[] {
  return grantsIn(cookie).flatMap((one) => parse(one)?.cluster ?? []);
}

/** Adds a grant to the cookie. Replaces the grant of the same cluster, and removes expired grants. */
export function withGrant(cookie: string | undefined, cluster: string, grant: string, now: Date = new Date(0)): string {
  const others = grantsIn(cookie).filter((one) => {
    const other = parse(one);
    return other !== undefined && other.cluster !== cluster && !isOver(other, now);
  });
  return [...others, grant].join("~");
}

/**
 * Signs the whole cookie with REGISTRY_KEY, if CLUSTER_REGISTRY is bound and the key is valid. Without this signature,
 * anybody could make Lifeboat read the KV namespace for invented cluster names.
 */
export async function sealCookie(grants: string, env: Env): Promise<string> {
  const keys = registryKeys(env);
  return keys === undefined ? grants : `${grants}~${await macOf("cookie", grants, keys)}`;
}

/** Returns the grants of the cookie. Returns undefined if the cookie lacks a required signature. */
export async function openCookie(cookie: string | undefined, env: Env): Promise<string | undefined> {
  const keys = registryKeys(env);
  if (keys === undefined || cookie === undefined) return cookie;
  const [, grants = "", mac = ""] = /^(.*)~(.*)$/.exec(cookie) ?? [];
  return (await isMacOf("cookie", grants, mac, keys)) ? grants : undefined;
}

function registryKeys({ CLUSTER_REGISTRY, REGISTRY_KEY }: Env): readonly string[] | undefined {
  const isRead = CLUSTER_REGISTRY !== undefined && parseKeys(REGISTRY_KEY).ok;
  return isRead ? REGISTRY_KEY?.split(",").map((key) => key.trim()) : undefined;
}

/** The maximum length of the cookie's value. Browsers drop a cookie if its name and value exceed 4096 characters. */
const LONGEST = 4096 - COOKIE.length;

export function isTooLong(cookie: string): boolean {
  return cookie.length > LONGEST;
}

function grantsIn(cookie: string | undefined): readonly string[] {
  return (cookie ?? "").split("~");
}

function isOver({ until }: Grant, now: Date): boolean {
  return until * 1000 <= now.getTime();
}

/** Returns the grant in the text. Returns undefined if the text is no grant. Does not check the signature. */
function parse(signed: string): Grant | undefined {
  try {
    const json = new TextDecoder().decode(decodeBase64Url(signed.split(".")[0] ?? ""));
    const [cluster, name, until] = Fields.parse(JSON.parse(json));
    return { cluster, name, until };
  } catch {
    return undefined;
  }
}

/** The purpose of a signature. A signature for one purpose is invalid for the other purpose. */
type Purpose = "session" | "cookie";

async function macOf(purpose: Purpose, text: string, [secret = ""]: readonly string[]): Promise<string> {
  return unpadded(await crypto.subtle.sign("HMAC", await keyOf(purpose, secret), bytes(text)));
}

/** Returns whether the text is signed with one of the secrets. `verify` compares in constant time. */
async function isMacOf(purpose: Purpose, text: string, mac: string, secrets: readonly string[]): Promise<boolean> {
  const signature = decoded(mac);
  if (signature === undefined) return false;
  const tried = secrets.map(async (secret) =>
    crypto.subtle.verify("HMAC", await keyOf(purpose, secret), signature, bytes(text)),
  );
  return (await Promise.all(tried)).includes(true);
}

/**
 * Returns a signing secret for each pair of a webhook token and an operator token. During a token rotation, several
 * pairs exist.
 */
function secretsOf({ webhookToken, operatorToken = webhookToken }: ClusterEntry): readonly string[] {
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

/** Encodes as base64url without `=`. */
function unpadded(binary: ArrayBuffer): string {
  return encodeBase64Url(binary).replaceAll("=", "");
}

function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64Url(text);
  } catch {
    return undefined;
  }
}

export type PageContext = Context<{ Bindings: Env }>;

export interface Visit {
  readonly target: Target;
  readonly visitor: Visitor;
}

/**
 * Checks that the visitor may see the cluster. Throws Unauthorized both for a forbidden and for a missing cluster, so
 * that visitors without access learn no names.
 */
export async function visitTo(cluster: string, cookie: string | undefined, surroundings: Surroundings): Promise<Visit> {
  // Reads an entry only if the cookie names the cluster. Otherwise anybody could make Lifeboat read the KV namespace
  // for any name.
  const entry = clustersIn(cookie).includes(cluster)
    ? await findEntry(cluster, surroundings).catch(unlessRejected)
    : undefined;
  const visitor = entry && (await findGrant(cookie, { cluster, entry, now: surroundings.platform.now() }));
  if (entry === undefined || visitor === undefined) throw new RejectionError("Unauthorized");
  return { target: targetOf(cluster, entry, surroundings), visitor };
}

/** The maximum number of clusters that the page shows. */
export const MOST_CLUSTERS = 40;

export interface OpenClusters {
  readonly visits: readonly Visit[];
  /** The number of clusters in the cookie that `visits` omits, because only the first MOST_CLUSTERS are read. */
  readonly more: number;
}

/** Lists clusters for which the cookie is valid. Throws Unauthorized if the cookie is valid for no cluster. */
export async function openClusters(cookie: string | undefined, surroundings: Surroundings): Promise<OpenClusters> {
  const names = [...new Set(clustersIn(cookie))].toSorted();
  const asked = names.slice(0, MOST_CLUSTERS);
  const found = await Promise.all(asked.map((name) => visitTo(name, cookie, surroundings).catch(unlessRejected)));
  const visits = found.filter((visit) => visit !== undefined);
  if (visits.length === 0) throw new RejectionError("Unauthorized");
  return { visits, more: names.length - asked.length };
}

function unlessRejected(error: unknown): undefined {
  if (!(error instanceof RejectionError)) throw error;
}
