/**
 * The guard refuses deletions of VMs' pods. This file lists the causes of such deletions, with a feature gate and users
 * for each cause. It also decides whether the VMs need PodDisruptionBudgets.
 */
import type { Cause } from "../kube/evacuation.ts";
import type { FeatureGate, Settings } from "./settings.ts";
import type { InstalledWebhook } from "../kube/facts.ts";

/**
 * `reason` is the reason in the pod's condition `DisruptionTarget`. If it is undefined, Lifeboat finds the cause by the
 * user who deletes the pod.
 */
export const GUARDED = {
  /**
   * Since VERSIONS.asynchronousPreemption, the scheduler deletes preempted pods in parallel with its other work. A
   * refused deletion therefore does not delay the scheduler.
   */
  Preemption: { reason: "PreemptionByScheduler", gate: "PreemptionEvictionLiveMigration" },
  NoExecuteTaint: { reason: "DeletionByTaintManager", gate: "NoExecuteTaintEvictionLiveMigration" },
  /** Dynamic Resource Allocation taints a device of the pod instead of the node (VERSIONS.deviceTaints). */
  DeviceTaint: { reason: "DeletionByDeviceTaintManager", gate: "NoExecuteTaintEvictionLiveMigration" },
  NodeTermination: { reason: undefined, gate: "NodeTerminationEvictionLiveMigration" },
} as const satisfies Partial<Record<Cause, { readonly reason: string | undefined; readonly gate: FeatureGate }>>;

export type GuardCause = keyof typeof GUARDED;

export const GUARD_CAUSES = [
  "Preemption",
  "NoExecuteTaint",
  "DeviceTaint",
  "NodeTermination",
] as const satisfies readonly GuardCause[];

/**
 * The causes for which the guard's webhook reviews deletions. `NoExecuteTaint` is missing, because a policy of the API
 * server refuses these deletions. Lifeboat finds the pods on tainted nodes itself.
 */
export type ReviewedCause = Exclude<GuardCause, "NoExecuteTaint">;

export function isReviewed(cause: GuardCause): cause is ReviewedCause {
  return cause !== "NoExecuteTaint";
}

export function isGateOn(cause: GuardCause, { featureGates }: Pick<Settings, "featureGates">): boolean {
  return featureGates.includes(GUARDED[cause].gate);
}

type Guarding = Pick<Settings, "featureGates" | "guard">;

export function endsNodes(requester: string, { guard }: Pick<Settings, "guard">): boolean {
  return guard.nodeTerminators.includes(requester);
}

export function isRequester(requester: string, settings: Pick<Settings, "guard">): boolean {
  return settings.guard.requesters.includes(requester) || endsNodes(requester, settings);
}

/**
 * Returns true if Lifeboat can refuse a deletion by this user. For a deletion by any other user, Lifeboat reads facts
 * only if Lifeboat itself deletes the pod.
 */
export function mayBeRefused(requester: string, settings: Guarding): boolean {
  return (
    isRequester(requester, settings) && GUARD_CAUSES.some((cause) => isReviewed(cause) && isGateOn(cause, settings))
  );
}

/** KubeVirt's own match condition. Upstream: pkg/virt-operator/resource/generate/components/webhooks.go. */
const UPSTREAM_CONDITION = /^object\.metadata\.name\.startsWith\("virt-launcher-?"\)$/;

type WebhookFacts = Pick<InstalledWebhook, "failurePolicy" | "rules" | "matchConditions" | "selectors">;

export type WebhooksSeen = Readonly<Record<"kubevirt" | "guard", readonly WebhookFacts[] | undefined>>;

/**
 * Returns true if KubeVirt's eviction webhook and the guard make PodDisruptionBudgets unnecessary. The failurePolicy of
 * KubeVirt's webhook must be Fail.
 */
export function areEvictionsCovered(seen: WebhooksSeen, settings: Pick<Settings, "featureGates" | "guard">): boolean {
  return isGateOn("Preemption", settings) && (seen.guard ?? []).length > 0 && (seen.kubevirt ?? []).some(failsClosed);
}

export function failsClosed({ failurePolicy, rules, matchConditions, selectors }: WebhookFacts): boolean {
  const isAsked = rules.some(({ operations, resources }) => {
    const onCreate = operations.includes("CREATE") || operations.includes("*");
    return onCreate && resources.includes("pods/eviction");
  });
  const isNarrow =
    selectors.length > 0 || !matchConditions.every(({ expression }) => UPSTREAM_CONDITION.test(expression));
  return failurePolicy === "Fail" && isAsked && !isNarrow;
}
