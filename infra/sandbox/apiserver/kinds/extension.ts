/**
 * The kinds by which a cluster extends its API server: webhook configurations and CustomResourceDefinitions.
 * Owns: their shape and defaults. Does not own: calling webhooks (admission/), the kinds a definition makes (custom.ts).
 */
import { type KubeObject, fieldAt, isRecord, stringAt, recordsAt, childOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { AGE, CREATED_AT, NAME, countOf } from "./columns.ts";
import { type KindDefinition, type ResourceKind, defineKind } from "./kind.ts";

const WEBHOOKS = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  namespaced: false,
  hasGeneration: true,
  categories: ["api-extensions"],
  lists: { webhooks: ["name"], "webhooks.matchConditions": ["name"] },
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

const CUSTOM_RESOURCE_DEFINITIONS: ResourceKind = defineKind({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  lists: { "spec.versions": ["name"], "status.conditions": ["type"] },
  columns: [NAME, CREATED_AT],
  applyDefaults: (definition) => {
    const names = fieldAt(definition, "spec.names");
    if (!isRecord(names)) return;
    names.singular ??= stringAt(names, "kind").toLowerCase();
    names.listKind ??= `${stringAt(names, "kind")}List`;
    childOf(definition, "spec").conversion ??= { strategy: "None" };
  },
  validate: validateDefinition,
});

function validateDefinition(definition: KubeObject): readonly FieldError[] {
  const expected = `${stringAt(definition, "spec.names.plural")}.${stringAt(definition, "spec.group")}`;
  const name = definition.metadata.name ?? "";
  return name === expected ? [] : [invalidValue("metadata.name", name, `must be spec.names.plural+"."+spec.group`)];
}

export const EXTENSION: readonly ResourceKind[] = [
  defineKind({
    ...WEBHOOKS,
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    applyDefaults: (configuration) => defaultWebhooks(configuration),
  }),
  defineKind({
    ...WEBHOOKS,
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    applyDefaults: (configuration) => defaultWebhooks(configuration, { reinvocationPolicy: "Never" }),
  }),
  CUSTOM_RESOURCE_DEFINITIONS,
];
