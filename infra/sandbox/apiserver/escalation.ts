/** Prevents users from granting permissions that they do not have. */
import { type Attributes, type Rule, decide, roleOf } from "./authorization.ts";
import { type ResourceContext, resourceOf } from "./context.ts";
import { RBAC_GROUP } from "./kinds/rbac.ts";
import { type KubeObject, isRecord, recordsAt, stringAt, viewAs } from "./objects.ts";
import { fail } from "./status.ts";

const ROLES = new Set(["Role", "ClusterRole"]);
const BINDINGS = new Set(["RoleBinding", "ClusterRoleBinding"]);

export function refuseEscalation(ctx: ResourceContext, object: KubeObject): void {
  if (ctx.kind.group !== RBAC_GROUP || ctx.user.groups.includes("system:masters")) return;
  const { namespace = "" } = object.metadata;
  if (ROLES.has(ctx.kind.kind)) {
    // An aggregated role can later get any rule, so its creator needs all permissions.
    const rules = isRecord(object.aggregationRule) ? FULL : viewAs<Rule[]>(recordsAt(object, "rules"));
    if (!mayEverything(ctx, "escalate", object)) refuseMissing(ctx, object, rules);
  } else if (BINDINGS.has(ctx.kind.kind)) {
    const role = roleOf(ctx.state, object);
    const kind = stringAt(object, "roleRef.kind");
    const named = { apiVersion: "", kind, metadata: { name: stringAt(object, "roleRef.name"), namespace } };
    if (!mayEverything(ctx, "bind", named)) refuseMissing(ctx, object, viewAs(recordsAt(role, "rules")));
  }
}

/**
 * Returns true if the user may grant permissions that the user does not have. For a write of a role, the user needs the
 * verb `escalate` on this role. For a write of a binding, the user needs the verb `bind` on the role that the binding
 * refers to.
 */
function mayEverything({ state, user }: ResourceContext, verb: "escalate" | "bind", role: KubeObject): boolean {
  const { name = "", namespace = "" } = role.metadata;
  const resource = role.kind === "Role" ? "roles" : "clusterroles";
  const place = { isResource: true, group: RBAC_GROUP, resource, subresource: "", namespace, name } as const;
  return decide(state, user, { ...place, verb }).allowed;
}

const FULL: readonly Rule[] = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], nonResourceURLs: ["*"] }];

function refuseMissing(ctx: ResourceContext, object: KubeObject, rules: readonly Rule[]): void {
  const { user, state, kind } = ctx;
  const { name = "", namespace = "" } = object.metadata;
  const missing = rules.filter(
    (rule) => !singleRights(rule, namespace).every((right) => decide(state, user, right).allowed),
  );
  if (missing.length === 0) return;
  const groups = user.groups.map((group) => JSON.stringify(group)).join(" ");
  const message =
    `user ${JSON.stringify(user.username)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n` +
    missing.map(shownRule).join("\n");
  fail({ reason: "Forbidden", resource: resourceOf(kind), name, message });
}

function singleRights(rule: Rule, namespace: string): readonly Attributes[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length === 0 ? [""] : resourceNames;
  return verbs.flatMap((verb) => [
    ...nonResourceURLs.map((path): Attributes => ({ isResource: false, verb, path })),
    ...apiGroups.flatMap((group) =>
      resources.flatMap((place) =>
        names.map((name): Attributes => {
          const [resource = "", ...subresource] = place.split("/");
          return { isResource: true, verb, group, resource, subresource: subresource.join("/"), namespace, name };
        }),
      ),
    ),
  ]);
}

const SHOWN = ["apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs"] as const;

/** Renders a rule such as `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
function shownRule(rule: Rule): string {
  const parts = SHOWN.filter((field) => (rule[field]?.length ?? 0) > 0).map((field) => {
    const values = (rule[field] ?? []).map((value) => JSON.stringify(value)).join(" ");
    const name = field === "apiGroups" ? "APIGroups" : `${field.charAt(0).toUpperCase()}${field.slice(1)}`;
    return `${name}:[${values}]`;
  });
  return `{${parts.join(", ")}}`;
}
