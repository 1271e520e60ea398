/**
 * Decides which VMIs need a PodDisruptionBudget. Upstream: the disruption budget controller of KubeVirt versions before
 * VERSIONS.noBudgets.
 */
import type { Action, Plan } from "../kube/action.ts";
import type { Facts } from "../facts/facts.ts";
import { unlessForbidden } from "../facts/questions.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { BudgetFacts, MigrationFacts, OwnerReference, VmiFacts } from "../kube/facts.ts";
import { CREATED_BY_LABEL, NAME_PREFIX } from "../kube/names.ts";
import { type EvictionStrategy, resolveStrategy } from "../settings/strategy.ts";
import type { Deciding, Moment } from "../settings/time.ts";
import type { Settings } from "../settings/settings.ts";
import { derivedName, hash8, isFinal, keyOf } from "../kube/objects.ts";

// prettier-ignore
export const BUDGET = {
  None:                  "never",
  LiveMigrate:           "always",
  LiveMigrateIfPossible: "whileMigratable",
  External:              "always",
} as const satisfies Record<EvictionStrategy, "never" | "always" | "whileMigratable">;

/**
 * A VM has one ready pod, or two during a migration. With this value, none of them may be evicted. A percentage would
 * need a `scale` subresource, which VMIs lack.
 */
export const MIN_AVAILABLE = 2;

export interface BudgetWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  readonly evacuations: readonly EvacuationFacts[];
  /**
   * Migrations of the VMIs that are being evacuated. Empty in a reconcile of the whole cluster, which does not read
   * them.
   */
  readonly migrations: readonly MigrationFacts[];
  /** PodDisruptionBudgets of `vmis`. If `complete` is true, contains all budgets that Lifeboat created. */
  readonly budgets: readonly BudgetFacts[];
  /** Whether `vmis` contains every VMI of the cluster. If false, Lifeboat keeps the budgets of other VMIs. */
  readonly complete: boolean;
}

export function budgetName(vmi: Pick<VmiFacts, "name" | "uid">): string {
  return derivedName(NAME_PREFIX, vmi.name, hash8(vmi.uid));
}

export function areBudgetsWanted({ disruptionBudgets, evictionsCovered }: Settings): boolean {
  switch (disruptionBudgets) {
    case "Always":
      return true;
    case "Never":
      return false;
    case "Auto":
      return !evictionsCovered;
  }
}

/**
 * Returns whether Lifeboat may create a budget. Returns false if an active Evacuation has a phase, because Lifeboat has
 * already reconciled this Evacuation.
 */
export function isBudgetDue(evacuations: readonly EvacuationFacts[]): boolean {
  return evacuations.every((e) => !isActive(e) || e.status.phase === undefined);
}

/** Returns whether the VM needs a budget. Treats an unknown eviction strategy like a strategy that needs a budget. */
export function needsBudget(vmi: VmiFacts, isMigrating: boolean, settings: Settings): boolean {
  if (vmi.deleting || isFinal(vmi)) return false;
  const resolved = resolveStrategy(vmi, settings);
  const needs = resolved.known ? BUDGET[resolved.strategy] : "always";
  return needs === "always" || (needs === "whileMigratable" && (vmi.liveMigratable.migratable || isMigrating));
}

/**
 * Returns the action that creates the VM's budget, or no action if the VM needs none. Lifeboat creates the budget
 * before an evacuation starts, because the budget refuses evictions even if Lifeboat is unavailable.
 */
export function ensureBudget(vmi: VmiFacts, settings: Settings, isMigrating = vmi.isMigrating) {
  return areBudgetsWanted(settings) && needsBudget(vmi, isMigrating, settings)
    ? [{ verb: "CreateBudget", vmi } as const]
    : [];
}

/**
 * Returns the VM's budget. Returns undefined if Lifeboat lacks the permission to read budgets, because a missing
 * permission must not stop an evacuation.
 */
export function ownBudget(vmi: VmiFacts, facts: Facts): BudgetFacts | undefined {
  const key = { namespace: vmi.namespace, name: budgetName(vmi) };
  return unlessForbidden(() => facts.get("poddisruptionbudgets", key), undefined);
}

export function ensureRightBudget(vmi: VmiFacts, { facts, settings }: Deciding): readonly Action[] {
  if (!areBudgetsWanted(settings)) return [];
  const found = ownBudget(vmi, facts);
  const isUsable = found?.managedByUs === true && !found.deleting;
  return isUsable ? repaired(found, vmi) : ensureBudget(vmi, settings).map((create) => ({ ...create, missing: true }));
}

export function planBudgets(w: BudgetWorld): Plan {
  const ours = w.budgets.filter((b) => b.managedByUs && !b.deleting && isOfVmi(b));
  const isWanted = areBudgetsWanted(w.settings);
  const vmis = isWanted ? w.vmis : [];
  const byName = new Map(ours.map((b) => [keyOf(b), b]));
  const keyed = new Map(vmis.map((vmi) => [keyOf({ namespace: vmi.namespace, name: budgetName(vmi) }), vmi]));
  const moving = movingVmis(w);
  const perVmi = [...keyed].map(([key, vmi]) => {
    const isNeeded = needsBudget(vmi, vmi.isMigrating || moving.has(keyOf(vmi)), w.settings);
    return budgetActions(vmi, byName.get(key), isNeeded);
  });
  // Lifeboat does not delete a budget whose owner is a VMI, because the VMI might be newer than the list of VMIs. The
  // garbage collector deletes the budget together with the VMI.
  const isSurplus = (b: BudgetFacts) => !keyed.has(keyOf(b)) && !(isWanted && b.owners.some(isVmi));
  const surplus = w.complete ? ours.filter(isSurplus) : [];
  const deletions = surplus.map((budget) => [{ verb: "DeleteBudget", budget } as const]);
  return { chains: [...perVmi, ...deletions].filter((chain) => chain.length > 0) };
}

/** Returns false for the budget of Lifeboat's own Deployment. */
function isOfVmi({ owners, selector }: BudgetFacts): boolean {
  return owners.some(isVmi) || Object.hasOwn(selector?.matchLabels ?? {}, CREATED_BY_LABEL);
}

export function isVmi(owner: OwnerReference): boolean {
  return owner.kind === "VirtualMachineInstance";
}

function budgetActions(vmi: VmiFacts, found: BudgetFacts | undefined, isNeeded: boolean): readonly Action[] {
  if (found === undefined) return isNeeded ? [{ verb: "CreateBudget", vmi, missing: true }] : [];
  return isNeeded ? repaired(found, vmi) : [{ verb: "DeleteBudget", budget: found }];
}

function repaired(budget: BudgetFacts, vmi: VmiFacts): readonly Action[] {
  const isRight = budget.minAvailable === MIN_AVAILABLE && budget.owners.some((o) => isVmi(o) && o.uid === vmi.uid);
  return isRight ? [] : [{ verb: "RepairBudget", budget, vmi }];
}

/**
 * Returns the keys of VMIs that are being evacuated or migrated. Ignores Blocked Evacuations, because their VMs are not
 * migrating.
 */
function movingVmis({ evacuations, migrations }: BudgetWorld): ReadonlySet<string> {
  const evacuating = evacuations.filter((e) => isActive(e) && e.status.phase !== "Blocked");
  return new Set([
    ...evacuating.map(({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName })),
    ...migrations.filter((m) => !isFinal(m)).map((m) => keyOf({ namespace: m.namespace, name: m.vmiName })),
  ]);
}
