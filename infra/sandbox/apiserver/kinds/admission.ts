/**
 * What a cluster has its API server ask before it does as it is told: policies; webhooks are in webhook-configurations.ts.
 * Owns: which of their expressions compile. Does not own: their defaults and plain rules (rules.yaml), asking (admission/).
 */
import { problemWith } from "../admission/cel.ts";
import type { Webhook } from "../admission/webhook-client.ts";
import { forbiddenValue, invalidValue } from "../field-errors.ts";
import { type KubeObject, fieldAt, recordsAt, stringAt } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { byRules } from "./by-rules.ts";
import { AGE, NAME, at, countOf } from "./columns.ts";
import { WEBHOOK_CONFIGURATIONS } from "./webhook-configurations.ts";
import { type Column, type KindDefinition, type ResourceKind, defineKind } from "./kind.ts";

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

/** The fields of expressions, and of which types they have to be. */
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

// prettier-ignore
const COMMON = {
  group: ADMISSION_GROUP, version: "v1", namespaced: false, categories: ["api-extensions"],
  hasGeneration: true, unconditionalUpdate: false,
};

type More = Partial<KindDefinition> & { readonly errors?: (object: KubeObject) => readonly FieldError[] };

function admissionKind(kind: string, plural: string, columns: readonly Column[], more: More): ResourceKind {
  const rules = byRules(kind);
  const { errors = () => [], ...definition } = more;
  return defineKind({
    ...COMMON,
    kind,
    plural,
    columns: [NAME, ...columns, AGE],
    applyDefaults: rules.applyDefaults,
    validate: (object, previous) => [...rules.validate(object, previous), ...errors(object)],
    ...definition,
  });
}

const policyColumns = [
  countOf("Validations", (policy) => recordsAt(policy, "spec.validations").length),
  at("ParamKind", "spec.paramKind.kind", { absent: "<unset>" }),
];
const bindingColumns = [
  at("PolicyName", "spec.policyName"),
  at("ParamRef", "spec.paramRef.name", { absent: "<unset>" }),
];

export const POLICIES = admissionKind("ValidatingAdmissionPolicy", "validatingadmissionpolicies", policyColumns, {
  errors: policyErrors,
  hasStatus: true,
  lists: { "spec.matchConditions": ["name"], "spec.variables": ["name"], "status.conditions": ["type"] },
});

export const ADMISSION: readonly ResourceKind[] = [
  ...WEBHOOK_CONFIGURATIONS,
  POLICIES,
  admissionKind("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", bindingColumns, {}),
];
