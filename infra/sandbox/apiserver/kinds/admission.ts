/** The kinds of admission policies; webhook configurations are in webhook-configurations.ts. */
import { problemWith } from "../admission/cel.ts";
import type { Webhook } from "../admission/webhook-client.ts";
import { forbiddenValue, invalidValue } from "../field-errors.ts";
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

export interface PolicyBinding extends KubeObject {
  spec: {
    readonly policyName: string;
    readonly validationActions: readonly ("Deny" | "Warn" | "Audit")[];
    readonly matchResources?: Matching;
  };
}

/** The fields that contain expressions, and the types that these must have. */
const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  "matchConditions.expression": ["bool"],
  "variables.expression": [],
  "validations.expression": ["bool"],
  "validations.messageExpression": ["string"],
};

function expressionErrors(owner: unknown, path: string): readonly FieldError[] {
  return Object.entries(EXPRESSIONS).flatMap(([place, types]) => {
    const [list = "", field = ""] = place.split(".");
    return recordsAt(owner, list).flatMap((one, index) => {
      const expression = stringAt(one, field);
      const problem = expression === "" ? undefined : problemWith(expression, ...types);
      return problem === undefined ? [] : [invalidValue(`${path}.${list}[${index}].${field}`, expression, problem)];
    });
  });
}

function policyErrors(policy: KubeObject): readonly FieldError[] {
  const unsupported = forbiddenValue("spec.paramKind", "this API server does not support parameters of policies");
  const errors = expressionErrors(policy.spec, "spec");
  return fieldAt(policy, "spec.paramKind") === undefined ? errors : [...errors, unsupported];
}

export const POLICIES = builtIn("ValidatingAdmissionPolicy", {
  validate: (policy, previous) => [
    ...ruleErrors("ValidatingAdmissionPolicy", policy, previous),
    ...policyErrors(policy),
  ],
});

export const ADMISSION = [...WEBHOOK_CONFIGURATIONS, POLICIES, builtIn("ValidatingAdmissionPolicyBinding")];
