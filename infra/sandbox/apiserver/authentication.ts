/** Finds the user of a request. */
import type { IncomingHttpHeaders } from "node:http";
import type { ServerState, User } from "./context.ts";
import { type Authenticated, ISSUER, accountOfToken } from "./service-account-tokens.ts";
import { fail } from "./status.ts";

const AUTHENTICATED = "system:authenticated";
const ANONYMOUS: User = { username: "system:anonymous", groups: ["system:unauthenticated"] };

/** Authenticates a request. A request without credentials is anonymous. Throws if the credentials are wrong. */
export function authenticate(state: ServerState, { authorization }: IncomingHttpHeaders): User {
  if (authorization === undefined) return ANONYMOUS;
  const token = /^Bearer\s+(\S+)$/i.exec(authorization)?.[1];
  return userOf(state, token ?? "")?.user ?? fail({ reason: "Unauthorized" });
}

/**
 * Returns the user of a token, and the requested audiences for which the token is valid. If no audience is requested,
 * the token must be for this server. Returns undefined if the token is invalid, or is for none of the audiences.
 */
export function userOf(state: ServerState, token: string, named: readonly string[] = []): Authenticated | undefined {
  const audiences = named.length === 0 ? [ISSUER] : named;
  const fixed = state.staticTokens.get(token);
  const found = fixed === undefined ? accountOfToken(state, token) : { user: fixed, audiences: [ISSUER] };
  const common = audiences.filter((one) => found?.audiences.includes(one));
  if (found === undefined || common.length === 0) return undefined;
  return { user: { ...found.user, groups: withAuthenticated(found.user.groups) }, audiences: common };
}

export function withAuthenticated(groups: readonly string[]): readonly string[] {
  return groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
}
