/**
 * Who is asking?
 * Owns: bearer tokens, static ones and those of ServiceAccounts; anonymous requests. Does not own: impersonation.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { ServerState, User } from "./context.ts";
import { userOfToken } from "./service-account-tokens.ts";
import { fail } from "./status.ts";

const AUTHENTICATED = "system:authenticated";
const ANONYMOUS: User = { username: "system:anonymous", groups: ["system:unauthenticated"] };

/** No credentials at all make an anonymous request; wrong ones are refused. */
export function authenticate(state: ServerState, headers: IncomingHttpHeaders): User {
  const { authorization } = headers;
  if (authorization === undefined) return ANONYMOUS;
  const token = /^Bearer\s+(\S+)$/i.exec(authorization)?.[1];
  const user = token === undefined ? undefined : (state.staticTokens.get(token) ?? userOfToken(state, token));
  if (user === undefined) return fail({ reason: "Unauthorized" });
  return { ...user, groups: withAuthenticated(user.groups) };
}

export function withAuthenticated(groups: readonly string[]): readonly string[] {
  return groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
}
