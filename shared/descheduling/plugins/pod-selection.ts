/**
 * Which pods a plugin may look at at all, by its own arguments.
 * Owns: `namespaces` and `labelSelector`. Does not own: what DefaultEvictor forbids (default-evictor.ts).
 */
import { matches } from "../../policy/kube/selector.ts";
import type { PodSelection } from "./arguments.ts";
import type { DeschedulerPod } from "./facts.ts";

/** What is not given, or is an empty list, excludes no pod. */
export function isSelected({ namespaces, labelSelector }: PodSelection, pod: DeschedulerPod): boolean {
  const { include = [], exclude = [] } = namespaces ?? {};
  if (include.length > 0 && !include.includes(pod.namespace)) return false;
  if (exclude.includes(pod.namespace)) return false;
  return labelSelector === undefined || matches(labelSelector, pod.labels);
}
