/**
 * Checks whether the guard's policies refuse deletions while Lifeboat is unavailable, and whether virt-handler
 * tolerates NoExecute taints.
 */
import { HOLD_NODE_END, HOLD_PREEMPTION, HOLD_TAINTS, LAUNCHERS_POLICY } from "../kube/names.ts";
import { GUARD_CAUSES, type GuardCause, isGateOn } from "./guarded.ts";
import type { Settings } from "./settings.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

/** The causes for which each policy refuses deletions. */
export const POLICY_CAUSES = {
  [HOLD_PREEMPTION]: ["Preemption"],
  [HOLD_TAINTS]: ["NoExecuteTaint"],
  [HOLD_NODE_END]: ["NodeTermination"],
  [LAUNCHERS_POLICY]: GUARD_CAUSES,
} as const satisfies Readonly<Record<string, readonly GuardCause[]>>;

export const HOLD_POLICIES = [HOLD_PREEMPTION, HOLD_TAINTS, HOLD_NODE_END, LAUNCHERS_POLICY] as const;
export type HoldPolicy = (typeof HOLD_POLICIES)[number];

export function isPolicyWanted(policy: HoldPolicy, settings: Pick<Settings, "featureGates">): boolean {
  return POLICY_CAUSES[policy].some((cause) => isGateOn(cause, settings));
}

export interface HoldVerdict {
  readonly reason: "Holds" | "PolicyWithoutGate" | "PolicyMissing" | "HandlerEndsWithTaint";
  readonly message: string;
  readonly fix?: string;
}

export const HANDLER_TOLERATION = { operator: "Exists", effect: "NoExecute" } as const;

/** A merge patch replaces the whole list, so the patch must also contain the existing tolerations. */
const HANDLER_FIX = `kubectl -n KUBEVIRT_NAMESPACE patch kubevirt NAME --type merge -p '${JSON.stringify({
  spec: { workloads: { nodePlacement: { tolerations: [HANDLER_TOLERATION] } } },
})}'`;

type Holding = Pick<Settings, "featureGates" | "handlerToleratesNoExecute">;

/**
 * Checks the policies. Returns undefined if the guard is off and none of its policies exists. `installed` contains the
 * policies that have bindings.
 */
export function holdVerdict(installed: ReadonlySet<HoldPolicy>, settings: Holding): HoldVerdict | undefined {
  const wanted = HOLD_POLICIES.filter((policy) => isPolicyWanted(policy, settings));
  if (wanted.length === 0 && installed.size === 0) return undefined;
  const left = HOLD_POLICIES.filter((policy) => installed.has(policy) && !wanted.includes(policy));
  if (left.length > 0) {
    return { reason: "PolicyWithoutGate", message: MESSAGES.policyWithoutGate(left), fix: "lifeboat install" };
  }
  const missing = wanted.filter((policy) => !installed.has(policy));
  if (missing.length > 0) {
    return { reason: "PolicyMissing", message: MESSAGES.policyMissing(missing), fix: "lifeboat install --with guard" };
  }
  if (isGateOn("NoExecuteTaint", settings) && !settings.handlerToleratesNoExecute) {
    return { reason: "HandlerEndsWithTaint", message: MESSAGES.handlerEndsWithTaint, fix: HANDLER_FIX };
  }
  return { reason: "Holds", message: MESSAGES.holds };
}
