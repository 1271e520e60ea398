/**
 * Checks for the doctor whether the guard is on, and whether the policies of the API server protect pods while Lifeboat
 * is unavailable.
 */
import type { Examined } from "../settings/feature.ts";
import { failed, type Finding, ok, warning } from "../settings/finding.ts";
import { GUARD_CAUSES, isGateOn } from "../settings/guarded.ts";
import { holdVerdict } from "../settings/holds.ts";
import { GUARD_MESSAGES as MESSAGES } from "./messages.ts";

export async function examineGuard(seen: Examined): Promise<readonly Finding[]> {
  const causes = GUARD_CAUSES.filter((cause) => isGateOn(cause, seen.settings));
  const isInstalled = (await seen.guardWebhook()) !== undefined;
  const holds = await holdsOf(seen);
  if (causes.length > 0) {
    return [...(isInstalled ? [ok(MESSAGES.refusesDeletions(causes))] : []), ...holds];
  }
  if (!isInstalled) return [ok(MESSAGES.off), ...holds];
  const fix = "kubectl edit lifeboatconfiguration lifeboat";
  return [...holds, warning(MESSAGES.refusesNothing, MESSAGES.noGate, fix)];
}

/** Checks Lifeboat's ValidatingAdmissionPolicies, and whether VMs can leave a tainted node. */
async function holdsOf({ holdPolicies, kubevirt, settings }: Examined): Promise<readonly Finding[]> {
  const verdict = holdVerdict(await holdPolicies(), settings);
  if (verdict === undefined) return [];
  const { reason, message, fix = "" } = verdict;
  if (reason === "Holds") return [ok(message)];
  if (reason === "HandlerEndsWithTaint") {
    const { name = "NAME", facts: { namespace = "KUBEVIRT_NAMESPACE" } = {} } = (await kubevirt()) ?? {};
    const named = fix.replace("KUBEVIRT_NAMESPACE", namespace).replace("kubevirt NAME", `kubevirt ${name}`);
    return [warning(MESSAGES.handlerEnds, message, named)];
  }
  return [failed(reason === "PolicyMissing" ? MESSAGES.policiesMissing : MESSAGES.policyWithoutGate, message, fix)];
}
