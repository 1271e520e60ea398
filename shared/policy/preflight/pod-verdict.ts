/**
 * What a drain of its node does to one pod, why, and who can change that. Upstream: the pod filters of kubectl drain
 * (pkg/drain/filters.go).
 */
import type { EvictionDecision } from "../eviction/eviction.ts";
import { FIRST_REQUEST, MIGRATES, mobilityOf, strategyOf } from "../eviction/eviction-table.ts";
import { isCompleted, isFinal, type MigrationFacts, type VmiFacts } from "../facts.ts";
import { MESSAGE, pinnedBecause } from "../eviction/messages.ts";
import { isLauncher, isOfLiveVm } from "../kube/pod-kind.ts";
import { MIRROR_POD_ANNOTATION } from "../names.ts";
import { refusedByBudget } from "./budgets.ts";
import type { PreflightFacts, PreflightPod } from "./facts.ts";
import { quotaFinding } from "./quotas.ts";
import { REMEDY } from "./remedies.ts";
import type { EvictionPreview, Outcome, PodVerdict } from "./result.ts";
import { type Ruled, ruleOn } from "./subject.ts";
import { hangingIn } from "./terminating.ts";

type Found = Pick<PodVerdict, "outcome" | "reason" | "message" | "remedy" | "eviction">;

export function verdictOfPod(pod: PreflightPod, f: PreflightFacts): PodVerdict {
  const ruled = ruleOn(pod, f);
  const found = leftInPlace(pod, f) ?? { ...evicted(pod, ruled, f), ...hanging(pod, f) };
  const { namespace, name } = pod;
  return { namespace, name, ...(ruled.vmi && { vmi: ruled.vmi.name }), ...found };
}

/** What kubectl drain does not ask to evict. A VM's pods have scratch space only, which goes with the pod anyway. */
function leftInPlace(pod: PreflightPod, { flags }: PreflightFacts): Found | undefined {
  // Ended or not.
  if (Object.hasOwn(pod.annotations, MIRROR_POD_ANNOTATION)) {
    return {
      outcome: "Stays",
      reason: "MirrorPod",
      message: "a static pod of the kubelet: a drain leaves it in place",
    };
  }
  if (isCompleted(pod)) return undefined;
  const controller = pod.owners.find((owner) => owner.controller);
  if (controller?.kind === "DaemonSet") {
    return {
      outcome: "Stays",
      reason: "DaemonSet",
      message: `of DaemonSet ${controller.name}: a drain leaves it in place`,
    };
  }
  if (isOfLiveVm(pod)) return undefined;
  if (controller === undefined && !flags.force) {
    return blocked("Unmanaged", "no controller would make it anew: kubectl drain refuses without --force");
  }
  if (pod.localStorage && !flags.deleteEmptyDirData) {
    return blocked("LocalStorage", "has an emptyDir: kubectl drain refuses without --delete-emptydir-data");
  }
  return undefined;
}

function blocked(reason: keyof typeof REMEDY, message: string): Found {
  return { outcome: "Blocked", reason, message, remedy: REMEDY[reason] };
}

function evicted(pod: PreflightPod, { ruling, vmi }: Ruled, f: PreflightFacts): Found {
  if (ruling.verdict === "Deny") {
    const { reason, message } = ruling;
    const found = refused(ruling, vmi, f);
    return { ...(overQuota(pod, found, f) ?? found), eviction: { allowed: false, reason, message } };
  }
  const refusal = refusedByBudget(pod, f.budgets);
  if (refusal !== undefined) return { ...ofBudget(refusal), eviction: refusal };
  const { reason, warnings } = ruling;
  const [message] = warnings;
  const found = orphaned(pod, { ruling, ...(vmi && { vmi }) }, f) ?? allowed(pod, ruling);
  return { ...found, eviction: { allowed: true, reason, ...(message !== undefined && { message }) } };
}

/** A VM whose target pod would not be created. */
function overQuota(pod: PreflightPod, { outcome }: Found, f: PreflightFacts): Found | undefined {
  if (!isLauncher(pod) || (outcome !== "Moves" && outcome !== "Waits")) return undefined;
  const { refusal } = quotaFinding(pod, f);
  return refusal === undefined ? undefined : blocked("QuotaExceeded", refusal);
}

/** A drain waits for a pod that is deleted already as for any other. */
function hanging(pod: PreflightPod, f: PreflightFacts): Found | undefined {
  const { cause, message = "" } = hangingIn(pod, f) ?? {};
  return cause === undefined ? undefined : blocked(cause, message);
}

/**
 * A launcher pod that outlives its VMI. KubeVirt's webhook looks for the VMI by name: without one it refuses every eviction, and
 * one of another UID answers for this pod.
 * Upstream: `admitLauncherPod` of KubeVirt's pod eviction admitter.
 */
function orphaned(pod: PreflightPod, { ruling, vmi }: Ruled, { settings }: PreflightFacts): Found | undefined {
  if (ruling.reason !== "VmiGone" || pod.deleting || !isLauncher(pod)) return undefined;
  const answer = vmi && FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)];
  if (answer === "allow" || answer === "shutdown") return undefined;
  const missing = vmi === undefined ? "its VMI does not exist" : `VMI ${vmi.name} is a newer one`;
  return blocked("Orphaned", `${missing}: KubeVirt's webhook refuses every eviction of this launcher pod`);
}

function ofBudget({ reason, message = reason }: EvictionPreview): Found {
  return blocked(reason === "SeveralBudgets" ? "SeveralBudgets" : "BudgetExhausted", message);
}

function allowed(pod: PreflightPod, { reason, warnings }: Extract<EvictionDecision, { verdict: "Allow" }>): Found {
  switch (reason) {
    case "StrategyNone":
      return told("ShutsDown", reason, "eviction strategy None: the guest is shut down", REMEDY.StrategyNone);
    case "ShutdownByStrategy":
      return told("ShutsDown", reason, warnings[0] ?? reason, REMEDY.ShutdownByStrategy);
    case "PodGone":
    case "PodCompleted":
    case "VmiGone":
    case "VmiDeleting":
    case "VmiFinal":
      return told("Ended", reason, "no guest runs in it any more");
    case "NotAVirtualMachine":
      return told("Evicted", reason, pod.deleting ? "is being deleted" : "no pod of a VM: evicted as any other");
  }
}

function told(outcome: Outcome, reason: string, message: string, remedy?: string): Found {
  return { outcome, reason, message, ...(remedy !== undefined && { remedy }) };
}

function refused(
  ruling: Extract<EvictionDecision, { verdict: "Deny" }>,
  vmi: VmiFacts | undefined,
  f: PreflightFacts,
): Found {
  const { reason, message } = ruling;
  switch (reason) {
    case "NotMigratable":
    case "UnknownStrategy":
      return blocked(reason, message);
    case "HotplugOfLiveVmi":
      return told("Follows", reason, "holds a volume of a VM, and goes with it");
    case "Migrating":
      return told("Waits", reason, message);
    case "MigrationTarget":
    case "NotScheduled":
      return afterwards(vmi, f) ?? told("Waits", reason, message);
    case "BackingOff":
      return afterwards(vmi, f) ?? told("Waits", reason, message, REMEDY.BackingOff);
    case "EvacuationTriggered":
    case "EvacuationInProgress":
      return vmi === undefined ? told("Waits", reason, message) : leaving(vmi, reason, f);
  }
}

/** What a VM gets that is refused for now: undefined, if it then moves. */
function afterwards(vmi: VmiFacts | undefined, { settings }: PreflightFacts): Found | undefined {
  if (vmi === undefined) return undefined;
  const strategy = strategyOf(vmi, settings);
  switch (FIRST_REQUEST[strategy][mobilityOf(vmi)]) {
    case "evacuate":
      return MIGRATES[strategy] ? undefined : ofOwner();
    case "refuse":
      return blocked("NotMigratable", MESSAGE.NotMigratable(vmi, strategy));
    case "shutdown":
      return told("ShutsDown", "ShutdownByStrategy", MESSAGE.ShutdownByStrategy(vmi), REMEDY.ShutdownByStrategy);
    case "allow":
      return undefined;
  }
}

function ofOwner(): Found {
  return blocked("External", "eviction strategy External: its owner is to move it");
}

/** Marked by the eviction, or already. */
function leaving(vmi: VmiFacts, reason: string, { settings, migrations }: PreflightFacts): Found {
  const strategy = strategyOf(vmi, settings);
  if (!MIGRATES[strategy]) return ofOwner();
  const own = migrations.find((m) => !isFinal(m) && m.namespace === vmi.namespace && m.vmiName === vmi.name);
  if (own === undefined && mobilityOf(vmi) === "pinned") {
    return blocked("NotMigratable", `is marked, but is not live-migratable any more: ${pinnedBecause(vmi)}`);
  }
  const held = heldBecause(vmi, own);
  if (held !== undefined) return told("Waits", "MigrationBlocked", held, REMEDY.MigrationBlocked);
  const words = own === undefined ? "is migrated to another node" : `its migration ${own.name} is under way`;
  return told("Moves", reason, words);
}

/**
 * Why KubeVirt does not begin its migration, of which there may be none yet.
 * Upstream: `handleVMBackup` and `handleUtilityVolumes` of virt-controller's migration controller.
 */
function heldBecause(vmi: VmiFacts, own: MigrationFacts | undefined): string | undefined {
  if (own?.blockedBy !== undefined) {
    const { type, message = type } = own.blockedBy;
    return `its migration ${own.name} cannot begin: ${message}`;
  }
  if (own?.targetPod !== undefined) return undefined;
  if (vmi.backup !== undefined) return `no migration of it begins before its backup ${vmi.backup} has ended`;
  return vmi.hasUtilityVolumes ? "no migration of it begins before its utility volumes are detached" : undefined;
}
