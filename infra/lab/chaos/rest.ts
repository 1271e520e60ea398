/** What is left when nothing is under way any more: nothing. */
import { isTrue } from "../../sandbox/actors/conditions.ts";
import { keyOf, type Pod, type PodDisruptionBudget } from "../../sandbox/actors/resources.ts";
import {
  isFinal,
  LABEL,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "../../sandbox/kubevirt/resources.ts";
import { endingOf, type Evacuation } from "../stage/evacuations.ts";
import { WIRE } from "./wire.ts";

export interface Cluster {
  readonly vmis: readonly VirtualMachineInstance[];
  readonly pods: readonly Pod[];
  readonly migrations: readonly VirtualMachineInstanceMigration[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly evacuations: readonly Evacuation[];
}

/** Empty: the cluster is at rest. `budgeted`: VMs have budgets in this cluster. */
export function unrestOf(cluster: Cluster, budgeted: boolean): readonly string[] {
  const unrestAbout = (vmi: VirtualMachineInstance) => [...unrestOfVmi(vmi), ...budgetProblems(vmi, cluster, budgeted)];
  return [
    ...cluster.vmis.filter(isLive).flatMap(unrestAbout),
    ...cluster.pods.filter(isSaidInProgress).map((pod) => `pod ${keyOf(pod)} says that its eviction is in progress`),
    ...cluster.migrations
      .filter((migration) => !isFinal(migration.status) && !isForgotten(migration, cluster))
      .map((migration) => `migration ${keyOf(migration)} is ${migration.status?.phase ?? "new"}`),
    ...cluster.evacuations.filter((evacuation) => endingOf(evacuation) === undefined).map(waiting),
  ];
}

/** KubeVirt deletes a migration whose VM is gone, and then looks at it no more, whatever its finalizers. */
function isForgotten({ metadata, spec }: VirtualMachineInstanceMigration, { vmis }: Cluster): boolean {
  return metadata.deletionTimestamp !== undefined && !vmis.some((vmi) => vmi.metadata.name === spec.vmiName);
}

/** Nothing wants a VM to leave any more, and owners of External VMs move theirs: no Evacuation has a reason to wait. */
function waiting(evacuation: Evacuation): string {
  const { phase = "new", message = "" } = evacuation.status ?? {};
  return `evacuation ${keyOf(evacuation)} is ${phase}: ${message}`;
}

/** A pod that has ended is not in progress, whatever it carries. */
function isSaidInProgress({ metadata, status }: Pod): boolean {
  return metadata.annotations?.[WIRE.inProgress] !== undefined && !isFinal(status);
}

function isLive({ metadata, status }: VirtualMachineInstance): boolean {
  return metadata.deletionTimestamp === undefined && !isFinal(status);
}

function unrestOfVmi(vmi: VirtualMachineInstance): readonly string[] {
  const key = keyOf(vmi);
  const mark = vmi.status?.evacuationNodeName;
  const label = vmi.metadata.labels?.[WIRE.urgentLabel];
  const shield = vmi.metadata.labels?.[WIRE.shieldLabel];
  return [
    ...(shield === undefined ? [] : [`${key} is still shielded (${shield})`]),
    ...(mark === undefined ? [] : [`${key} is marked for ${mark}`]),
    ...(label === undefined ? [] : [`${key} has the label ${label}`]),
  ];
}

/** A budget that was grown stays so for minutes, which is longer than a run. */
const SIZES: readonly unknown[] = [1, 2];

/** One of ours where VMs have budgets; none where the strategy lets the VM go. */
function budgetProblems(vmi: VirtualMachineInstance, { budgets }: Cluster, budgeted: boolean): readonly string[] {
  const sizes = budgets.filter((budget) => isBudgetOf(budget, vmi)).map(({ spec }) => spec?.minAvailable);
  const wanted = budgeted && hasBudget(vmi) ? 1 : 0;
  if (sizes.length === wanted && sizes.every((size) => SIZES.includes(size))) return [];
  return [`budgets of ${keyOf(vmi)}: minAvailable [${String(sizes)}], expected ${wanted === 0 ? "none" : "1 or 2"}`];
}

/** Whether it is Lifeboat's for this VMI. */
export function isBudgetOf({ metadata, spec }: PodDisruptionBudget, vmi: VirtualMachineInstance): boolean {
  const isOurs = metadata.labels?.[WIRE.managedByLabel] === WIRE.managedBy;
  return (
    isOurs &&
    metadata.namespace === vmi.metadata.namespace &&
    spec?.selector?.matchLabels?.[LABEL.createdBy] === vmi.metadata.uid
  );
}

/** Whether its strategy asks for one. */
export function hasBudget({ spec, status }: VirtualMachineInstance): boolean {
  if (spec.evictionStrategy === "LiveMigrateIfPossible") return isTrue(status?.conditions, "LiveMigratable");
  return spec.evictionStrategy !== undefined && spec.evictionStrategy !== "None";
}
