/**
 * ValidatingAdmissionPolicies and their bindings.
 * Owns: their shape, which of their expressions compile. Does not own: their defaults and plain rules (rules.yaml), judging
 * by them (admission/policies.ts).
 */
import { problemWith } from "../admission/cel.ts";
import type { Webhook } from "../admission/webhook-client.ts";
import { forbiddenValue, invalidValue } from "../field-errors.ts";
import { type KubeObject, type Tree, fieldAt, recordsAt, stringAt, viewAs } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { byRules } from "./by-rules.ts";
import { AGE, NAME, at, countOf } from "./columns.ts";
import { type ResourceKind, defineKind } from "./kind.ts";

export const ADMISSION_GROUP = "admissionregistration.k8s.io";

interface Matching extends Pick<Webhook, "matchPolicy" | "namespaceSelector" | "objectSelector"> {
  readonly resourceRules?: Webhook["rules"];
  readonly excludeResourceRules?: NonNullable<Webhook["rules"]>;
}

export interface Policy extends KubeObject {
  spec: {
    readonly failurePolicy: "Fail" | "Ignore";
    readonly matchConstraints: Matching;
    readonly matchConditions?: Webhook["matchConditions"];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
      readonly reason?: string;
    }[];
  };
}

export interface PolicyBinding extends KubeObject {
  spec: {
    readonly policyName: string;
    readonly validationActions: readonly ("Deny" | "Warn" | "Audit")[];
    readonly matchResources?: Matching;
  };
}

/** Where expressions stand, and of which type they have to be. */
const EXPRESSIONS: readonly (readonly [list: string, field: string, ...types: string[]])[] = [
  ["matchConditions", "expression", "bool", "dyn"],
  ["variables", "expression"],
  ["validations", "expression", "bool", "dyn"],
  ["validations", "messageExpression", "string", "dyn"],
];

function expressionErrors(policy: KubeObject): readonly FieldError[] {
  const errors = EXPRESSIONS.flatMap(([list, field, ...types]) =>
    recordsAt(policy, `spec.${list}`).flatMap((one: Tree, index) => {
      const expression = stringAt(one, field);
      const problem = expression === "" ? undefined : problemWith(expression, ...types);
      return problem === undefined ? [] : [invalidValue(`spec.${list}[${index}].${field}`, expression, problem)];
    }),
  );
  const params = fieldAt(policy, "spec.paramKind");
  const unsupported = forbiddenValue("spec.paramKind", "this API server does not support parameters of policies");
  return params === undefined ? errors : [...errors, unsupported];
}

const BOTH = {
  group: ADMISSION_GROUP,
  version: "v1",
  namespaced: false,
  hasGeneration: true,
  categories: ["api-extensions"],
};
const RULES = byRules("ValidatingAdmissionPolicy");

export const POLICIES: ResourceKind = defineKind({
  ...BOTH,
  ...RULES,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  hasStatus: true,
  lists: { "spec.matchConditions": ["name"], "spec.variables": ["name"], "status.conditions": ["type"] },
  columns: [
    NAME,
    countOf("Validations", (policy) => viewAs<Policy>(policy).spec.validations.length),
    at("ParamKind", "spec.paramKind.kind", { absent: "<unset>" }),
    AGE,
  ],
  validate: (policy, previous) => [...RULES.validate(policy, previous), ...expressionErrors(policy)],
});

export const ADMISSION_POLICIES: readonly ResourceKind[] = [
  POLICIES,
  defineKind({
    ...BOTH,
    ...byRules("ValidatingAdmissionPolicyBinding"),
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    columns: [
      NAME,
      at("PolicyName", "spec.policyName"),
      at("ParamRef", "spec.paramRef.name", { absent: "<unset>" }),
      AGE,
    ],
  }),
];
