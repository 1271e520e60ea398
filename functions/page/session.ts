/**
 * Who has signed in: one cookie that lists the clusters it opens.
 * Owns: its form, its size, what it opens. Does not own: how a visitor proves who they are (proof.ts), signatures (signed.ts).
 */
import * as z from "zod/mini";
import type { ClusterEntry } from "../../shared/config/clusters.ts";
import { parseKeys } from "../../shared/config/sealed-entry.ts";
import type { Env } from "../env.ts";
import { isMacOf, isSigned, macOf, readUnchecked, sign } from "./signed.ts";
import type { Visitor } from "./visit.ts";

/** `__Host-`: over TLS only, for this host only, for every path. */
export const COOKIE = "__Host-lifeboat";

export interface Grant extends Visitor {
  readonly cluster: string;
  /** Seconds since the epoch. */
  readonly until: number;
}

const Fields = z.lazy(() => z.tuple([z.string(), z.string(), z.boolean(), z.number()]));

export async function signGrant({ cluster, name, mayAct, until }: Grant, entry: ClusterEntry): Promise<string> {
  return await sign("session", [cluster, name, mayAct, until], entry);
}

/** The grant of the named cluster among those of the cookie, if it is signed with one of its tokens and has not ended. */
export async function findGrant(
  cookie: string | undefined,
  { cluster, entry, now }: { readonly cluster: string; readonly entry: ClusterEntry; readonly now: Date },
): Promise<Grant | undefined> {
  for (const one of grantsIn(cookie)) {
    const grant = parse(one);
    if (grant?.cluster !== cluster || isOver(grant, now)) continue;
    if (await isSigned("session", one, entry)) return grant;
  }
  return undefined;
}

/** Of a cookie whose signatures are not checked: for showing which clusters to look up. */
export function clustersIn(cookie: string | undefined): readonly string[] {
  return grantsIn(cookie).flatMap((one) => parse(one)?.cluster ?? []);
}

/** The cookie with one more grant; one of the same cluster is replaced, and those that are over are left out. */
export function withGrant(cookie: string | undefined, cluster: string, grant: string, now: Date = new Date(0)): string {
  const others = grantsIn(cookie).filter((one) => {
    const other = parse(one);
    return other !== undefined && other.cluster !== cluster && !isOver(other, now);
  });
  return [...others, grant].join("~");
}

/**
 * Only a cluster's entry says whether its grant is signed, and an entry of the registry is a read of KV. So where there is a registry, its
 * key signs the cookie as a whole: a stranger cannot have any clusters looked up.
 */
export async function sealCookie(grants: string, env: Env): Promise<string> {
  const keys = registryKeys(env);
  return keys === undefined ? grants : `${grants}~${await macOf("cookie", grants, keys)}`;
}

/** Its grants; undefined: it is not sealed, though it has to be. */
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

/** Browsers drop a cookie whose name and value take more, without a word. Everything in it is ASCII. */
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

function parse(signed: string): Grant | undefined {
  const fields = Fields.safeParse(readUnchecked(signed));
  if (!fields.success) return undefined;
  const [cluster, name, mayAct, until] = fields.data;
  return { cluster, name, mayAct, until };
}
