/** The kinds of admission policies. */
import type { LabelSelector } from "../../labels.ts";
import { problemWith, type Variables } from "../admission/cel.ts";
import type { Webhook } from "../admission/webhook-client.ts";
import { forbiddenValue, invalidValue, requiredIf } from "../field-errors.ts";
import { type KubeObject, fieldAt, recordsAt, stringAt } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { builtIn, ruleErrors } from "./built-in.ts";
import { WEBHOOK_CONFIGURATIONS } from "./webhook-configurations.ts";

export const ADMISSION_GROUP = "admissionregistration.k8s.io";

interface Matching extends Pick<Webhook, "matchPolicy" | "namespaceSelector" | "objectSelector"> {
  readonly resourceRules?: Webhook["rules"];
  readonly excludeResourceRules?: NonNullable<Webhook["rules"]>;
}

export interface PolicySpec extends Pick<Webhook, "failurePolicy" | "matchConditions"> {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly matchConstraints: Matching;
  readonly variables?: Webhook["matchConditions"];
  readonly validations: readonly {
    readonly expression: string;
    readonly message?: string;
    readonly messageExpression?: string;
    readonly reason?: string;
  }[];
}

export type Policy = KubeObject & { readonly spec: PolicySpec };

export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelector;
  readonly parameterNotFoundAction?: "Allow" | "Deny";
}

export interface PolicyBinding extends KubeObject {
  spec: {
    readonly policyName: string;
    readonly validationActions: readonly ("Deny" | "Warn" | "Audit")[];
    readonly matchResources?: Matching;
    readonly paramRef?: ParamRef;
  };
}

/** The fields that contain CEL expressions, and the types that these expressions must have. */
const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  "matchConditions.expression": ["bool"],
  "variables.expression": [],
  "validations.expression": ["bool"],
  "validations.messageExpression": ["string"],
};

function expressionErrors(owner: unknown, path: string, variables: Variables): readonly FieldError[] {
  return Object.entries(EXPRESSIONS).flatMap(([place, types]) => {
    const [list = "", field = ""] = place.split(".");
    return recordsAt(owner, list).flatMap((one, index) => {
      const expression = stringAt(one, field);
      const problem = expression === "" ? undefined : problemWith(expression, { types, variables });
      return problem === undefined ? [] : [invalidValue(`${path}.${list}[${index}].${field}`, expression, problem)];
    });
  });
}

function policyErrors(policy: KubeObject): readonly FieldError[] {
  const kind = fieldAt(policy, "spec.paramKind");
  const missing = ["apiVersion", "kind"].filter((field) => stringAt(kind, field) === "");
  return [
    ...missing.flatMap((field) => requiredIf(kind !== undefined, `spec.paramKind.${field}`)),
    ...expressionErrors(policy.spec, "spec", kind === undefined ? "plain" : "withParams"),
  ];
}

/**
 * Validates a binding. Upstream: `validateParamRef`, kubernetes 1.36
 * `pkg/apis/admissionregistration/validation/validation.go`.
 */
function bindingErrors(binding: KubeObject): readonly FieldError[] {
  const at = "spec.paramRef";
  const ref = fieldAt(binding, at);
  if (ref === undefined) return [];
  const [hasName, hasSelector] = [stringAt(ref, "name") !== "", fieldAt(binding, `${at}.selector`) !== undefined];
  const one = "name and selector are mutually exclusive";
  return [
    ...(hasName && hasSelector ? [forbiddenValue(`${at}.name`, one), forbiddenValue(`${at}.selector`, one)] : []),
    ...requiredIf(!hasName && !hasSelector, at, "one of name or selector must be specified"),
    ...requiredIf(stringAt(ref, "parameterNotFoundAction") === "", `${at}.parameterNotFoundAction`),
  ];
}

export const POLICIES = builtIn("ValidatingAdmissionPolicy", {
  validate: (policy, previous) => [
    ...ruleErrors("ValidatingAdmissionPolicy", policy, previous),
    ...policyErrors(policy),
  ],
});

const BINDINGS = builtIn("ValidatingAdmissionPolicyBinding", {
  validate: (binding, previous) => [
    ...ruleErrors("ValidatingAdmissionPolicyBinding", binding, previous),
    ...bindingErrors(binding),
  ],
});

export const ADMISSION = [...WEBHOOK_CONFIGURATIONS, POLICIES, BINDINGS];
