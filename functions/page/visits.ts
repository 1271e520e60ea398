/** Which clusters a visitor may look at: those that their cookie opens, or all of them where Cloudflare Access has let them in. */
import type { Context } from "hono";
import { verifyWithJwks } from "hono/jwt";
import * as z from "zod/mini";
import type { ClusterEntry } from "../../shared/settings/clusters.ts";
import { accessProblems, type Env, type Platform } from "../env.ts";
import { RejectionError } from "../errors.ts";
import { clusterNames, findEntry, type Surroundings, type Target, targetOf } from "../target.ts";
import { clustersIn, findGrant, type Visitor } from "./session.ts";

export type PageContext = Context<{ Bindings: Env }>;

export interface Visit {
  readonly target: Target;
  readonly visitor: Visitor;
}

/** What a request brings with it. */
export interface Presented {
  readonly cookie: string | undefined;
  /** Whom Access has let in. */
  readonly access: Visitor | undefined;
}

/** To a stranger, a cluster that does not exist looks like one that is closed to them: both throw Unauthorized. */
export async function visitTo(cluster: string, presented: Presented, surroundings: Surroundings): Promise<Visit> {
  const { visitor, entry } = await findVisitor(cluster, presented, surroundings);
  return { target: targetOf(cluster, entry, surroundings), visitor };
}

interface Found {
  readonly visitor: Visitor;
  readonly entry: ClusterEntry;
}

async function findVisitor(cluster: string, { access, cookie }: Presented, surroundings: Surroundings): Promise<Found> {
  if (access !== undefined) return { visitor: access, entry: await findEntry(cluster, surroundings) };
  // A stranger may name any cluster, and each look-up is a read of KV.
  const entry = clustersIn(cookie).includes(cluster)
    ? await findEntry(cluster, surroundings).catch(unlessRejected)
    : undefined;
  const visitor = entry && (await findGrant(cookie, { cluster, entry, now: surroundings.platform.now() }));
  if (entry === undefined || visitor === undefined) throw new RejectionError("Unauthorized");
  return { visitor, entry };
}

/** Of a visitor with more, the rest is left out, which the page says. */
export const MOST_CLUSTERS = 40;

export interface OpenClusters {
  readonly visits: readonly Visit[];
  /** So many more are in the cookie. */
  readonly more: number;
}

/** Throws Unauthorized where there is none. */
export async function openClusters(presented: Presented, surroundings: Surroundings): Promise<OpenClusters> {
  const named = presented.access === undefined ? clustersIn(presented.cookie) : await clusterNames(surroundings);
  const names = [...new Set(named)].toSorted();
  const asked = names.slice(0, MOST_CLUSTERS);
  const found = await Promise.all(asked.map((name) => visitTo(name, presented, surroundings).catch(unlessRejected)));
  const visits = found.filter((visit) => visit !== undefined);
  if (visits.length === 0) throw new RejectionError("Unauthorized");
  return { visits, more: names.length - asked.length };
}

function unlessRejected(error: unknown): undefined {
  if (!(error instanceof RejectionError)) throw error;
}

export const ASSERTION = "cf-access-jwt-assertion";

/** Access keeps signing with a key for days after it has published the next one. */
const KEYS_MAX_AGE_MS = 5 * 60_000;
const FETCH_MS = 5000;

interface Access {
  /** For example `example.cloudflareaccess.com`. */
  readonly team: string;
  /** Of the application in Access that is before this Worker. */
  readonly audience: string;
}

/** Undefined where it is not set up, or set up wrongly: then it lets no visitor in. */
function accessOf(env: Env): Access | undefined {
  const { ACCESS_TEAM_DOMAIN: team, ACCESS_AUD: audience } = env;
  if (team === undefined || audience === undefined || accessProblems(env).length > 0) return undefined;
  return { team, audience };
}

/** A person: what signs in with a service token has no address. */
const Claims = z.lazy(() =>
  z.object({ email: z.string().check(z.minLength(1)), exp: z.number(), nbf: z._default(z.number(), 0) }),
);
const KeySet = z.lazy(() => z.object({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.literal("RSA") })) }));
type Keys = z.output<typeof KeySet>["keys"];

export class AccessVisitors {
  readonly #platform: Platform;
  /** Plain values, of one team. */
  #kept: { readonly team: string; readonly readAt: number; readonly keys: Keys } | undefined;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Undefined: Access has let in no person, so far as this Worker can tell. */
  async find(assertion: string | undefined, env: Env): Promise<Visitor | undefined> {
    const access = accessOf(env);
    if (access === undefined || assertion === undefined) return undefined;
    try {
      return { name: await this.#emailIn(assertion, access), mayAct: true };
    } catch (error) {
      // Never the assertion: Hono's messages hold it.
      const failure = error instanceof Error ? error.name : "unknown";
      this.#platform.log({ level: "warn", message: "an assertion of Cloudflare Access does not count", failure });
      return undefined;
    }
  }

  async #emailIn(assertion: string, { team, audience }: Access): Promise<string> {
    const verified = await verifyWithJwks(assertion, {
      keys: await this.#keysOf(team),
      allowedAlgorithms: ["RS256"],
      // The times are checked below, by the platform's clock.
      verification: { iss: `https://${team}`, aud: audience, exp: false, nbf: false, iat: false },
    });
    const { email, exp, nbf } = Claims.parse(verified);
    const seconds = this.#platform.now().getTime() / 1000;
    if (exp <= seconds || nbf > seconds) throw new OutOfTime();
    return email;
  }

  async #keysOf(team: string): Promise<Keys> {
    const now = this.#platform.now().getTime();
    const kept = this.#kept;
    if (kept?.team === team && now - kept.readAt < KEYS_MAX_AGE_MS) return kept.keys;
    const url = `https://${team}/cdn-cgi/access/certs`;
    const signal = this.#platform.timeout(FETCH_MS);
    const answer = await this.#platform.fetch(url, { method: "GET", redirect: "manual", signal });
    const { keys } = KeySet.parse(await answer.json());
    this.#kept = { team, readAt: now, keys };
    return keys;
  }
}

class OutOfTime extends Error {
  override readonly name = "OutOfTime";
}
