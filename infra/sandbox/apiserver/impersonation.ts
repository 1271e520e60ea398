/**
 * Impersonates the user in the `Impersonate-*` headers. The constrained impersonation of Kubernetes 1.36 is not
 * supported.
 */
import type { IncomingHttpHeaders } from "node:http";
import { withAuthenticated } from "./authentication.ts";
import { type Attributes, decide, refuse } from "./authorization.ts";
import type { ServerState, User } from "./context.ts";
import { groupsOf, serviceAccountOf } from "./service-account-tokens.ts";
import { badRequest } from "./status.ts";

interface Wanted {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const EXTRA_PREFIX = "impersonate-extra-";

export function impersonate(state: ServerState, user: User, headers: IncomingHttpHeaders): User {
  const wanted = readHeaders(headers);
  if (wanted === undefined) return user;
  for (const attributes of attributesOf(wanted)) {
    const { allowed, reason } = decide(state, user, attributes);
    if (!allowed) return refuse(user, attributes, reason);
  }
  return identityOf(wanted);
}

function readHeaders(headers: IncomingHttpHeaders): Wanted | undefined {
  const username = single(headers["impersonate-user"]);
  const groups = several(headers["impersonate-group"]);
  const uid = single(headers["impersonate-uid"]);
  const extra = Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name.startsWith(EXTRA_PREFIX))
      .map(([name, value]) => [decodeURIComponent(name.slice(EXTRA_PREFIX.length)), several(value)]),
  );
  if (username !== undefined) return { username, groups, uid, extra };
  if (groups.length === 0 && uid === undefined && Object.keys(extra).length === 0) return undefined;
  return badRequest("requested groups, uid or extra without impersonating a user");
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Splits the values of a repeated header, which Node.js joins with a comma and a space. */
function several(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : value.split(", ")).filter((one) => one !== "");
}

function identityOf({ username, groups, uid, extra }: Wanted): User {
  const account = serviceAccountOf(username);
  const own = groups.length === 0 && account !== undefined ? groupsOf(account.namespace) : groups;
  const all = username === "system:anonymous" ? own : withAuthenticated(own);
  return { username, groups: all, extra, ...(uid !== undefined && { uid }) };
}

function attributesOf({ username, groups, uid, extra }: Wanted): readonly Attributes[] {
  const account = serviceAccountOf(username);
  const base = { isResource: true, verb: "impersonate", group: "", subresource: "", namespace: "" } as const;
  const authentication = { ...base, group: "authentication.k8s.io" };
  return [
    account === undefined
      ? { ...base, resource: "users", name: username }
      : { ...base, resource: "serviceaccounts", ...account },
    ...groups.map((name) => ({ ...base, resource: "groups", name })),
    ...(uid === undefined ? [] : [{ ...authentication, resource: "uids", name: uid }]),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...authentication, resource: "userextras", subresource, name })),
    ),
  ];
}
