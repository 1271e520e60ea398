/**
 * What is left when nothing is under way any more: nothing.
 * Owns: telling, in words, what still is. Does not own: waiting for it (perform-run.ts), the VMs' lives (judgement.ts).
 */
import { isMarkOnItsWay } from "../../shared/policy/grown-for.ts";
import {
  EVACUATION_LABEL,
  EVICTION_IN_PROGRESS_ANNOTATION,
  GROWN_FOR_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  RECORD_ANNOTATION,
} from "../../shared/policy/names.ts";
import { isTrue } from "../sandbox/actors/conditions.ts";
import { keyOf, type Pod, type PodDisruptionBudget } from "../sandbox/actors/resources.ts";
import {
  isFinal,
  LABEL,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "../sandbox/kubevirt/resources.ts";
import { recordOf } from "./endings.ts";

export interface Cluster {
  readonly vmis: readonly VirtualMachineInstance[];
  readonly pods: readonly Pod[];
  readonly migrations: readonly VirtualMachineInstanceMigration[];
  readonly budgets: readonly PodDisruptionBudget[];
  /** Names of migrations that are reserved. */
  readonly slots: readonly string[];
}

/**
 * Empty: the cluster is at rest. `now` is the real time, whatever the Workers' clocks say: those are a minute off at most, so a
 * grown budget of theirs is small again a minute later than this expects, at the latest.
 */
export function unrestOf(cluster: Cluster, now: Date): readonly string[] {
  const unrestAbout = (vmi: VirtualMachineInstance) => [...unrestOfVmi(vmi), ...budgetProblems(vmi, cluster, now)];
  return [
    ...cluster.vmis.filter(isLive).flatMap(unrestAbout),
    ...cluster.pods.filter(isSaidInProgress).map((pod) => `pod ${keyOf(pod)} says that its eviction is in progress`),
    ...cluster.migrations
      .filter(({ status }) => !isFinal(status))
      .map((migration) => `migration ${keyOf(migration)} is ${migration.status?.phase ?? "new"}`),
    ...cluster.slots.map((name) => `migration ${name} is reserved`),
  ];
}

/** A pod that has ended is not in progress, whatever it carries. */
function isSaidInProgress({ metadata, status }: Pod): boolean {
  return metadata.annotations?.[EVICTION_IN_PROGRESS_ANNOTATION] !== undefined && !isFinal(status);
}

function isLive({ metadata, status }: VirtualMachineInstance): boolean {
  return metadata.deletionTimestamp === undefined && !isFinal(status);
}

/** A record may stay, for the back-off of an evacuation that has ended. */
function unrestOfVmi(vmi: VirtualMachineInstance): readonly string[] {
  const key = keyOf(vmi);
  const mark = vmi.status?.evacuationNodeName;
  const label = vmi.metadata.labels?.[EVACUATION_LABEL];
  const record = recordOf(vmi);
  return [
    ...(mark === undefined ? [] : [`${key} is marked for ${mark}`]),
    ...(label === undefined ? [] : [`${key} has the label ${label}`]),
    ...(record === undefined || record.outcome !== undefined ? [] : [`${key} has record ${record.id}`]),
  ];
}

/** One of ours, at its size at rest; none where the strategy lets the VM go. */
function budgetProblems(vmi: VirtualMachineInstance, { budgets }: Cluster, now: Date): readonly string[] {
  const own = budgets.filter(({ metadata, spec }) => {
    const ours = metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
    return ours && spec?.selector?.matchLabels?.[LABEL.createdBy] === vmi.metadata.uid;
  });
  const wanted = hasBudget(vmi) ? [1] : [];
  if (own.length === wanted.length && own.every((budget) => isAtRest(budget, vmi, now))) return [];
  const sizes = own.map(({ spec }) => spec?.minAvailable);
  return [`budgets of ${keyOf(vmi)}: minAvailable [${String(sizes)}], expected [${String(wanted)}]`];
}

/** One that was grown stays so for a while, if its mark may still be on its way: an eviction may have failed between the two. */
function isAtRest({ metadata, spec }: PodDisruptionBudget, vmi: VirtualMachineInstance, now: Date): boolean {
  if (spec?.minAvailable !== 2) return spec?.minAvailable === 1;
  const grownFor = metadata.labels?.[GROWN_FOR_LABEL] ?? "";
  return isMarkOnItsWay({ grownFor }, seenOf(vmi), now);
}

/** Of a VMI, what its budget's label is made from. */
function seenOf({ metadata, status }: VirtualMachineInstance) {
  const { nodeName = "", evacuationNodeName = "" } = status ?? {};
  return { nodeName, evacuationNodeName, recordText: metadata.annotations?.[RECORD_ANNOTATION] ?? "" };
}

export function hasBudget({ spec, status }: VirtualMachineInstance): boolean {
  if (spec.evictionStrategy === "LiveMigrateIfPossible") return isTrue(status?.conditions, "LiveMigratable");
  return spec.evictionStrategy !== undefined && spec.evictionStrategy !== "None";
}
