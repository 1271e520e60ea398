/** Checks the cluster's objects during every run. This file imports no code of Lifeboat. */
import {
  isFinal,
  isTrue,
  keyOf,
  LABEL,
  type Pod,
  type PodDisruptionBudget,
  type VirtualMachineInstance as Vmi,
  type VirtualMachineInstanceMigration as Migration,
} from "../../sandbox/index.ts";
import { endingOf, type Evacuation } from "../stage/evacuations.ts";
import type { Listener, Observer } from "./observer.ts";

const URGENT_LABEL = "lifeboat.dev/evacuation";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
const MANAGED_BY = { label: "app.kubernetes.io/managed-by", value: "lifeboat" };

export interface Limits {
  readonly cluster: number;
  readonly node: number;
}

/** KubeVirt does not count migrations in these phases toward its limits on parallel migrations. */
const QUEUED: readonly string[] = ["", "Pending", "Synchronizing", "WaitingForSync"];

interface Running {
  readonly migration: Migration;
  readonly node: string | undefined;
}

/**
 * Checks KubeVirt's limits on parallel migrations. Does not report an excess if KubeVirt's evacuation controller
 * created all of the counted migrations, because after an outage this controller acts on an old cache.
 */
export function checkLimits(limits: Limits, report: (what: string) => void): Partial<Listener> {
  const running = new Map<string, Running>();
  const nodes = new Map<string, string | undefined>();
  const reported = new Set<string>();
  const check = (most: number, where: string, found: readonly Running[]): void => {
    const excess = `${found.length} migrations run ${where}`;
    if (found.length <= most || reported.has(excess) || found.every(isOfKubevirt)) return;
    reported.add(excess);
    const names = found.map(({ migration }) => `${migration.metadata.name} (${migration.status?.phase ?? "new"})`);
    report(`${excess}, ${most} allowed: ${names.join(", ")}`);
  };
  const checkAll = (): void => {
    const all = [...running.values()];
    check(limits.cluster, "in the cluster", all);
    // The limit for each node ignores migrations whose VM is gone, as virt-controller does.
    const leaving = all.filter(({ migration }) => nodes.has(vmOf(migration)));
    for (const [node, from] of Map.groupBy(leaving, (one) => one.node)) check(limits.node, `from ${node}`, from);
  };
  return {
    vmiChanged(now, before) {
      if (before !== undefined) nodes.delete(keyOf(before));
      if (now !== undefined) nodes.set(keyOf(now), now.status?.nodeName);
    },
    migrationChanged(now, before) {
      const uid = (now ?? before)?.metadata.uid ?? "";
      if (before !== undefined && before.metadata.uid !== uid) running.delete(before.metadata.uid);
      if (now === undefined || !takesPlace(now)) return void running.delete(uid);
      running.set(uid, { migration: now, node: running.get(uid)?.node ?? nodes.get(vmOf(now)) });
      checkAll();
    },
  };
}

function takesPlace({ status }: Migration): boolean {
  return !isFinal(status) && !QUEUED.includes(status?.phase ?? "");
}

function isOfKubevirt({ migration }: Running): boolean {
  return migration.metadata.name.startsWith("kubevirt-evacuation-");
}

function vmOf({ metadata, spec }: Migration): string {
  return `${metadata.namespace}/${spec.vmiName}`;
}

export interface Asked {
  vmi(key: { readonly namespace: string; readonly name: string }): Promise<Vmi | undefined>;
  budgets(namespace: string): Promise<readonly PodDisruptionBudget[]>;
}

export interface BudgetCheck extends Partial<Listener> {
  settled(): Promise<unknown>;
}

/**
 * Checks that each VMI with an evacuationNodeName has its PodDisruptionBudget. Otherwise the API server would allow the
 * VMI's next eviction.
 */
export function checkBudgets(
  asked: Asked,
  observer: Pick<Observer, "vmis" | "budgets">,
  report: (what: string) => void,
): BudgetCheck {
  const doubts = new Map<string, Promise<void>>();
  /**
   * Reads from the API server, because the observer's caches can be old. Reports a missing budget only if the VMI needs
   * it both before and after the budgets are read.
   */
  const confirm = async (key: { readonly namespace: string; readonly name: string }): Promise<void> => {
    const before = await asked.vmi(key);
    const budgets = await asked.budgets(key.namespace);
    const after = await asked.vmi(key);
    const isMissing = [before, after].every((vmi) => vmi !== undefined && needsBudget(vmi) && !hasOwn(vmi, budgets));
    if (isMissing) report(`${key.namespace}/${key.name} has an evacuationNodeName and no PodDisruptionBudget`);
  };
  const doubt = (vmi: Vmi): void => {
    const key = keyOf(vmi);
    if (doubts.has(key) || !needsBudget(vmi) || hasOwn(vmi, observer.budgets.list())) return;
    const { namespace = "", name } = vmi.metadata;
    const confirmed = confirm({ namespace, name }).catch(() => undefined);
    doubts.set(
      key,
      confirmed.finally(() => doubts.delete(key)),
    );
  };
  return {
    vmiChanged(now) {
      if (now !== undefined) doubt(now);
    },
    budgetChanged(now, before) {
      if (now !== undefined || before === undefined) return;
      for (const vmi of observer.vmis.list()) if (isBudgetOf(before, vmi)) doubt(vmi);
    },
    settled: () => Promise.all(doubts.values()),
  };
}

function needsBudget(vmi: Vmi): boolean {
  const { status } = vmi;
  const isMarked = status?.evacuationNodeName !== undefined && status.evacuationNodeName === status.nodeName;
  return isLive(vmi) && isMarked && hasBudget(vmi);
}

function hasOwn(vmi: Vmi, budgets: Iterable<PodDisruptionBudget>): boolean {
  return [...budgets].some((budget) => isBudgetOf(budget, vmi) && budget.metadata.deletionTimestamp === undefined);
}

export interface Objects {
  readonly vmis: readonly Vmi[];
  readonly pods: readonly Pod[];
  readonly migrations: readonly Migration[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly evacuations: readonly Evacuation[];
}

/**
 * Describes each object that should be gone or finished after a run, but is not. `budgeted` is true if VMs have
 * PodDisruptionBudgets.
 */
export function leftOver(objects: Objects, budgeted: boolean): readonly string[] {
  const { vmis, pods, migrations, evacuations } = objects;
  /**
   * Returns whether the migration is being deleted and its VM is gone. KubeVirt ignores such a migration, even if it
   * has finalizers.
   */
  const isForgotten = ({ metadata, spec }: Migration) =>
    metadata.deletionTimestamp !== undefined && !vmis.some((vmi) => vmi.metadata.name === spec.vmiName);
  return [
    ...vmis.filter(isLive).flatMap((vmi) => [...leftOn(vmi), ...budgetProblems(vmi, objects, budgeted)]),
    ...pods
      .filter(({ metadata, status }) => metadata.annotations?.[IN_PROGRESS] !== undefined && !isFinal(status))
      .map((pod) => `pod ${keyOf(pod)} still has the annotation of an eviction in progress`),
    ...migrations
      .filter((migration) => !isFinal(migration.status) && !isForgotten(migration))
      .map((migration) => `migration ${keyOf(migration)} is ${migration.status?.phase ?? "new"}`),
    ...evacuations
      .filter((evacuation) => endingOf(evacuation) === undefined)
      .map((one) => `evacuation ${keyOf(one)} is ${one.status?.phase ?? "new"}: ${one.status?.message ?? ""}`),
  ];
}

function leftOn(vmi: Vmi): readonly string[] {
  const mark = vmi.status?.evacuationNodeName;
  const label = vmi.metadata.labels?.[URGENT_LABEL];
  return [
    ...(mark === undefined ? [] : [`${keyOf(vmi)} still has evacuationNodeName ${mark}`]),
    ...(label === undefined ? [] : [`${keyOf(vmi)} still has the label ${label}`]),
  ];
}

/**
 * Checks the PodDisruptionBudgets of a VM. The VM needs one budget if `budgeted` is true and its eviction strategy
 * requires a budget. Otherwise the VM must have no budget.
 */
function budgetProblems(vmi: Vmi, { budgets }: Objects, budgeted: boolean): readonly string[] {
  const sizes = budgets.filter((budget) => isBudgetOf(budget, vmi)).map(({ spec }) => spec?.minAvailable);
  const wanted = budgeted && hasBudget(vmi) ? 1 : 0;
  if (sizes.length === wanted && sizes.every((size) => size === 2)) return [];
  return [
    `budgets of ${keyOf(vmi)}: minAvailable [${String(sizes)}], expected ${wanted === 0 ? "no budget" : "one budget with 2"}`,
  ];
}

function isLive({ metadata, status }: Vmi): boolean {
  return metadata.deletionTimestamp === undefined && !isFinal(status);
}

function isBudgetOf({ metadata, spec }: PodDisruptionBudget, vmi: Vmi): boolean {
  const isOurs = metadata.labels?.[MANAGED_BY.label] === MANAGED_BY.value;
  const isOfVmi = spec?.selector?.matchLabels?.[LABEL.createdBy] === vmi.metadata.uid;
  return isOurs && metadata.namespace === vmi.metadata.namespace && isOfVmi;
}

/** Returns whether the VM's eviction strategy requires a PodDisruptionBudget. */
export function hasBudget({ spec, status }: Vmi): boolean {
  if (spec.evictionStrategy === "LiveMigrateIfPossible") return isTrue(status?.conditions, "LiveMigratable");
  return spec.evictionStrategy !== undefined && spec.evictionStrategy !== "None";
}
