/** Who can change what is in the way of a drain, and how. */
import { ownValue } from "../kube/selector.ts";

export const REMEDY = {
  NotMigratable: "its owner: make the VM live-migratable, stop it, or set evictionStrategy LiveMigrateIfPossible",
  UnknownStrategy: "its owner, or the administrator of the KubeVirt CR: set an eviction strategy that KubeVirt knows",
  External: "its owner (the controller that set evictionStrategy External): move or stop the VM",
  BudgetExhausted: "the owner of the PodDisruptionBudget: more replicas, healthy ones, or a smaller budget",
  SeveralBudgets: "the owner of the PodDisruptionBudgets: leave one that selects the pod",
  Orphaned: "the person who drains: kubectl delete pod, since no VMI owns what still runs in it",
  Finalizers: "the owner of the finalizers: the controller that set them has to take them off",
  DeadKubelet: "the person who drains: bring the kubelet back, or fence the node and then kubectl delete pod --force",
  QuotaExceeded: "the owner of the ResourceQuota: leave enough for one more pod of the VM while it moves",
  Unmanaged: "the person who drains: kubectl drain --force deletes it for good",
  LocalStorage: "the person who drains: kubectl drain --delete-emptydir-data loses that data",
  StrategyNone: "its owner: set evictionStrategy LiveMigrate to have it moved",
  ShutdownByStrategy: "its owner: make the VM live-migratable",
  BackingOff: "nothing but time, or its owner: the message of the last Evacuation says why the VM did not move",
  Abandoned: "its owner, or an administrator: remove what its message names, then try again",
  MigrationBlocked: "its owner: end the backup, detach the utility volume, or raise the quota",
} as const;

/** Of an Evacuation that is Blocked; reasons that evictions do not have. */
const BLOCKED = {
  NotMarked: "the administrator of KubeVirt: kubectl get validatingwebhookconfiguration virt-api-validator -o yaml",
  NotScheduled: "nothing but time: the VM is starting",
  BeingReceived: "nothing but time: the VM comes from another namespace or cluster",
  PersonsMigration: "the person who created the migration: delete it, and the VM gets another one",
  DecentralizedMigration: "the person who sends the VM to another namespace or cluster",
} as const;

/** By the reason of a pod's verdict. Undefined: there is nothing to change. */
export function remedyOf(reason: string): string | undefined {
  return ownValue<string>(REMEDY, reason);
}

/** By the reason of an Evacuation that is Blocked. */
export function remedyOfBlocked(reason = ""): string {
  return ownValue<string>(BLOCKED, reason) ?? remedyOf(reason) ?? REMEDY.NotMigratable;
}
