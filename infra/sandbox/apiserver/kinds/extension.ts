/**
 * Webhook configurations.
 * Owns: their shape and defaults. Does not own: calling webhooks (admission/).
 */
import { type KubeObject, type Tree, fieldAt, recordsAt, stringAt, stringsAt, textOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { problemWith } from "../admission/cel.ts";
import { invalidValue, requiredValue, unsupportedValue } from "../field-errors.ts";
import { AGE, NAME, countOf } from "./columns.ts";
import { type KindDefinition, type ResourceKind, defineKind } from "./kind.ts";

const WEBHOOKS = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  namespaced: false,
  hasGeneration: true,
  unconditionalUpdate: false,
  categories: ["api-extensions"],
  lists: { webhooks: ["name"], "webhooks.matchConditions": ["name"] },
  atomicMaps: ["webhooks.namespaceSelector", "webhooks.objectSelector"],
  columns: [NAME, countOf("Webhooks", (configuration) => recordsAt(configuration, "webhooks").length), AGE],
} satisfies Partial<KindDefinition>;

const WEBHOOK_DEFAULTS = {
  failurePolicy: "Fail",
  matchPolicy: "Equivalent",
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
};

function defaultWebhooks(configuration: KubeObject, more: Readonly<Record<string, unknown>> = {}): void {
  for (const webhook of recordsAt(configuration, "webhooks")) {
    for (const [field, value] of Object.entries({ ...WEBHOOK_DEFAULTS, ...more })) webhook[field] ??= value;
    for (const rule of recordsAt(webhook, "rules")) rule.scope ??= "*";
  }
}

const SIDE_EFFECTS = ["None", "NoneOnDryRun"];
const POLICIES = ["Fail", "Ignore"];

function validateWebhooks(configuration: KubeObject): readonly FieldError[] {
  return recordsAt(configuration, "webhooks").flatMap((webhook, index) =>
    validateWebhook(webhook, `webhooks[${index}]`),
  );
}

function validateWebhook(webhook: Tree, field: string): readonly FieldError[] {
  const { sideEffects, failurePolicy, timeoutSeconds } = webhook;
  const seconds = Number(timeoutSeconds);
  return [
    ...(stringsAt(webhook, "admissionReviewVersions").length === 0
      ? [requiredValue(`${field}.admissionReviewVersions`, "must specify one of v1, v1beta1")]
      : []),
    ...(sideEffects === undefined
      ? [requiredValue(`${field}.sideEffects`, "must specify one of None, NoneOnDryRun")]
      : []),
    ...unsupported(`${field}.sideEffects`, sideEffects, SIDE_EFFECTS),
    ...unsupported(`${field}.failurePolicy`, failurePolicy, POLICIES),
    ...(seconds < 1 || seconds > 30
      ? [invalidValue(`${field}.timeoutSeconds`, seconds, "the timeout value must be between 1 and 30 seconds")]
      : []),
    ...validateConditions(webhook, field),
    ...validateUrl(`${field}.clientConfig.url`, fieldAt(webhook, "clientConfig.url")),
  ];
}

function unsupported(field: string, value: unknown, supported: readonly string[]): readonly FieldError[] {
  return value === undefined || supported.includes(textOf(value)) ? [] : [unsupportedValue(field, value, supported)];
}

function validateUrl(field: string, url: unknown): readonly FieldError[] {
  if (typeof url !== "string") return [];
  const scheme = url.split(":")[0] ?? "";
  const form = "; desired format: https://host[/path]";
  return scheme === "https" ? [] : [invalidValue(field, scheme, `'https' is the only allowed URL scheme${form}`)];
}

function validateConditions(webhook: Tree, field: string): readonly FieldError[] {
  return recordsAt(webhook, "matchConditions").flatMap((condition, index) => {
    const expression = stringAt(condition, "expression");
    const problem = problemWith(expression);
    const at = `${field}.matchConditions[${index}].expression`;
    return problem === undefined ? [] : [invalidValue(at, expression, `compilation failed: ${problem}`)];
  });
}

export const EXTENSION: readonly ResourceKind[] = [
  defineKind({
    ...WEBHOOKS,
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    applyDefaults: (configuration) => defaultWebhooks(configuration),
    validate: validateWebhooks,
  }),
  defineKind({
    ...WEBHOOKS,
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    applyDefaults: (configuration) => defaultWebhooks(configuration, { reinvocationPolicy: "Never" }),
    validate: validateWebhooks,
  }),
];
