/** Determines which admission webhooks and policies apply to a request. */
import { type LabelSelector, type Labels, matchesSelector } from "../../labels.ts";
import { type ResourceContext, collectionOf } from "../context.ts";
import { NAMESPACES } from "../kinds/core.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import type { KubeObject } from "../objects.ts";
import type { AdmissionSubject } from "./review.ts";
import type { Webhook } from "./webhook-client.ts";

type Selection = Pick<Webhook, "rules" | "matchPolicy" | "namespaceSelector" | "objectSelector">;

/**
 * Returns the kind, in a version that the rules of the webhook or policy match. Returns undefined if the rules match no
 * version of the kind. With the match policy Exact, only the version of the request can match.
 */
export function kindFor(ctx: ResourceContext, selection: Selection, operation: string): ResourceKind | undefined {
  const { kind, info, state } = ctx;
  const same = selection.matchPolicy === "Exact" ? [] : state.kinds.all().filter((one) => one.storage === kind.storage);
  const rules = (selection.rules ?? []).filter(({ operations }) => includes(operations, operation));
  return [kind, ...same].find((one) => rules.some((rule) => matchesRule(one, rule, info)));
}

export function concerns(ctx: ResourceContext, selection: Selection, subject: AdmissionSubject): boolean {
  return kindFor(ctx, selection, subject.operation) !== undefined && selects(ctx, selection, subject);
}

export function selects(ctx: ResourceContext, selection: Selection, subject: AdmissionSubject): boolean {
  return (
    matchesNamespace(ctx, selection.namespaceSelector ?? {}, subject) &&
    matchesObject(selection.objectSelector ?? {}, subject)
  );
}

const ANY = ["*"];

type Rule = NonNullable<Webhook["rules"]>[number];

function matchesRule(kind: ResourceKind, rule: Rule, { subresource, name }: ResourceContext["info"]): boolean {
  const facts = [
    [rule.apiGroups, kind.group],
    [rule.apiVersions, kind.version],
    [rule.resourceNames ?? ANY, name],
    [[rule.scope ?? "*"], kind.namespaced ? "Namespaced" : "Cluster"],
  ] as const;
  const concerned = (rule.resources ?? []).some((one) => matchesResource(one, kind.plural, subresource));
  return concerned && facts.every(([list, fact]) => includes(list, fact));
}

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes("*") || list.includes(value));
}

/**
 * Returns true if a pattern such as `pods`, `pods/eviction` or `pods/*` matches. `*` matches all resources, but
 * no subresources.
 */
function matchesResource(pattern: string, resource: string, subresource: string): boolean {
  const [wantedResource = "", wantedSubresource = ""] = pattern.split("/", 2);
  const resourceMatches = wantedResource === "*" || wantedResource === resource;
  const subresourceMatches = wantedSubresource === "*" || wantedSubresource === subresource;
  return resourceMatches && subresourceMatches;
}

function matchesNamespace(ctx: ResourceContext, selector: LabelSelector, subject: AdmissionSubject): boolean {
  const { object, oldObject } = subject;
  if (ctx.kind.plural === "namespaces") return matchesSelector(selector, labelsOf(object ?? oldObject));
  if (!ctx.kind.namespaced) return true;
  const namespace = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name: ctx.info.namespace });
  return matchesSelector(selector, namespace?.labels ?? {});
}

/** Returns true if the selector matches the object. For an update, either the old or the new object must match. */
function matchesObject(selector: LabelSelector, { object, oldObject }: AdmissionSubject): boolean {
  const states = [object, oldObject].filter((state) => state !== undefined);
  return states.some((state) => matchesSelector(selector, labelsOf(state)));
}

function labelsOf(object: KubeObject | undefined): Labels {
  return object?.metadata.labels ?? {};
}
