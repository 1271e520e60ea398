/** Impersonation of another user, by `Impersonate-*` headers. */
import type { IncomingHttpHeaders } from "node:http";
import { withAuthenticated } from "./authentication.ts";
import { type Attributes, decide, refuse } from "./authorization.ts";
import type { ServerState, User } from "./context.ts";
import type { RequestInfo } from "./request-info.ts";
import { groupsOf, serviceAccountOf } from "./service-account-tokens.ts";
import { badRequest } from "./status.ts";

interface Wanted {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const EXTRA_PREFIX = "impersonate-extra-";

export function impersonate(
  state: ServerState,
  user: User,
  request: { readonly headers: IncomingHttpHeaders; readonly info: RequestInfo },
): User {
  const wanted = readHeaders(request.headers);
  if (wanted === undefined) return user;
  const checks = constrainedChecks(wanted, request.info);
  const refusal = checks && refusalOf(state, user, checks);
  const node = nodeOf(wanted.username);
  if (checks && refusal === undefined) return identityOf(node ? { ...wanted, groups: ["system:nodes"] } : wanted);
  const legacy = refusalOf(state, user, attributesOf(wanted, "impersonate", ""));
  if (legacy === undefined) return identityOf(wanted);
  const { attributes, reason } = refusal ?? legacy;
  return refuse(user, attributes, reason);
}

/** The first attribute that is not allowed. */
function refusalOf(state: ServerState, user: User, checks: readonly Attributes[]) {
  for (const attributes of checks) {
    const { allowed, reason } = decide(state, user, attributes);
    if (!allowed) return { attributes, reason };
  }
  return undefined;
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

/** Node joins repeated headers with a comma and a space. */
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

/**
 * It needs two permissions: `impersonate-on:<mode>:<verb>` on the resource of the request, `impersonate:<mode>` on the
 * identity. For service accounts and nodes only the name can be given.
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/5284-constrained-impersonation
 */
function constrainedChecks(wanted: Wanted, info: RequestInfo): readonly Attributes[] | undefined {
  const { username, groups, uid, extra } = wanted;
  const mode = serviceAccountOf(username) ? "serviceaccount" : nodeOf(username) ? "arbitrary-node" : "user-info";
  const onlyName = groups.length === 0 && uid === undefined && Object.keys(extra).length === 0;
  if (groups.includes("system:masters") || (mode !== "user-info" && !onlyName)) return undefined;
  const action = { ...info, verb: `impersonate-on:${mode}:${info.verb}` };
  return [action, ...attributesOf(wanted, `impersonate:${mode}`, "authentication.k8s.io")];
}

function nodeOf(username: string): string | undefined {
  return /^system:node:(.+)$/.exec(username)?.[1];
}

/** Groups, uid and extra are authorized one by one. */
function attributesOf({ username, groups, uid, extra }: Wanted, verb: string, group: string): readonly Attributes[] {
  const account = serviceAccountOf(username);
  const node = verb === "impersonate" ? undefined : nodeOf(username);
  const base = { isResource: true, verb, group, subresource: "", namespace: "" } as const;
  const authentication = { ...base, group: "authentication.k8s.io" };
  return [
    account === undefined
      ? { ...base, resource: node ? "nodes" : "users", name: node ?? username }
      : { ...base, resource: "serviceaccounts", ...account },
    ...groups.map((name) => ({ ...base, resource: "groups", name })),
    ...(uid === undefined ? [] : [{ ...authentication, resource: "uids", name: uid }]),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...authentication, resource: "userextras", subresource, name })),
    ),
  ];
}
