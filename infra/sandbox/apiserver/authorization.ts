/** Role-based access control (RBAC). */
import type { ServerState, User } from "./context.ts";
import { RBAC_GROUP } from "./kinds/rbac.ts";
import { type KubeObject, stringAt, recordsAt, viewAs } from "./objects.ts";
import type { NonResourceRequest, RequestInfo, ResourceRequest } from "./request-info.ts";
import { serviceAccountOf } from "./service-account-tokens.ts";
import { parsedOnce } from "./store.ts";
import { fail } from "./status.ts";

type ResourceAttributes = Omit<ResourceRequest, "version" | "path" | "query">;

export type Attributes = ResourceAttributes | Omit<NonResourceRequest, "query">;

export interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Verdict {
  readonly allowed: boolean;
  /**
   * If the request is allowed, names the binding that allows it. If the request is refused, lists the roles that the
   * user's bindings refer to, but that do not exist.
   */
  readonly reason: string;
}

/**
 * Throws if the user may not make the request. For a subresource with a slash, such as `evacuate/cancel`, checks only
 * the part before the slash.
 */
export function authorize(state: ServerState, user: User, info: RequestInfo): void {
  const [subresource = ""] = info.isResource ? info.subresource.split("/") : [];
  const attributes = info.isResource ? { ...info, subresource } : info;
  const verdict = decide(state, user, attributes);
  if (!verdict.allowed) refuse(user, attributes, verdict.reason);
}

export function decide(state: ServerState, user: User, attributes: Attributes): Verdict {
  if (user.groups.includes("system:masters")) return { allowed: true, reason: "" };
  const missing: string[] = [];
  for (const binding of bindingsOf(state, user, attributes.isResource ? attributes.namespace : "")) {
    const rules = rulesOf(state, binding, missing);
    if (rules.some((rule) => allows(rule, attributes))) return { allowed: true, reason: granted(binding) };
  }
  const reason = missing.length === 0 ? "" : `RBAC: ${missing.length === 1 ? missing[0] : `[${missing.join(", ")}]`}`;
  return { allowed: false, reason };
}

export function rulesFor(state: ServerState, user: User, namespace: string): readonly Rule[] {
  return bindingsOf(state, user, namespace).flatMap((binding) => rulesOf(state, binding, []));
}

function bindingsOf({ store }: ServerState, user: User, namespace: string): readonly KubeObject[] {
  const everywhere = store.collection(`${RBAC_GROUP}/clusterrolebindings`).list("");
  const here = namespace === "" ? [] : store.collection(`${RBAC_GROUP}/rolebindings`).list(namespace);
  const bindings = [...everywhere, ...here].map(parsedOnce);
  return bindings.filter((one) => recordsAt(one, "subjects").some((subject) => isSubject(viewAs(subject), user, one)));
}

function granted(binding: KubeObject): string {
  const { name, namespace } = binding.metadata;
  const where = namespace === undefined ? `"${name}"` : `"${name}/${namespace}"`;
  const role = `${stringAt(binding, "roleRef.kind")} "${stringAt(binding, "roleRef.name")}"`;
  return `RBAC: allowed by ${binding.kind} ${where} of ${role}`;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

function isSubject(subject: Subject, user: User, binding: KubeObject): boolean {
  switch (subject.kind) {
    case "User":
      return subject.name === user.username;
    case "Group":
      return user.groups.includes(subject.name);
    case "ServiceAccount": {
      const account = serviceAccountOf(user.username);
      const namespace = subject.namespace ?? binding.metadata.namespace;
      return account?.name === subject.name && account.namespace === namespace;
    }
    default:
      return false;
  }
}

function rulesOf(state: ServerState, binding: KubeObject, missing: string[]): readonly Rule[] {
  const role = roleOf(state, binding);
  if (role !== undefined) return viewAs(recordsAt(role, "rules"));
  const resource = stringAt(binding, "roleRef.kind").toLowerCase();
  missing.push(`${resource}.${RBAC_GROUP} "${stringAt(binding, "roleRef.name")}" not found`);
  return [];
}

/** Returns the role of a binding. Returns undefined if the role does not exist. */
export function roleOf(state: ServerState, binding: KubeObject): KubeObject | undefined {
  const isRole = stringAt(binding, "roleRef.kind") === "Role";
  const roles = state.store.collection(`${RBAC_GROUP}/${isRole ? "roles" : "clusterroles"}`);
  const namespace = isRole ? (binding.metadata.namespace ?? "") : "";
  const stored = roles.get({ namespace, name: stringAt(binding, "roleRef.name") });
  return stored && parsedOnce(stored);
}

function allows(rule: Rule, attributes: Attributes): boolean {
  if (!matches(rule.verbs, attributes.verb)) return false;
  if (!attributes.isResource) return matchesPath(rule.nonResourceURLs ?? [], attributes.path);
  const { group, name } = attributes;
  const named = rule.resourceNames ?? [];
  return (
    matches(rule.apiGroups, group) && matchesResource(rule, attributes) && (named.length === 0 || named.includes(name))
  );
}

function matches(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes("*") || list.includes(value));
}

function matchesResource({ resources = [] }: Rule, { resource, subresource }: ResourceAttributes): boolean {
  if (subresource === "") return matches(resources, resource);
  return matches(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

function matchesPath(urls: readonly string[], path: string): boolean {
  return urls.some((url) => (url.endsWith("*") ? path.startsWith(url.slice(0, -1)) : url === path));
}

export function refuse(user: User, attributes: Attributes, reason = ""): never {
  const suffix = reason === "" ? "" : `: ${reason}`;
  if (!attributes.isResource) {
    const message = `User "${user.username}" cannot ${attributes.verb} path "${attributes.path}"${suffix}`;
    return fail({ reason: "NonResourceForbidden", message });
  }
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const message = `User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}${suffix}`;
  return fail({ reason: "Forbidden", resource: { group, resource }, name, message });
}
