/** Visitors whom Cloudflare Access has let in. */
import { verifyWithJwks } from "hono/jwt";
import * as z from "zod/mini";
import { accessProblems, type Env, type Platform } from "../env.ts";
import type { Visitor } from "./session.ts";

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
  async find(assertion: string, env: Env): Promise<Visitor | undefined> {
    const access = accessOf(env);
    if (access === undefined) return undefined;
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
