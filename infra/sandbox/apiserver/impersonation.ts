/**
 * Acting as somebody else, by `Impersonate-*` headers.
 * Owns: who may, in both ways: constrained (one identity, for certain requests only) and by the verb `impersonate`.
 * Does not own: what the impersonated user may do (authorization.ts).
 */
import type { IncomingHttpHeaders } from "node:http";
import { withAuthenticated } from "./authentication.ts";
import { type Attributes, type ResourceAttributes, decide, refuse } from "./authorization.ts";
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
  const ways = [constrainedAttributes(wanted, request.info), legacyAttributes(wanted)].filter((way) => way.length > 0);
  const refusals = ways.map((way) =>
    way.map((attributes) => ({ attributes, ...decide(state, user, attributes) })).find(({ allowed }) => !allowed),
  );
  const [first] = refusals;
  if (first !== undefined && !refusals.includes(undefined)) refuse(user, first.attributes, first.reason);
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

function attributesOf(verb: string, group: string, resource: string, name: string): ResourceAttributes {
  return { isResource: true, verb, group, resource, subresource: "", namespace: "", name };
}

function legacyAttributes({ username, groups, uid, extra }: Wanted): readonly ResourceAttributes[] {
  const account = serviceAccountOf(username);
  const who =
    account === undefined
      ? attributesOf("impersonate", "", "users", username)
      : { ...attributesOf("impersonate", "", "serviceaccounts", account.name), namespace: account.namespace };
  return [who, ...detailAttributes("impersonate", { groups, uid, extra }, "")];
}

/** Groups, uid and extra are asked for one by one. */
function detailAttributes(
  verb: string,
  { groups, uid, extra }: Omit<Wanted, "username">,
  groupsGroup: string,
): readonly ResourceAttributes[] {
  const authentication = "authentication.k8s.io";
  return [
    ...groups.map((group) => attributesOf(verb, groupsGroup, "groups", group)),
    ...(uid === undefined ? [] : [attributesOf(verb, authentication, "uids", uid)]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({ ...attributesOf(verb, authentication, "userextras", value), subresource: key })),
    ),
  ];
}

/**
 * Two permissions make it: `impersonate-on:<mode>:<verb>` on what is asked for, `impersonate:<mode>` on the identity. An
 * account and a node are impersonated by their names alone, or in the other way.
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/5284-constrained-impersonation
 */
function constrainedAttributes(wanted: Wanted, info: RequestInfo): readonly Attributes[] {
  const { mode, identity } = constrainedIdentity(wanted);
  const details = detailAttributes("impersonate:user-info", wanted, "authentication.k8s.io");
  if (mode !== "user-info" && details.length > 0) return [];
  return [{ ...info, verb: `impersonate-on:${mode}:${info.verb}` }, identity, ...details];
}

function constrainedIdentity({ username }: Wanted): { mode: string; identity: ResourceAttributes } {
  const group = "authentication.k8s.io";
  const account = serviceAccountOf(username);
  if (account !== undefined) {
    const mode = "serviceaccount";
    const identity = attributesOf(`impersonate:${mode}`, group, "serviceaccounts", account.name);
    return { mode, identity: { ...identity, namespace: account.namespace } };
  }
  const node = /^system:node:(.+)$/.exec(username)?.[1];
  const mode = node === undefined ? "user-info" : "arbitrary-node";
  const resource = node === undefined ? "users" : "nodes";
  return { mode, identity: attributesOf(`impersonate:${mode}`, group, resource, node ?? username) };
}
