/** Evaluates the CEL rules of ValidatingAdmissionPolicies. */
import { matchesSelector } from "../../labels.ts";
import { type Values, messageOf } from "../cel/language.ts";
import { type ResourceContext, collectionOf } from "../context.ts";
import {
  ADMISSION_GROUP,
  type ParamRef,
  type Policy,
  type PolicyBinding,
  type PolicySpec,
} from "../kinds/admission.ts";
import { NAMESPACES } from "../kinds/core.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { type KubeObject, qualified, viewAs } from "../objects.ts";
import { fail } from "../status.ts";
import { parsedOnce, type StoredObject } from "../store.ts";
import { evaluate, valuesOf } from "./cel.ts";
import { judgeConditions } from "./match-conditions.ts";
import { concerns } from "./matching.ts";
import { type AdmissionSubject, nameInRefusal, reviewOf } from "./review.ts";

export function admitByPolicies(ctx: ResourceContext, subject: AdmissionSubject): void {
  if (ctx.kind.group === ADMISSION_GROUP) return;
  const bindings = viewAs<readonly PolicyBinding[]>(stored(ctx, "validatingadmissionpolicybindings"));
  if (bindings.length === 0) return;
  for (const { metadata, spec } of viewAs<readonly Policy[]>(stored(ctx, "validatingadmissionpolicies"))) {
    const bound = bindings.filter((one) => one.spec.policyName === metadata.name);
    if (bound.length === 0 || !matches(ctx, spec.matchConstraints, subject)) continue;
    for (const binding of bound.filter((one) => matches(ctx, one.spec.matchResources ?? {}, subject))) {
      act(ctx, binding, { subject, refusals: refusalsBy(ctx, binding, { spec, subject }) });
    }
  }
}

function stored(ctx: ResourceContext, plural: string): readonly KubeObject[] {
  return ctx.state.store.collection(`${ADMISSION_GROUP}/${plural}`).list("").map(parsedOnce);
}

const ANYTHING = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];

function matches(ctx: ResourceContext, wanted: PolicySpec["matchConstraints"], subject: AdmissionSubject): boolean {
  const { resourceRules: rules = ANYTHING, excludeResourceRules, ...selectors } = wanted;
  const isExcluded = excludeResourceRules !== undefined && concerns(ctx, { rules: excludeResourceRules }, subject);
  return !isExcluded && concerns(ctx, { ...selectors, rules }, subject);
}

interface Refusal {
  readonly message: string;
  readonly reason?: string | undefined;
}

interface Judging {
  readonly spec: PolicySpec;
  readonly subject: AdmissionSubject;
}

/** Evaluates a policy once for each of its parameters. Returns the refusals. */
function refusalsBy(ctx: ResourceContext, { spec: { paramRef } }: PolicyBinding, judging: Judging): readonly Refusal[] {
  const params = paramsOf(ctx, judging.spec.paramKind, paramRef);
  if (typeof params !== "string") return params.flatMap((one) => refusalsOf(ctx, one, judging));
  return judging.spec.failurePolicy === "Ignore" ? [] : [{ message: `failed to configure binding: ${params}` }];
}

/**
 * Returns the parameters of a policy, or the text of an error. The parameter is `undefined` for a policy without a
 * paramKind, and `null` for a binding without a paramRef. Upstream: `CollectParams`, kubernetes 1.36
 * `apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go`.
 */
function paramsOf(
  { state, info }: ResourceContext,
  paramKind: PolicySpec["paramKind"],
  ref: ParamRef | undefined,
): readonly unknown[] | string {
  if (paramKind === undefined) return [undefined];
  if (ref === undefined) return [null];
  const { apiVersion, kind: name } = paramKind;
  const kind = state.kinds.ofObject(apiVersion, name);
  if (kind === undefined) return `failed to find resource referenced by paramKind: '${apiVersion}, Kind=${name}'`;
  const namespace = kind.namespaced ? ref.namespace || info.namespace : "";
  const problem = misplaced(kind, namespace, ref);
  if (problem !== undefined) return problem;
  const objects = collectionOf(state, kind).list(namespace);
  const isMeant = ref.name
    ? (one: StoredObject) => one.name === ref.name
    : (one: StoredObject) => matchesSelector(ref.selector ?? {}, one.labels);
  const found = objects.filter(isMeant).map((one) => kind.toServed(parsedOnce(one)));
  if (found.length > 0 || ref.parameterNotFoundAction !== "Deny") return found;
  return "no params found for policy binding with `Deny` parameterNotFoundAction";
}

function misplaced({ namespaced }: ResourceKind, namespace: string, ref: ParamRef): string | undefined {
  if (!namespaced && ref.namespace) return "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
  return namespaced && namespace === ""
    ? "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    : undefined;
}

function refusalsOf(ctx: ResourceContext, params: unknown, { spec, subject }: Judging): readonly Refusal[] {
  const namespace = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name: ctx.info.namespace });
  const around = { params, ...(namespace && { namespaceObject: parsedOnce(namespace) }) };
  const given = valuesOf(ctx, reviewOf(ctx, subject, ctx.kind), around);
  const onError = (message: string): readonly Refusal[] => (spec.failurePolicy === "Ignore" ? [] : [{ message }]);
  const isConcerned = judgeConditions(spec.matchConditions, given);
  if (typeof isConcerned === "string") return onError(isConcerned);
  const values = withOwn(given, spec.variables);
  return (isConcerned ? spec.validations : []).flatMap((validation) => {
    const { expression, reason } = validation;
    try {
      if (evaluate(expression, values) === true) return [];
    } catch (error) {
      return onError(error instanceof Error ? error.message : "");
    }
    const otherwise = `failed expression: ${expression.trim()}`;
    return [{ reason, message: messageOf(validation, (words) => evaluate(words, values)) || otherwise }];
  });
}

function withOwn(given: Values, own: PolicySpec["variables"] = []): Values {
  const variables = {};
  const values = { ...given, variables };
  for (const { name, expression } of own) {
    Object.defineProperty(variables, name, { enumerable: true, get: () => evaluate(expression, values) });
  }
  return values;
}

const CODES: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

interface Judgement {
  readonly subject: AdmissionSubject;
  readonly refusals: readonly Refusal[];
}

/** Warns or refuses, depending on the binding's validationActions. Ignores the action Audit. */
function act(ctx: ResourceContext, { metadata, spec }: PolicyBinding, { subject, refusals }: Judgement): void {
  const by = `ValidatingAdmissionPolicy '${spec.policyName}' with binding '${metadata.name}'`;
  const warnings = refusals.map(({ message }) => `Validation failed for ${by}: ${message}`);
  if (spec.validationActions.includes("Warn")) ctx.warnings.push(...warnings);
  const [refusal] = spec.validationActions.includes("Deny") ? refusals : [];
  if (refusal === undefined) return;
  const { group, plural } = ctx.kind;
  const [name, reason] = [nameInRefusal(ctx, subject.object), refusal.reason ?? "Invalid"];
  const cause = `${by} denied request: ${refusal.message}`;
  const details = { name, ...(group !== "" && { group }), kind: plural, causes: [{ message: cause }] };
  const message = `${qualified({ group, resource: plural })} "${name}" is forbidden: ${cause}`;
  fail({ reason: "WebhookDenied", message, status: { code: CODES[reason] ?? 422, reason, details } });
}
