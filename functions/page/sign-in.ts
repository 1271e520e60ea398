/**
 * Signing in and out.
 *
 * A stranger is answered alike of a cluster that there is not and of one that they have no token of.
 */
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { RejectionError } from "../rejection.ts";
import { clusterNames, findEntry, type IsolateState, type Surroundings, targetOf } from "../target.ts";
import type { Platform } from "../env.ts";
import { readForm } from "./form.ts";
import { clusterPath, fleetPath } from "./paths.ts";
import { isForPage, type Proof, prove, SESSION_SECONDS, type Unproven } from "./proof.ts";
import { COOKIE, isTooLong, openCookie, sealCookie, signGrant, withGrant } from "./session.ts";
import { type Failure, signInPage } from "./views/sign-in.ts";
import type { PageContext } from "./visit.ts";

const ATTRIBUTES = { path: "/", secure: true, httpOnly: true, sameSite: "Strict" } as const;

export function signingIn({ platform, state }: { readonly platform: Platform; readonly state: IsolateState }) {
  const around = (c: PageContext): Surroundings => ({ env: c.env, platform, state });

  const page = async (c: PageContext, asked: Asked, failure?: Failure) => {
    const only = await onlyCluster(around(c));
    const cluster = asked.cluster === "" ? (clusterIn(asked.to) ?? "") : asked.cluster;
    const view = { cluster: only === undefined ? cluster : undefined, to: asked.to, failure };
    return c.html(await signInPage(view), failure?.code ?? 200);
  };

  /** Of a cluster that has been named. */
  const enter = async (c: PageContext, asked: Asked, { cluster, token }: { cluster: string; token: string }) => {
    const proof = await tried(cluster, token, around(c));
    const isProven = proof.result === "Proven";
    const visitor = isProven ? proof.grant.name : proof.result === "MayNotLook" ? proof.name : "";
    platform.log({ level: isProven ? "info" : "warn", cluster, message: "signing in", result: proof.result, visitor });
    if (proof.result === "Unknown") return await page(c, asked, { code: 401, reason: "Unknown" });
    if (proof.result === "MayNotLook")
      return await page(c, asked, { code: 403, reason: "MayNotLook", name: proof.name });
    const before = await openCookie(getCookie(c, COOKIE), c.env);
    const cookie = await sealCookie(withGrant(before, cluster, proof.signed, platform.now()), c.env);
    if (isTooLong(cookie)) return await page(c, asked, { code: 400, reason: "TooMany" });
    setCookie(c, COOKIE, cookie, { ...ATTRIBUTES, maxAge: SESSION_SECONDS });
    return c.redirect(asked.to === fleetPath() ? clusterPath(cluster) : asked.to, 303);
  };

  const signIn = async (c: PageContext) => {
    const form = await readForm(c);
    const token = (form["token"] ?? "").trim();
    const typed = (form["cluster"] ?? "").trim();
    const asked = { cluster: typed, to: pageOf(form["to"]) };
    const cluster = typed || (await onlyCluster(around(c)));
    if (token === "") return await page(c, asked, { code: 400, reason: "NoToken" });
    if (!isForPage(token)) return await page(c, asked, { code: 401, reason: "NotForPage" });
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

type Tried = (Extract<Proof, { result: "Proven" }> & { readonly signed: string }) | Unproven;

async function tried(cluster: string, token: string, surroundings: Surroundings): Promise<Tried> {
  try {
    const entry = await findEntry(cluster, surroundings);
    const proof = await prove(token, targetOf(cluster, entry, surroundings));
    return proof.result === "Proven" ? { ...proof, signed: await signGrant(proof.grant, entry) } : proof;
  } catch (error) {
    if (!(error instanceof ClusterError || error instanceof RejectionError)) throw error;
    const doing = "finding out whose token a visitor has";
    surroundings.platform.log({ level: "warn", cluster, doing, message: error.message });
    return { result: "Unknown" };
  }
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
