/**
 * ValidatingAdmissionPolicies: rules in CEL that the server judges by itself.
 * Owns: which policies concern a request, what their verdicts do. Does not own: the kinds (kinds/admission.ts),
 * matching (matching.ts).
 */
import { type ResourceContext, collectionOf, resourceOf } from "../context.ts";
import { ADMISSION_GROUP, type Policy, type PolicyBinding } from "../kinds/admission.ts";
import { NAMESPACES } from "../kinds/core.ts";
import { type KubeObject, viewAs } from "../objects.ts";
import { fail } from "../status.ts";
import { parsedOnce } from "../store.ts";
import { type Variables, evaluate, variablesOf } from "./cel.ts";
import { judgeConditions } from "./match-conditions.ts";
import { concerns } from "./matching.ts";
import { type AdmissionSubject, nameInRefusal, reviewOf } from "./review.ts";

/** What is said of a request that a policy does not let pass. */
interface Refusal {
  readonly message: string;
  readonly reason?: string;
}

export function admitByPolicies(ctx: ResourceContext, subject: AdmissionSubject): void {
  if (ctx.kind.group === ADMISSION_GROUP) return;
  const bindings = viewAs<readonly PolicyBinding[]>(stored(ctx, "validatingadmissionpolicybindings"));
  if (bindings.length === 0) return;
  for (const { metadata, spec } of viewAs<readonly Policy[]>(stored(ctx, "validatingadmissionpolicies"))) {
    if (!matches(ctx, spec.matchConstraints, subject)) continue;
    for (const binding of bindings.filter((one) => one.spec.policyName === metadata.name)) {
      if (binding.spec.matchResources && !matches(ctx, binding.spec.matchResources, subject)) continue;
      act(ctx, { subject, binding, policy: metadata.name ?? "" }, refusalsOf(ctx, spec, subject));
    }
  }
}

function stored(ctx: ResourceContext, plural: string): readonly KubeObject[] {
  return ctx.state.store.collection(`${ADMISSION_GROUP}/${plural}`).list("").map(parsedOnce);
}

function matches(ctx: ResourceContext, wanted: Policy["spec"]["matchConstraints"], subject: AdmissionSubject): boolean {
  const { resourceRules, excludeResourceRules = [], ...selectors } = wanted;
  const anywhere = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  if (!concerns(ctx, { ...selectors, rules: resourceRules ?? anywhere }, subject)) return false;
  return excludeResourceRules.length === 0 || !concerns(ctx, { rules: excludeResourceRules }, subject);
}

function refusalsOf(ctx: ResourceContext, spec: Policy["spec"], subject: AdmissionSubject): readonly Refusal[] {
  const namespace = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name: ctx.info.namespace });
  const variables = variablesOf(reviewOf(ctx, subject), namespace ? parsedOnce(namespace) : null);
  const isConcerned = judgeConditions(spec.matchConditions, variables);
  if (isConcerned === false) return [];
  const onError = (message: string): readonly Refusal[] => (spec.failurePolicy === "Ignore" ? [] : [{ message }]);
  if (isConcerned !== true) return onError(isConcerned);
  const all = withOwn(variables, spec.variables ?? []);
  return spec.validations.flatMap((validation) => {
    try {
      if (evaluate(validation.expression, all) === true) return [];
    } catch (error) {
      return onError(error instanceof Error ? error.message : "");
    }
    const { reason } = validation;
    return [{ message: messageOf(validation, all), ...(reason !== undefined && { reason }) }];
  });
}

/** The policy's own variables: each is worked out when it is first asked for. */
function withOwn(variables: Variables, own: NonNullable<Policy["spec"]["variables"]>): Variables {
  const known: Record<string, unknown> = {};
  const all = { ...variables, variables: known };
  for (const { name, expression } of own) {
    let value: unknown;
    const get = (): unknown => (value ??= evaluate(expression, all));
    Object.defineProperty(known, name, { enumerable: true, get });
  }
  return all;
}

function messageOf(validation: Policy["spec"]["validations"][number], variables: Variables): string {
  const { message = "", messageExpression, expression } = validation;
  let words: unknown;
  try {
    words = messageExpression === undefined ? undefined : evaluate(messageExpression, variables);
  } catch {
    // the plain message is said instead
  }
  const said = typeof words === "string" && !words.trim().includes("\n") ? words.trim() : "";
  return said || message.trim() || `failed expression: ${expression.trim()}`;
}

interface Judged {
  readonly policy: string;
  readonly binding: PolicyBinding;
  readonly subject: AdmissionSubject;
}

/** Audit logs are kept nowhere here. */
function act(ctx: ResourceContext, { policy, binding, subject }: Judged, refusals: readonly Refusal[]): void {
  const { validationActions } = binding.spec;
  const by = `ValidatingAdmissionPolicy '${policy}' with binding '${binding.metadata.name}'`;
  if (validationActions.includes("Warn"))
    ctx.warnings.push(...refusals.map(({ message }) => `Validation failed for ${by}: ${message}`));
  const [refusal] = refusals;
  if (refusal === undefined || !validationActions.includes("Deny")) return;
  const name = nameInRefusal(ctx, subject.object);
  const message = `${by} denied request: ${refusal.message}`;
  fail({ reason: "PolicyDenied", resource: resourceOf(ctx.kind), name, message, as: refusal.reason ?? "Invalid" });
}
