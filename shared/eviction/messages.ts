/** What callers are told: the exact sentences of denials and warnings. */
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import { WAITS_FOR_OWNER } from "../evacuation/mark.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { isBeingReceived } from "../kube/pod-kind.ts";

/** How the warning begins that says in a dry run what Lifeboat answers. */
export const DRY_RUN_WORDS = "Lifeboat answers: ";

export function quoted(vmi: VmiFacts): string {
  return `VMI "${vmi.namespace}/${vmi.name}"`;
}

/** The reason that KubeVirt gives for a VMI that cannot migrate, without its message, which may be long. */
export function pinnedBecause(vmi: VmiFacts): string {
  return vmi.liveMigratable.reason ?? "no LiveMigratable condition";
}

export const MESSAGE = {
  /** Substring looked for by the descheduler (pkg/descheduler/evictions); same text as KubeVirt's own webhook. */
  EvacuationTriggered: (vmi: VmiFacts) => `Eviction triggered evacuation of ${quoted(vmi)}`,
  /** `ended`: the last evacuation ended so, and KubeVirt has marked the VM again since. */
  EvacuationInProgress: (vmi: VmiFacts, ended?: string) =>
    `Evacuation in progress: Eviction triggered evacuation of ${quoted(vmi)}` +
    (ended === undefined ? "" : `; the last one was ${ended.toLowerCase()}, and KubeVirt has marked the VM again`),
  NotMigratable: (vmi: VmiFacts, strategy: string) =>
    `${quoted(vmi)} is configured with eviction strategy ${strategy} but is not live-migratable: ${pinnedBecause(vmi)}`,
  UnknownStrategy: (vmi: VmiFacts, field: string, value: string) =>
    `${quoted(vmi)}: ${field} is "${value.slice(0, 64)}", expected None, LiveMigrate, LiveMigrateIfPossible or External`,
  MigrationTarget: (vmi: VmiFacts) =>
    `Eviction request for target Pod: ${quoted(vmi)} ` +
    (isBeingReceived(vmi) ? "is being received from another namespace or cluster" : `is on node "${vmi.nodeName}"`),
  /** Shutting it down now would end what is about to save it. */
  Migrating: (vmi: VmiFacts) =>
    `${quoted(vmi)} is being migrated, although it is not live-migratable: try again afterwards`,
  NotScheduled: (vmi: VmiFacts) => `${quoted(vmi)} is not on a node yet`,
  HotplugOfLiveVmi: (vmi: VmiFacts, pod: PodFacts) =>
    `cannot evict hotplug pod: ${pod.name} holds a volume of running ${quoted(vmi)}`,
  /** KubeVirt's own webhook reviews the same request, and marks the VM whatever is answered here. */
  BackingOff: (vmi: VmiFacts, ended: string, seconds: number) =>
    `the last evacuation of ${quoted(vmi)} was ${ended.toLowerCase()}; Lifeboat begins no new one for ` +
    `${Math.ceil(seconds)} s, KubeVirt's own webhook may: stop the drain to keep the VM where it is`,
  ShutdownByStrategy: (vmi: VmiFacts) =>
    `${quoted(vmi)} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: ${pinnedBecause(vmi)}`,
} as const;

/** Of an External VM: how far its owner is, as the last look has found it. */
export function ownersPart(joined: EvacuationFacts | undefined): string {
  const { phase, message = WAITS_FOR_OWNER } = joined?.status ?? {};
  return `; ${phase === "Migrating" || phase === "WaitingForOwner" ? message : WAITS_FOR_OWNER}`;
}
