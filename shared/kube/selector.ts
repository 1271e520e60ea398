/** How Kubernetes matches labels and nodes (apimachinery `LabelSelectorAsSelector`, component-helpers `nodeaffinity`). */
import type { LabelSelector, LabelSelectorRequirement } from "./facts.ts";
import type { Labels, NodeRequirement, NodeSelectorTerm, Placement } from "./scheduled-pod.ts";

/** `constructor` and the like are valid keys of labels and resources, and every object seems to have them. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** An absent selector matches nothing, an empty one everything; an unknown operator matches nothing. */
export function matches(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const byLabel = Object.entries(selector.matchLabels).every(([key, value]) => ownValue(labels, key) === value);
  return byLabel && selector.matchExpressions.every((requirement) => meets(requirement, labels));
}

export function meets({ key, operator, values }: LabelSelectorRequirement, labels: Labels): boolean {
  const value = ownValue(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

interface Node {
  readonly name: string;
  readonly labels: Labels;
}

export function isWanted({ nodeSelector, required }: Placement, node: Node): boolean {
  if (!Object.entries(nodeSelector).every(([key, value]) => ownValue(node.labels, key) === value)) return false;
  return required === undefined || required.some((term) => matchesTerm(term, node));
}

/** A term without any requirement matches nothing. */
export function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meetsExpression(requirement, node.labels)) &&
    matchFields.every((requirement) => meetsField(requirement, node.name))
  );
}

function meetsExpression(requirement: NodeRequirement, labels: Labels): boolean {
  const { key, operator, values } = requirement;
  if (operator !== "Gt" && operator !== "Lt") return meets(requirement, labels);
  const actual = integer(ownValue(labels, key));
  const bound = integer(values.length === 1 ? values[0] : undefined);
  if (actual === undefined || bound === undefined) return false;
  return operator === "Gt" ? actual > bound : actual < bound;
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text) : undefined;
}

function meetsField({ key, operator, values }: NodeRequirement, name: string): boolean {
  if (key !== "metadata.name") return false;
  return (operator === "In" && values.includes(name)) || (operator === "NotIn" && !values.includes(name));
}
