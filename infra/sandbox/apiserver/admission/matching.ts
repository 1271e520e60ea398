/**
 * Which requests an admission webhook or policy concerns.
 * Owns: rules and selectors. Does not own: conditions in CEL (match-conditions.ts).
 */
import { type ResourceContext, collectionOf } from "../context.ts";
import { NAMESPACES } from "../kinds/core.ts";
import type { KubeObject } from "../objects.ts";
import { type LabelSelector, type Labels, matchesLabels, requirementsOf } from "../selectors.ts";
import type { AdmissionSubject } from "./review.ts";
import type { Webhook } from "./webhook-client.ts";

type Selection = Pick<Webhook, "rules" | "matchPolicy" | "namespaceSelector" | "objectSelector">;

export function concerns(ctx: ResourceContext, selection: Selection, subject: AdmissionSubject): boolean {
  const rules = selection.rules ?? [];
  return (
    rules.some((rule) => matchesRule(ctx, rule, { selection, operation: subject.operation })) &&
    matchesNamespace(ctx, selection.namespaceSelector ?? {}, subject) &&
    matchesObject(selection.objectSelector ?? {}, subject)
  );
}

const ANY = ["*"];

type Rule = NonNullable<Webhook["rules"]>[number];

function matchesRule(
  { kind, info }: ResourceContext,
  rule: Rule,
  { selection, operation }: { selection: Selection; operation: string },
): boolean {
  // Equivalent: another version of the same resource is the same resource.
  const versions = selection.matchPolicy === "Exact" ? rule.apiVersions : ANY;
  const scope = kind.namespaced ? "Namespaced" : "Cluster";
  const facts = [
    [rule.operations, operation],
    [rule.apiGroups, kind.group],
    [versions, kind.version],
    [rule.resourceNames ?? ANY, info.name],
    [[rule.scope ?? "*"], scope],
  ] as const;
  const concerned = (rule.resources ?? []).some((one) => matchesResource(one, info.resource, info.subresource));
  return concerned && facts.every(([list, fact]) => includes(list, fact));
}

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes("*") || list.includes(value));
}

/** `pods`, `pods/eviction`, `pods/*`, `*` (no subresources), `*` with `/*` (everything). */
function matchesResource(pattern: string, resource: string, subresource: string): boolean {
  const [wantedResource = "", wantedSubresource = ""] = pattern.split("/", 2);
  const resourceMatches = wantedResource === "*" || wantedResource === resource;
  const subresourceMatches = wantedSubresource === "*" || wantedSubresource === subresource;
  return resourceMatches && subresourceMatches;
}

function matchesNamespace(
  ctx: ResourceContext,
  selector: LabelSelector,
  { object, oldObject }: AdmissionSubject,
): boolean {
  const requirements = requirementsOf(selector);
  if (requirements.length === 0) return true;
  if (ctx.kind.plural === "namespaces") return matchesLabels(requirements, labelsOf(object ?? oldObject));
  if (!ctx.kind.namespaced) return true;
  const namespace = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name: ctx.info.namespace });
  return matchesLabels(requirements, namespace?.labels ?? {});
}

/** Of an update either state may match. */
function matchesObject(selector: LabelSelector, { object, oldObject }: AdmissionSubject): boolean {
  const requirements = requirementsOf(selector);
  const states = [object, oldObject].filter((state) => state !== undefined);
  return requirements.length === 0 || states.some((state) => matchesLabels(requirements, labelsOf(state)));
}

function labelsOf(object: KubeObject | undefined): Labels {
  return object?.metadata.labels ?? {};
}
