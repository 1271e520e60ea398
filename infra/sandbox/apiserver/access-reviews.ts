/**
 * Questions about oneself and about others' permissions: SelfSubjectAccessReview and its relatives, TokenReview.
 * Owns: these create-only resources. Does not own: the decisions they report (authorization.ts, authentication.ts).
 */
import { authenticate } from "./authentication.ts";
import { type Attributes, decide, rulesFor } from "./authorization.ts";
import type { Answer, RequestContext, User } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { fieldAt, isRecord, stringAt, stringsAt } from "./objects.ts";

export interface Review {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly statusOf: (ctx: RequestContext, spec: Record<string, unknown>) => Record<string, unknown>;
}

const AUTHORIZATION = "authorization.k8s.io";
const AUTHENTICATION = "authentication.k8s.io";

const accessStatus = (ctx: RequestContext, spec: Record<string, unknown>, user: User): Record<string, unknown> => {
  const { allowed, reason } = decide(ctx.state, user, attributesOf(spec));
  return { allowed, ...(reason !== "" && { reason }) };
};

export const REVIEWS: readonly Review[] = [
  {
    group: AUTHORIZATION,
    plural: "selfsubjectaccessreviews",
    kind: "SelfSubjectAccessReview",
    namespaced: false,
    statusOf: (ctx, spec) => accessStatus(ctx, spec, ctx.user),
  },
  {
    group: AUTHORIZATION,
    plural: "subjectaccessreviews",
    kind: "SubjectAccessReview",
    namespaced: false,
    statusOf: (ctx, spec) => accessStatus(ctx, spec, subjectOf(spec)),
  },
  {
    group: AUTHORIZATION,
    plural: "localsubjectaccessreviews",
    kind: "LocalSubjectAccessReview",
    namespaced: true,
    statusOf: (ctx, spec) => accessStatus(ctx, spec, subjectOf(spec)),
  },
  {
    group: AUTHORIZATION,
    plural: "selfsubjectrulesreviews",
    kind: "SelfSubjectRulesReview",
    namespaced: false,
    statusOf: rulesStatus,
  },
  {
    group: AUTHENTICATION,
    plural: "selfsubjectreviews",
    kind: "SelfSubjectReview",
    namespaced: false,
    statusOf: ({ user }) => ({ userInfo: { ...user, groups: [...user.groups] } }),
  },
  {
    group: AUTHENTICATION,
    plural: "tokenreviews",
    kind: "TokenReview",
    namespaced: false,
    statusOf: tokenStatus,
  },
];

export function handleReview(ctx: RequestContext, review: Review): Answer {
  const body = decodeBody(ctx);
  const spec = isRecord(body.spec) ? body.spec : {};
  const object = {
    kind: review.kind,
    apiVersion: `${review.group}/v1`,
    metadata: { ...(isRecord(body.metadata) ? body.metadata : {}), creationTimestamp: null },
    ...(body.spec !== undefined && { spec }),
    status: review.statusOf(ctx, spec),
  };
  return { type: "Document", code: 201, body: object };
}

function attributesOf(spec: Record<string, unknown>): Attributes {
  const path = fieldAt(spec, "nonResourceAttributes.path");
  if (typeof path === "string") {
    return { isResource: false, path, verb: stringAt(spec, "nonResourceAttributes.verb") };
  }
  const of = (field: string): string => stringAt(spec, `resourceAttributes.${field}`);
  return {
    isResource: true,
    verb: of("verb"),
    group: of("group"),
    resource: of("resource"),
    subresource: of("subresource"),
    namespace: of("namespace"),
    name: of("name"),
  };
}

function subjectOf(spec: Record<string, unknown>): User {
  return { username: stringAt(spec, "user"), groups: stringsAt(spec, "groups") };
}

function rulesStatus(ctx: RequestContext, spec: Record<string, unknown>): Record<string, unknown> {
  const isAdmin = ctx.user.groups.includes("system:masters");
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], nonResourceURLs: ["*"] };
  const rules = isAdmin ? [everything] : rulesFor(ctx.state, ctx.user, stringAt(spec, "namespace"));
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

function tokenStatus({ state }: RequestContext, spec: Record<string, unknown>): Record<string, unknown> {
  try {
    const user = authenticate(state, { authorization: `Bearer ${stringAt(spec, "token")}` });
    return { authenticated: true, user };
  } catch {
    return { authenticated: false, error: "invalid bearer token" };
  }
}
