/**
 * Who can change what is in the way of a drain, and how.
 * Owns: these words. Does not own: when they apply (pod-verdict.ts).
 */
export const REMEDY = {
  NotMigratable: "its owner: make the VM live-migratable, stop it, or set evictionStrategy LiveMigrateIfPossible",
  UnknownStrategy: "its owner, or the administrator of the KubeVirt CR: set an eviction strategy that KubeVirt knows",
  External: "its owner (the controller that set evictionStrategy External): move or stop the VM",
  BudgetExhausted: "the owner of the PodDisruptionBudget: more replicas, healthy ones, or a smaller budget",
  SeveralBudgets: "the owner of the PodDisruptionBudgets: leave one that selects the pod",
  Unmanaged: "the person who drains: kubectl drain --force deletes it for good",
  LocalStorage: "the person who drains: kubectl drain --delete-emptydir-data loses that data",
  StrategyNone: "its owner: set evictionStrategy LiveMigrate to have it moved",
  ShutdownByStrategy: "its owner: make the VM live-migratable",
  BackingOff: "nothing but time, or its owner: the message of the last Evacuation says why the VM did not move",
  Abandoned: "its owner, or an administrator: remove what its message names, then try again",
  MigrationBlocked: "its owner: end the backup, detach the utility volume, or raise the quota",
} as const;
