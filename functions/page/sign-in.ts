/**
 * Signing in and out.
 * Owns: which cluster a visitor means, the cookie's attributes, where they go then, what a failure says and to whom. Does not own: what
 * opens a cluster (proof.ts), the page (views/sign-in.ts).
 *
 * A stranger cannot tell a cluster that there is not from one that they have no token of: both are compared, and answered alike.
 */
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { ClusterError } from "../../shared/cluster/failure.ts";
import type { ClusterEntry } from "../../shared/config/clusters.ts";
import { clusterNames } from "../cluster-names.ts";
import { RejectionError } from "../rejection.ts";
import { authenticate, findEntry, type IsolateState, type Surroundings, targetOf } from "../target.ts";
import type { Platform } from "../env.ts";
import { readForm } from "./form.ts";
import { clusterPath, fleetPath } from "./paths.ts";
import { type Proof, prove } from "./proof.ts";
import { COOKIE, type Grant, isTooLong, openCookie, sealCookie, signGrant, withGrant } from "./session.ts";
import { parseCode, UsedCodes } from "./sign-in-code.ts";
import { type Failure, signInPage } from "./views/sign-in.ts";
import type { PageContext } from "./visit.ts";

/** As long as the longest grant. */
const COOKIE_SECONDS = 4 * 3600;
const ATTRIBUTES = { path: "/", secure: true, httpOnly: true, sameSite: "Strict" } as const;

export function signingIn({ platform, state }: { readonly platform: Platform; readonly state: IsolateState }) {
  const used = new UsedCodes();
  const around = (c: PageContext): Surroundings => ({ env: c.env, platform, state });

  const page = async (c: PageContext, asked: Asked, failure?: Failure) => {
    const only = await onlyCluster(around(c));
    const cluster = asked.cluster === "" ? (clusterIn(asked.to) ?? "") : asked.cluster;
    const view = { cluster: only === undefined ? cluster : undefined, to: asked.to, failure };
    return c.html(await signInPage(view), failure?.code ?? 200);
  };

  /** Of a cluster that has been named. */
  const enter = async (c: PageContext, asked: Asked, { cluster, token }: { cluster: string; token: string }) => {
    const { proof, entry } = await tried(cluster, token, used, around(c));
    const isProven = proof.result === "Proven";
    const visitor = isProven ? proof.grant.name : proof.result === "MayNotLook" ? proof.name : "";
    platform.log({ level: isProven ? "info" : "warn", cluster, message: "signing in", result: proof.result, visitor });
    if (proof.result === "Unknown") return await page(c, asked, { code: 401, reason: "Unknown" });
    if (proof.result === "MayNotLook")
      return await page(c, asked, { code: 403, reason: "MayNotLook", name: proof.name });
    const before = await openCookie(getCookie(c, COOKIE), c.env);
    const cookie = await sealCookie(await cookieWith(proof.grant, entry, before, platform.now()), c.env);
    if (isTooLong(cookie)) return await page(c, asked, { code: 400, reason: "TooMany" });
    setCookie(c, COOKIE, cookie, { ...ATTRIBUTES, maxAge: COOKIE_SECONDS });
    return c.redirect(asked.to === fleetPath() ? clusterPath(cluster) : asked.to, 303);
  };

  const signIn = async (c: PageContext) => {
    const form = await readForm(c);
    const token = (form["token"] ?? "").trim();
    const typed = (form["cluster"] ?? "").trim();
    const asked = { cluster: typed, to: pageOf(form["to"]) };
    const cluster = parseCode(token)?.cluster ?? (typed || (await onlyCluster(around(c))));
    if (token === "") return await page(c, asked, { code: 400, reason: "NoToken" });
    if (cluster === undefined) return await page(c, asked, { code: 400, reason: "NoCluster" });
    return await enter(c, asked, { cluster, token });
  };

  return {
    ask: (c: PageContext) => page(c, { cluster: "", to: pageOf(c.req.query("to")) }),
    signIn,
    signOut: async (c: PageContext) => {
      await readForm(c);
      deleteCookie(c, COOKIE, ATTRIBUTES);
      return c.redirect("/signin", 303);
    },
  };
}

interface Asked {
  /** Empty: none was named. */
  readonly cluster: string;
  /** The page to come back to. */
  readonly to: string;
}

/** The names are not told to strangers; where there is one cluster, none need be. */
async function onlyCluster(surroundings: Surroundings): Promise<string | undefined> {
  const names = await clusterNames(surroundings);
  return names.length === 1 ? names[0] : undefined;
}

/**
 * Random, so that nothing opens it: in the place of a cluster that there is not. Always the same, for what is kept of a cluster's token is
 * kept of its, too. A Worker has no random values before its first request.
 */
let decoyed: ClusterEntry | undefined;
function decoy(): ClusterEntry {
  const webhookToken = crypto.randomUUID();
  return (decoyed ??= { server: "https://cluster.invalid", token: "none", webhookToken, headers: {} });
}

interface Tried {
  readonly proof: Proof;
  readonly entry: ClusterEntry;
}

async function tried(cluster: string, token: string, used: UsedCodes, surroundings: Surroundings): Promise<Tried> {
  const found = await findEntry(cluster, surroundings).catch(unlessUnexpected);
  const entry = found ?? decoy();
  try {
    if (found === undefined) await authenticate(entry, "operator", token);
    const target = targetOf(cluster, entry, surroundings);
    return { proof: await prove(token, target, used), entry };
  } catch (error) {
    const isKnown = error instanceof ClusterError || error instanceof RejectionError;
    if (!isKnown) throw error;
    const message = found === undefined ? "there is no such cluster" : error.message;
    surroundings.platform.log({ level: "warn", cluster, doing: "finding out whose token a visitor has", message });
    return { proof: { result: "Unknown" }, entry };
  }
}

function unlessUnexpected(error: unknown): undefined {
  if (!(error instanceof RejectionError)) throw error;
}

async function cookieWith(grant: Grant, entry: ClusterEntry, before: string | undefined, now: Date): Promise<string> {
  return withGrant(before, grant.cluster, await signGrant(grant, entry), now);
}

/** A page of ours: whatever else is asked for becomes the fleet, so that no link leads from here to another site. */
function pageOf(to: string | undefined): string {
  const asked = to ?? "";
  // Only what needs no normalising: `..`, `//` and backslashes could lead elsewhere.
  return /^\/fleet\/(?!.*(?:\/\/|\.\.|\\))[\x21-\x7e]+$/.test(asked) ? asked : fleetPath();
}

function clusterIn(path: string): string | undefined {
  const [, cluster] = /^\/fleet\/([^/?#]+)/.exec(path) ?? [];
  if (cluster === undefined) return undefined;
  try {
    return decodeURIComponent(cluster);
  } catch {
    return undefined;
  }
}
