/** Contains the refusals and warnings for callers, and explains who can fix what blocks a VM. */
import { plain } from "../kube/plain.ts";
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import { EVACUATION_MESSAGES, failedText } from "../evacuation/messages.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { isTrouble } from "../evacuation/not-started.ts";
import { isBeingReceived, ownValue } from "../kube/objects.ts";
import { activeEvacuation, backingOffEvacuation, byAge, isAbout } from "../evacuation/identity.ts";
import { withoutFractions } from "../settings/time.ts";
import type { DenyReason, EvictionDecision, EvictionFacts } from "./decide.ts";

export const DRY_RUN_WORDS = "Lifeboat answers: ";

export function quotedVmi(vmi: VmiFacts): string {
  return `VMI "${vmi.namespace}/${vmi.name}"`;
}

/** Returns KubeVirt's reason why a VMI cannot migrate, with the name of the disk if a disk is the reason. */
export function pinnedBecause({ liveMigratable: { reason, message = "" } }: VmiFacts): string {
  if (reason === undefined) return "no LiveMigratable condition";
  const [, disk] = reason === DISKS ? (WHICH_DISK.exec(message) ?? []) : [];
  return disk === undefined ? reason : `${reason} (${disk.slice(0, MOST_OF_DISK)})`;
}

const DISKS = "DisksNotLiveMigratable";
/** Finds the disk in the message of virt-handler's `checkVolumesForMigration`. */
const WHICH_DISK = /^cannot migrate VMI(?: with|:) ([^,]+)/;
const MOST_OF_DISK = 80;

export const MESSAGE = {
  /** The descheduler searches for this text (pkg/descheduler/evictions). KubeVirt's own webhook uses the same text. */
  EvacuationTriggered: (vmi: VmiFacts) => `Eviction triggered evacuation of ${quotedVmi(vmi)}`,
  /**
   * `ended` is the phase in which the VM's last Evacuation ended, if KubeVirt has requested another evacuation since.
   */
  EvacuationInProgress: (vmi: VmiFacts, ended?: string) =>
    `Evacuation in progress: Eviction triggered evacuation of ${quotedVmi(vmi)}` +
    (ended === undefined
      ? ""
      : `; the last evacuation was ${ended.toLowerCase()}, and KubeVirt has marked the VM for evacuation again`),
  NotMigratable: (vmi: VmiFacts, strategy: string) =>
    `${quotedVmi(vmi)} is configured with eviction strategy ${strategy} but is not live-migratable: ${pinnedBecause(vmi)}`,
  UnknownStrategy: (vmi: VmiFacts, field: string, value: string) =>
    `${quotedVmi(vmi)}: ${field} is "${value.slice(0, 64)}", expected None, LiveMigrate, LiveMigrateIfPossible or External`,
  MigrationTarget: (vmi: VmiFacts) =>
    `Eviction request for target Pod: ${quotedVmi(vmi)} ` +
    (isBeingReceived(vmi) ? "is being received from another namespace or cluster" : `is on node "${vmi.nodeName}"`),
  Migrating: (vmi: VmiFacts) =>
    `${quotedVmi(vmi)} is being migrated, although it is not live-migratable: try again after the migration`,
  NotScheduled: (vmi: VmiFacts) => `${quotedVmi(vmi)} is not on a node yet`,
  HotplugOfLiveVmi: (vmi: VmiFacts, pod: PodFacts) =>
    `cannot evict hotplug pod: ${pod.name} holds a volume of running ${quotedVmi(vmi)}`,
  /** KubeVirt's own webhook starts an evacuation even if Lifeboat refuses the request. */
  BackingOff: (vmi: VmiFacts, ended: string, seconds: number) =>
    `the last evacuation of ${quotedVmi(vmi)} was ${ended.toLowerCase()}; Lifeboat starts no new evacuation for ` +
    `${Math.ceil(seconds)} s, but KubeVirt itself can still evacuate the VM: stop the drain to keep the VM on its node`,
  ShutdownByStrategy: (vmi: VmiFacts) =>
    `${quotedVmi(vmi)} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: ${pinnedBecause(vmi)}`,
  asked: (username: string, pod: Pick<PodFacts, "name">, next: string) =>
    `${username} asked to evict pod ${pod.name}: ${next}`,
  evacuates: ({ nodeName }: VmiFacts) => `evacuating the VM from node ${nodeName}`,
  waitsForController: ({ nodeName }: VmiFacts, strategy: string) =>
    `the VM is marked for evacuation from node ${nodeName}; eviction strategy ${strategy}: the VM's external controller has to move the VM`,
  markedByKubeVirt: ({ nodeName }: VmiFacts) => `KubeVirt has marked the VM for evacuation from node ${nodeName}`,
} as const;

/** Describes what the VM's external controller has done. Applies only to VMs with the strategy External. */
export function controllersPart(joined: EvacuationFacts | undefined): string {
  const { waitsForController } = EVACUATION_MESSAGES;
  const { phase, message = waitsForController } = joined?.status ?? {};
  return `; ${phase === "Migrating" || phase === "WaitingForExternalController" ? message : waitsForController}`;
}

export const REMEDY = {
  NotMigratable:
    "the VM's owner: stop the VM, set evictionStrategy LiveMigrateIfPossible, or remove what blocks migration",
  UnknownStrategy:
    "the VM's owner, or the administrator of the KubeVirt CR: set an eviction strategy that KubeVirt knows",
  External: "the VM's external controller, which acts on evictionStrategy External: move or stop the VM",
  BudgetUnknown: "the owner of the PodDisruptionBudget: correct the object that the message names",
  Unreadable: "the owner of the object: correct what the message names, or make the object smaller",
  BudgetExhausted:
    "the owner of the PodDisruptionBudget: add replicas, repair unhealthy replicas, or allow more disruptions",
  BudgetOfController:
    "nobody has to act yet: the budget's controller might allow the eviction later. If the eviction stays refused, the administrator of that controller has to act",
  SeveralBudgets: "the owner of the PodDisruptionBudgets: change them so that only one selects the pod",
  LeftOver: "an administrator: make sure that no guest runs in the pod, then kubectl delete pod",
  BoundToNode: "the VM's owner: change the VM's nodeSelector or affinity, or stop the VM",
  MigrationsOff: "the administrator of the KubeVirt CR: raise the limit of migrations above 0",
  NameTooLong: "the VM's owner: stop the VM, or create it again with a shorter name",
  Orphaned: "the person who drains the node: delete the pod (kubectl delete pod), because its VMI is gone",
  Finalizers: "the owner of the finalizers: find out why the controller that set the finalizers does not remove them",
  DeadKubelet: "the person who drains: bring the kubelet back, or fence the node and then kubectl delete pod --force",
  QuotaExceeded: "the owner of the ResourceQuota: leave enough quota for a second pod of the VM while the VM moves",
  NoRoom:
    "an administrator: add a node, or make room on another node; if the message names Taints, uncordon a node or remove its taint",
  Unmanaged: "the person who drains: kubectl drain --force deletes the pod, and nothing creates it again",
  LocalStorage: "the person who drains: add --delete-emptydir-data, which loses the data in the pod's emptyDir volumes",
  StrategyNone: "the VM's owner: set evictionStrategy LiveMigrate; otherwise the drain shuts the guest down",
  ShutdownByStrategy: "the VM's owner: plan for the shutdown, or remove what blocks migration",
  BackingOff:
    "nobody has to act: the next eviction after the back-off starts an evacuation; the last Evacuation says why the VM did not move",
  Abandoned:
    "the VM's owner, or an administrator: remove the cause that the Evacuation's message names, then try again",
  SchedulingGated: "the owner of the scheduling gate that the message names: remove the gate from the target pod",
  TargetRefused:
    "an administrator: change the policy or webhook that the message names, so that KubeVirt can create the target pod",
  TargetNotStarted: "an administrator: kubectl describe pod says what the target pod waits for",
  MigrationBlocked: "the VM's owner: end the backup, detach the utility volume, or raise the quota",
} as const;

/** Lists the remedies for reasons that only blocked Evacuations have. */
const BLOCKED = {
  NotMarked:
    "the administrator of KubeVirt: repair KubeVirt's eviction webhook (kubectl get validatingwebhookconfiguration virt-api-validator -o yaml)",
  NotScheduled: "nobody has to act: the VM is starting",
  BeingReceived: "nobody has to act: the VM is moving here from another namespace or cluster",
  PersonsMigration: "the person who created the migration: delete that migration; the VM then gets another migration",
  DecentralizedMigration:
    "the person who sends the VM to another namespace or cluster: delete the migration, or remove what blocks it",
} as const;

export function remedyOf(reason: string): string | undefined {
  return ownValue<string>(REMEDY, reason);
}

export function remedyOfBlocked(reason = ""): string {
  return ownValue<string>(BLOCKED, reason) ?? remedyOf(reason) ?? REMEDY.NotMigratable;
}

/** The maximum length of a warning, in characters. The API server can shorten longer warnings (`truncateItemRunes`). */
const MOST_CHARACTERS = 256;

/**
 * Returns the warnings of an answer. An API server returns the warnings of all webhooks, but only one refusal, usually
 * KubeVirt's. A warning must not contain the remaining seconds of a back-off, because kubectl prints an identical
 * warning only once.
 */
export function warningsOf(f: EvictionFacts, ruling: EvictionDecision): readonly string[] {
  const texts = ruling.verdict === "Allow" ? ruling.warnings : refused(f, ruling);
  return [...new Set(texts.map(sayable))];
}

function refused(
  f: EvictionFacts,
  { reason, message }: Extract<EvictionDecision, { verdict: "Deny" }>,
): readonly string[] {
  const remedy = REMEDIES[reason];
  return [...(remedy === undefined ? [] : [`${message}; ${remedy}`]), ...ofEvacuations(f)];
}

const REMEDIES: Partial<Record<DenyReason, string>> = {
  NotMigratable: REMEDY.NotMigratable,
  UnknownStrategy: REMEDY.UnknownStrategy,
};

function ofEvacuations({ vmi, pod, evacuations, now, settings }: EvictionFacts): readonly string[] {
  if (vmi === undefined || pod === undefined) return [];
  const podUID = pod.uid;
  const given = { vmi: quotedVmi(vmi), nodeName: pod.nodeName ?? "", maxAttempts: settings.evacuation.maxAttempts };
  const abandoned = evacuations
    .filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi, podUID))
    .toSorted(byAge);
  const ended = [abandoned.at(-1), backingOffEvacuation(vmi, evacuations, { now, podUID })];
  const texts = [...new Set(ended), activeEvacuation(vmi, evacuations, podUID)].map((e) => e && progressText(e, given));
  return texts.filter((text) => text !== undefined);
}

interface Given {
  readonly vmi: string;
  readonly nodeName: string;
  readonly maxAttempts: number;
}

function progressText({ status }: EvacuationFacts, { vmi, nodeName, maxAttempts }: Given): string | undefined {
  const { phase, reason = "", message = "", attempts } = status;
  const until = withoutFractions(status.nextAttemptTime ?? "");
  switch (phase) {
    case "Abandoned":
      return `the last evacuation of ${vmi} was abandoned: ${message}`;
    case "Withdrawn":
      return `the last evacuation of ${vmi} was withdrawn: stop the drain to keep the VM on its node. Lifeboat starts no new evacuation before ${until}, but KubeVirt itself can still evacuate the VM`;
    case "BackingOff":
      return `evacuation of ${vmi} waits until ${until}, because ${failedText(attempts, maxAttempts)}: ${message}`;
    case "Blocked":
      return `${vmi} cannot leave node ${nodeName}: ${message}; ${remedyOfBlocked(reason)}`;
    case "WaitingForExternalController":
      return `${vmi}: ${message}`;
    case "Migrating":
      return reason === "Synchronizing" || isTrouble(reason) ? `${vmi}: ${message}` : undefined;
    case "Pending":
    case "Restarting":
    case "Stopping":
    case "Moved":
    case "Restarted":
    case "Stopped":
    case "Duplicate":
    case "Gone":
    case undefined:
      return undefined;
  }
}

/** Removes control characters and shortens a long text. */
function sayable(text: string): string {
  const said = plain(text);
  return said.length <= MOST_CHARACTERS ? said : `${said.slice(0, MOST_CHARACTERS - 1)}…`.toWellFormed();
}
