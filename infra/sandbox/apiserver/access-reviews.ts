/** Answers requests about permissions and identities: SelfSubjectAccessReview and similar kinds, and TokenReview. */
import { userOf } from "./authentication.ts";
import { type Attributes, decide, rulesFor } from "./authorization.ts";
import type { Answer, RequestContext, User } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { invalidIf, invalidValue } from "./field-errors.ts";
import { type Tree, fieldAt, isRecord, recordAt, stringAt, stringsAt } from "./objects.ts";
import { type FieldError, badRequest, fail } from "./status.ts";

export interface Review {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly statusOf: (ctx: RequestContext, spec: Tree) => Tree;
}

const AUTHORIZATION = "authorization.k8s.io";
const AUTHENTICATION = "authentication.k8s.io";

function review(group: string, kind: string, statusOf: Review["statusOf"]): Review {
  return { group, kind, plural: `${kind.toLowerCase()}s`, namespaced: kind.startsWith("Local"), statusOf };
}

export const REVIEWS: readonly Review[] = [
  review(AUTHORIZATION, "SelfSubjectAccessReview", (ctx, spec) => accessStatus(ctx, spec, ctx.user)),
  review(AUTHORIZATION, "SubjectAccessReview", (ctx, spec) => accessStatus(ctx, spec, subjectOf(spec))),
  review(AUTHORIZATION, "LocalSubjectAccessReview", (ctx, spec) => accessStatus(ctx, spec, subjectOf(spec))),
  review(AUTHORIZATION, "SelfSubjectRulesReview", rulesStatus),
  review(AUTHENTICATION, "SelfSubjectReview", ({ user }) => ({ userInfo: user })),
  review(AUTHENTICATION, "TokenReview", tokenStatus),
];

export function handleReview(ctx: RequestContext, { group, kind, statusOf }: Review): Answer {
  const body = decodeBody(ctx);
  const spec = recordAt(body, "spec");
  const object = {
    kind,
    apiVersion: `${group}/v1`,
    metadata: recordAt(body, "metadata"),
    ...(body.spec !== undefined && { spec }),
    status: statusOf(ctx, spec),
  };
  return { type: "Document", code: 201, body: object };
}

function accessStatus({ state, info }: RequestContext, spec: Tree, user: User): Tree {
  const errors = [
    ...subjectErrors(user),
    ...attributeErrors(spec.resourceAttributes, spec.nonResourceAttributes),
    ...placeErrors(info.isResource ? info.namespace : "", spec.resourceAttributes),
  ];
  if (errors.length > 0) fail({ reason: "Invalid", kind: { group: AUTHORIZATION, kind: "" }, name: "", errors });
  const { allowed, reason } = decide(state, user, attributesOf(spec));
  return { allowed, ...(reason !== "" && { reason }) };
}

function attributeErrors(resource: unknown, path: unknown): readonly FieldError[] {
  const shown = isRecord(path) && { Path: path.path, Verb: path.verb };
  const neither = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  if (!resource && !path) return [invalidValue("spec.resourceAttributes", null, neither)];
  const both = "cannot be specified in combination with resourceAttributes";
  return invalidIf(!!resource && !!path, "spec.nonResourceAttributes", shown, both);
}

function subjectErrors({ username, groups }: User): readonly FieldError[] {
  const nobody = username === "" && groups.length === 0;
  return invalidIf(nobody, "spec.user", "", "at least one of user or group must be specified");
}

/** Checks that a LocalSubjectAccessReview is for the namespace in its metadata. */
function placeErrors(place: string, resource: unknown): readonly FieldError[] {
  const namespace = stringAt(resource, "namespace");
  const elsewhere = place !== "" && namespace !== place;
  return invalidIf(elsewhere, "spec.resourceAttributes.namespace", namespace, "must match metadata.namespace");
}

function attributesOf(spec: Tree): Attributes {
  const path = fieldAt(spec, "nonResourceAttributes.path");
  if (typeof path === "string") {
    return { isResource: false, path, verb: stringAt(spec, "nonResourceAttributes.verb") };
  }
  const parts = ["verb", "group", "resource", "subresource", "namespace", "name"] as const;
  const [verb = "", group = "", resource = "", subresource = "", namespace = "", name = ""] = parts.map((part) =>
    stringAt(spec, `resourceAttributes.${part}`),
  );
  return { isResource: true, verb, group, resource, subresource, namespace, name };
}

function subjectOf(spec: Tree): User {
  return { username: stringAt(spec, "user"), groups: stringsAt(spec, "groups") };
}

function rulesStatus({ state, user }: RequestContext, spec: Tree): Tree {
  const namespace = stringAt(spec, "namespace");
  if (namespace === "") badRequest("no namespace on request");
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], nonResourceURLs: ["*"] };
  const rules = user.groups.includes("system:masters") ? [everything] : rulesFor(state, user, namespace);
  return {
    resourceRules: rules
      .filter((rule) => rule.resources !== undefined)
      .map(({ nonResourceURLs: _urls, ...rule }) => rule),
    nonResourceRules: rules
      .filter((rule) => rule.nonResourceURLs !== undefined)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

function tokenStatus({ state }: RequestContext, spec: Tree): Tree {
  const token = stringAt(spec, "token");
  if (token === "") badRequest("token is required for TokenReview in authentication");
  const found = userOf(state, token, stringsAt(spec, "audiences"));
  return found === undefined ? { user: {}, error: "invalid bearer token" } : { authenticated: true, ...found };
}
