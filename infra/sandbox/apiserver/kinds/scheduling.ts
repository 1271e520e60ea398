/**
 * PriorityClasses, and the two every cluster has.
 * Owns: the kind and its rules. Does not own: giving pods their priority (admission/priority.ts).
 */
import type { KubeObject } from "../objects.ts";
import { forbiddenValue } from "../field-errors.ts";
import type { FieldError } from "../status.ts";
import { builtIn, ruleErrors } from "./built-in.ts";

// prettier-ignore
const SYSTEM = [
  { name: "system-cluster-critical", value: 2_000_000_000, description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary." },
  { name: "system-node-critical",    value: 2_000_001_000, description: "Used for system critical pods that must not be moved from their current node." },
];
const HIGHEST_USER_PRIORITY = 1_000_000_000;

export const PRIORITY_CLASSES = builtIn("PriorityClass", {
  validate: (one, previous) => (previous === undefined ? validateNew(one) : ruleErrors("PriorityClass", one, previous)),
});

function validateNew({ metadata, value }: KubeObject): readonly FieldError[] {
  const { name = "" } = metadata;
  const system = SYSTEM.find((one) => one.name === name);
  if (name.startsWith("system-") && system?.value !== value) return [forbiddenValue("metadata.name", reserved(name))];
  if (system === undefined && Number(value) > HIGHEST_USER_PRIORITY) {
    const detail = `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`;
    return [forbiddenValue("value", detail)];
  }
  return [];
}

function reserved(name: string): string {
  const why = `error: ${name} is not a known system priority class`;
  return `priority class names with 'system-' prefix are reserved for system use only. ${why}`;
}

export function systemPriorityClasses(): readonly KubeObject[] {
  return SYSTEM.map(({ name, value, description }) => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value,
    description,
  }));
}
