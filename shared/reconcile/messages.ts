/** Names for the steps of a reconcile. Log lines about failures contain these names. */
import type { NamespacedName } from "../kube/facts.ts";
import { keyOf } from "../kube/objects.ts";

export const RECONCILE_MESSAGES = {
  reconcilingVmi: (key: NamespacedName) => `reconciling VMI ${keyOf(key)}`,
  listingVmis: (node: string) => `listing VMIs of node ${node}`,
  readingPod: (key: NamespacedName) => `reading pod ${keyOf(key)}`,
  readingVmi: (key: NamespacedName) => `reading VMI ${keyOf(key)}`,
  reconcilingTaints: "reconciling tainted nodes",
  decidingOnShield: "deciding whether to refuse the shutdown of guests",
} as const;
