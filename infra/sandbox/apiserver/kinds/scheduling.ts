/** PriorityClasses, and the two classes that exist in every cluster. */
import type { KubeObject } from "../objects.ts";
import { builtIn } from "./built-in.ts";

// prettier-ignore
const SYSTEM = [
  { name: "system-cluster-critical", value: 2_000_000_000, description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary." },
  { name: "system-node-critical",    value: 2_000_001_000, description: "Used for system critical pods that must not be moved from their current node." },
];

export const PRIORITY_CLASSES = builtIn("PriorityClass");

export function systemPriorityClasses(): readonly KubeObject[] {
  return SYSTEM.map(({ name, value, description }) => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value,
    description,
  }));
}
