/**
 * Predicts the effect of a drain on one pod. The result contains the reason, and says who can change the effect.
 * Upstream: the pod filters of kubectl drain (pkg/drain/filters.go).
 */
import { type Refusal, refusedByBudget } from "../budget/refusal.ts";
import { decideEviction, type EvictionDecision } from "../eviction/decide.ts";
import { FIRST_REQUEST, mobilityOf } from "../eviction/table.ts";
import { MIGRATES, strategyOf } from "../settings/strategy.ts";
import { MESSAGE, remedyOf } from "../eviction/messages.ts";
import type { MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { MIRROR_POD_ANNOTATION } from "../kube/names.ts";
import type { PodOutcome, PodVerdict, PreflightFacts, PreflightPod } from "./facts.ts";
import { heldBy, isLeftOver } from "./held.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { quotaFinding } from "./refusals.ts";
import { isFinal, isLauncher, isOfLiveVm, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import { ofVmi } from "../evacuation/identity.ts";
import { hasMigrationStarted } from "../evacuation/not-started.ts";

type Found = Pick<PodVerdict, "outcome" | "reason" | "message" | "remedy">;

export function verdictOfPod(pod: PreflightPod, f: PreflightFacts): PodVerdict {
  const [vmi, ruling] = ruleOn(pod, f);
  const found = leftInPlace(pod, f) ?? { ...evicted(pod, [vmi, ruling], f), ...hanging(pod, f) };
  const { namespace, name } = pod;
  return { namespace, name, ...(vmi && { vmi: vmi.name }), ...found };
}

function is(outcome: PodOutcome, reason: string, message: string): Found {
  const remedy = remedyOf(reason);
  return { outcome, reason, message, ...(remedy !== undefined && { remedy }) };
}

/** The preflight checks an ordinary eviction, like an eviction by `kubectl drain`. */
const REQUEST = { username: "preflight", cause: "ApiEviction" } as const;

type Ruled = readonly [vmi: VmiFacts | undefined, ruling: EvictionDecision];

function ruleOn(pod: PodFacts, f: PreflightFacts): Ruled {
  const owner = launcherOfHotplug(pod);
  const launcher = owner && f.pods.find((p) => p.namespace === pod.namespace && p.name === owner.name);
  const vmi = vmiOf(owner === undefined ? pod : launcher, f);
  const evacuations = vmi === undefined ? [] : ofVmi(f.evacuations, vmi);
  const migrations = f.migrations.filter((m) => m.namespace === vmi?.namespace && m.vmiName === vmi.name);
  const read = { pod, ...(launcher && { launcher }), ...(vmi && { vmi }), evacuations, migrations };
  return [vmi, decideEviction({ ...read, request: REQUEST, settings: f.settings, now: f.now })];
}

function vmiOf(launcher: PodFacts | undefined, { vmis }: PreflightFacts): VmiFacts | undefined {
  if (launcher === undefined || !isOfLiveVm(launcher)) return undefined;
  const name = vmiNameOf(launcher);
  return vmis.find((vmi) => vmi.name === name && vmi.namespace === launcher.namespace);
}

/**
 * Finds pods that `kubectl drain` does not evict. Ignores the emptyDir volumes of a VM's pods, because these volumes
 * contain only temporary files.
 */
function leftInPlace(pod: PreflightPod, { flags }: PreflightFacts): Found | undefined {
  // A mirror pod stays on the node, even if it has ended.
  if (Object.hasOwn(pod.annotations, MIRROR_POD_ANNOTATION)) {
    return is("Stays", "MirrorPod", MESSAGES.mirrorPod);
  }
  if (isFinal(pod)) return undefined;
  const controller = pod.owners.find((owner) => owner.controller);
  if (controller?.kind === "DaemonSet") {
    return is("Stays", "DaemonSet", MESSAGES.daemonSet(controller.name));
  }
  if (isOfLiveVm(pod)) return undefined;
  if (controller === undefined && !flags.force) {
    return is("Blocked", "Unmanaged", MESSAGES.unmanaged);
  }
  if (pod.localStorage && !flags.deleteEmptyDirData) {
    return is("Blocked", "LocalStorage", MESSAGES.localStorage);
  }
  return undefined;
}

function evicted(pod: PreflightPod, [vmi, ruling]: Ruled, f: PreflightFacts): Found {
  if (ruling.verdict === "Deny") {
    const found = refused(pod, [vmi, ruling], f);
    return overQuota(pod, found, f) ?? found;
  }
  const refusal = refusedByBudget(pod, f.budgets);
  if (refusal !== undefined) return heldByBudget(refusal);
  return orphaned(pod, [vmi, ruling], f) ?? allowed(pod, ruling);
}

export function heldByBudget({ reason, message }: Refusal): Found {
  return is(reason === "BudgetOfController" ? "Waits" : "Blocked", reason, message);
}

function overQuota(pod: PreflightPod, { outcome }: Found, f: PreflightFacts): Found | undefined {
  if (!isLauncher(pod) || (outcome !== "Moves" && outcome !== "Waits")) return undefined;
  const { refusal } = quotaFinding(pod, f);
  return refusal === undefined ? undefined : is("Blocked", "QuotaExceeded", refusal);
}

/**
 * Finds a launcher pod whose VMI no longer exists. KubeVirt's webhook reads the VMI by its name and refuses every
 * eviction if it finds no VMI. If a new VMI has the same name, the webhook uses the new VMI. Upstream:
 * `admitLauncherPod` of KubeVirt's pod eviction admitter.
 */
function orphaned(pod: PreflightPod, [vmi, ruling]: Ruled, { settings }: PreflightFacts): Found | undefined {
  if (ruling.reason !== "VmiGone" || pod.deleting || !isLauncher(pod)) return undefined;
  const answer = vmi && FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)];
  if (answer === "allow" || answer === "shutdown") return undefined;
  return is("Blocked", "Orphaned", MESSAGES.orphaned(vmi));
}

function allowed(pod: PreflightPod, { reason, warnings }: Extract<EvictionDecision, { verdict: "Allow" }>): Found {
  switch (reason) {
    case "StrategyNone":
      return is("ShutsDown", reason, MESSAGES.strategyNone);
    case "ShutdownByStrategy":
      return is("ShutsDown", reason, warnings[0] ?? reason);
    case "PodGone":
    case "PodCompleted":
    case "VmiGone":
    case "VmiDeleting":
    case "VmiFinal":
      return is("Ended", reason, MESSAGES.noGuest);
    case "NotAVirtualMachine":
      return is("Evicted", reason, pod.deleting ? MESSAGES.isDeleted : MESSAGES.evicted);
  }
}

function refused(
  pod: PreflightPod,
  [vmi, { reason, message }]: readonly [VmiFacts | undefined, Extract<EvictionDecision, { verdict: "Deny" }>],
  f: PreflightFacts,
): Found {
  switch (reason) {
    case "NotMigratable":
    case "UnknownStrategy":
      return is("Blocked", reason, message);
    case "HotplugOfLiveVmi":
      return is("Follows", reason, MESSAGES.followsVm);
    case "Migrating":
      return is("Waits", reason, message);
    case "MigrationTarget":
      if (vmi !== undefined && !pod.deleting && isLeftOver(vmi, f)) {
        return is("Blocked", "LeftOver", MESSAGES.leftOver(pod, vmi));
      }
      return (vmi && afterwards(vmi, f)) ?? is("Waits", reason, MESSAGES.arrives(message, ownMigration(vmi, f)));
    case "NotScheduled":
    case "BackingOff":
      return (vmi && afterwards(vmi, f)) ?? is("Waits", reason, message);
    case "EvacuationTriggered":
    case "EvacuationInProgress":
      return vmi === undefined ? is("Waits", reason, message) : leaving(vmi, reason, f);
  }
}

function ownMigration(vmi: VmiFacts | undefined, { migrations }: PreflightFacts): MigrationFacts | undefined {
  return migrations.find((m) => !isFinal(m) && m.namespace === vmi?.namespace && m.vmiName === vmi.name);
}

const OF_CONTROLLER = is("Blocked", "External", MESSAGES.external);

/** Returns the outcome for a VM whose eviction is refused for now. Returns undefined if the VM will move. */
function afterwards(vmi: VmiFacts, { settings }: PreflightFacts): Found | undefined {
  const strategy = strategyOf(vmi, settings);
  switch (FIRST_REQUEST[strategy][mobilityOf(vmi)]) {
    case "evacuate":
      return MIGRATES[strategy] ? undefined : OF_CONTROLLER;
    case "refuse":
      return is("Blocked", "NotMigratable", MESSAGE.NotMigratable(vmi, strategy));
    case "shutdown":
      return is("ShutsDown", "ShutdownByStrategy", MESSAGE.ShutdownByStrategy(vmi));
    case "allow":
      return undefined;
  }
}

/** Returns the outcome for a VM whose evacuationNodeName is set, or will be set by the eviction. */
function leaving(vmi: VmiFacts, reason: string, f: PreflightFacts): Found {
  if (!MIGRATES[strategyOf(vmi, f.settings)]) return OF_CONTROLLER;
  const own = ownMigration(vmi, f);
  if (own === undefined && mobilityOf(vmi) === "pinned") {
    return is("Blocked", "NotMigratable", MESSAGES.markedButPinned(vmi));
  }
  const waits = heldBecause(vmi, own);
  if (waits !== undefined) return is("Waits", "MigrationBlocked", waits);
  const held = heldBy(vmi, f);
  if (held !== undefined) return is("Blocked", held.reason, held.message);
  return is("Moves", reason, own ? MESSAGES.migrates(own, hasMigrationStarted(own)) : MESSAGES.willMigrate);
}

/**
 * Returns why KubeVirt does not start the VM's migration. `own` is the migration, if it already exists. Upstream:
 * `handleVMBackup` and `handleUtilityVolumes` of virt-controller's migration controller.
 */
function heldBecause(vmi: VmiFacts, own: MigrationFacts | undefined): string | undefined {
  if (own?.blockedBy !== undefined) {
    const { type, message = type } = own.blockedBy;
    return MESSAGES.migrationBlocked(own, message);
  }
  if (own?.targetPod !== undefined) return undefined;
  if (vmi.backup !== undefined) return MESSAGES.backup(vmi.backup);
  return vmi.hasUtilityVolumes ? MESSAGES.utilityVolumes : undefined;
}

/**
 * Returns the outcome Blocked for a pod that hangs in Terminating for a known reason. A drain waits for this pod, too.
 */
function hanging(pod: PreflightPod, f: PreflightFacts): Found | undefined {
  const { cause, message = "" } = hangingIn(pod, f) ?? {};
  return cause === undefined ? undefined : is("Blocked", cause, message);
}

/**
 * The time, in seconds, that a kubelet needs to remove the pod's volumes and cgroups, after it has killed the pod at
 * the end of the grace period.
 */
const AFTERWARDS_SECONDS = 60;

/**
 * Returns why a deleted pod has not ended in time. Returns undefined if the pod is not being deleted or still has time.
 * If `cause` is absent, the reason is unknown, and the pod might still end.
 */
export function hangingIn(
  { goneBy, finalizers }: PreflightPod,
  { node, now }: { readonly node: Pick<NodeFacts, "name" | "ready">; readonly now: Date },
): { readonly cause?: "Finalizers" | "DeadKubelet"; readonly message: string } | undefined {
  const seconds = goneBy === undefined ? 0 : (now.getTime() - goneBy) / 1000;
  if (seconds < AFTERWARDS_SECONDS) return undefined;
  const since = MESSAGES.terminating(seconds);
  if (finalizers.length > 0) return { cause: "Finalizers", message: MESSAGES.finalizers(since, finalizers) };
  if (!node.ready) return { cause: "DeadKubelet", message: MESSAGES.deadKubelet(since, node) };
  return { message: since };
}
