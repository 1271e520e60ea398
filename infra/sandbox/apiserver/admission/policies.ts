/** ValidatingAdmissionPolicies: rules in CEL that the server evaluates itself. */
import { type Values, messageOf } from "../cel/language.ts";
import { type ResourceContext, collectionOf } from "../context.ts";
import { ADMISSION_GROUP, type Policy, type PolicyBinding, type PolicySpec } from "../kinds/admission.ts";
import { NAMESPACES } from "../kinds/core.ts";
import { type KubeObject, qualified, viewAs } from "../objects.ts";
import { fail } from "../status.ts";
import { parsedOnce } from "../store.ts";
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
      act(ctx, binding, { subject, refusals: refusalsOf(ctx, spec, subject) });
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

function refusalsOf(ctx: ResourceContext, spec: PolicySpec, subject: AdmissionSubject): readonly Refusal[] {
  const namespace = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name: ctx.info.namespace });
  const given = valuesOf(ctx, reviewOf(ctx, subject, ctx.kind), namespace && parsedOnce(namespace));
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

/** The policy's own variables: each is worked out when it is asked for. */
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

/** There is no audit log here. */
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
