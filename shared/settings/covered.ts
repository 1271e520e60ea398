/**
 * Whether Lifeboat makes disruption budgets in this cluster.
 *
 * A budget per VM is noise where evictions are refused without one. Two things make it unnecessary together: KubeVirt's own eviction
 * webhook fails closed, so that no eviction passes unreviewed; and the guard is in force, for the scheduler prefers victims without a
 * budget, and would otherwise take VMs first.
 */
import { isGateOn } from "./guarded.ts";
import type { Settings } from "./settings.ts";
import type { InstalledWebhook } from "../kube/webhooks.ts";

/** Upstream: pkg/virt-operator/resource/generate/components/webhooks.go. */
const UPSTREAM_CONDITION = /^object\.metadata\.name\.startsWith\("virt-launcher-?"\)$/;

type WebhookFacts = Pick<InstalledWebhook, "failurePolicy" | "rules" | "matchConditions" | "selectors">;

/** `undefined`: there is no such configuration, or it may not be read. */
export interface WebhooksSeen {
  readonly kubevirt: readonly WebhookFacts[] | undefined;
  readonly guard: readonly WebhookFacts[] | undefined;
}

export function areEvictionsCovered(seen: WebhooksSeen, settings: Pick<Settings, "featureGates" | "guard">): boolean {
  return isGateOn("Preemption", settings) && (seen.guard ?? []).length > 0 && (seen.kubevirt ?? []).some(failsClosed);
}

/** Whether no eviction passes without its review. */
export function failsClosed({ failurePolicy, rules, matchConditions, selectors }: WebhookFacts): boolean {
  const isAsked = rules.some(({ operations, resources }) => {
    const onCreate = operations.includes("CREATE") || operations.includes("*");
    return onCreate && resources.includes("pods/eviction");
  });
  const isNarrow = selectors.length > 0 || !matchConditions.every((one) => UPSTREAM_CONDITION.test(one.expression));
  return failurePolicy === "Fail" && isAsked && !isNarrow;
}

export function areBudgetsWanted({ disruptionBudgets, evictionsCovered }: Settings): boolean {
  switch (disruptionBudgets) {
    case "Always":
      return true;
    case "Never":
      return false;
    case "Auto":
      return !evictionsCovered;
  }
}
