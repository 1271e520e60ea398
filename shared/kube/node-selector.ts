/** Which nodes a pod asks for, as Kubernetes matches them (component-helpers `nodeaffinity`). */
import { ownValue } from "./own-value.ts";
import type { Labels, NodeRequirement, NodeSelectorTerm, Placement } from "./placement.ts";
import { meets } from "./selector.ts";

interface Node {
  readonly name: string;
  readonly labels: Labels;
}

/** `nodeSelector` and required node affinity. */
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

/** The only field there is: the node's name, one of, or none of. */
function meetsField({ key, operator, values }: NodeRequirement, name: string): boolean {
  if (key !== "metadata.name") return false;
  return (operator === "In" && values.includes(name)) || (operator === "NotIn" && !values.includes(name));
}
