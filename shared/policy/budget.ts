/**
 * Disruption budgets: which VMI has one, and how large it is.
 * Owns: the table, one PodDisruptionBudget per VMI, yielding to KubeVirt's own. Does not own: the proof that one
 * protects a pod (budget-protection.ts).
 * Upstream: KubeVirt's disruption budget controller as of 1.5, the last that created budgets.
 */
import type { Action } from "./action.ts";
import { isKubeVirts, isVmi, ownedBy } from "./budget-owner.ts";
import { type BudgetFacts, isFinal, keyOf, type MigrationFacts, type VmiFacts } from "./facts.ts";
import { isMarkOnItsWay } from "./grown-for.ts";
import { hash8 } from "./hash.ts";
import type { Settings } from "./settings.ts";
import { derivedName } from "./slots.ts";
import type { Plan } from "./plan.ts";
import { isActive, justEndedRecord } from "./record.ts";
import { isToLeave } from "./stage.ts";
import { type EvictionStrategy, resolveStrategy } from "./strategy.ts";

// prettier-ignore
export const BUDGET = {
  None:                  "never",
  LiveMigrate:           "always",
  LiveMigrateIfPossible: "whileMigratable",
  External:              "always",
} as const satisfies Record<EvictionStrategy, "never" | "always" | "whileMigratable">;

export interface BudgetWorld {
  readonly vmis: readonly VmiFacts[];
  /** The unfinished ones of these VMIs, at least. */
  readonly migrations: readonly MigrationFacts[];
  /** Every budget in the namespaces of these VMIs. */
  readonly budgets: readonly BudgetFacts[];
  readonly tainted: ReadonlySet<string>;
  readonly settings: Settings;
  readonly now: Date;
  /** Whether `vmis` are all there are: only then is a budget without its VMI seen to be surplus. */
  readonly complete: boolean;
}

export function budgetName(vmi: VmiFacts): string {
  return derivedName(vmi.name, hash8(vmi.uid));
}

function subjectKey(namespace: string, uid: string | undefined): string {
  return `${namespace}/${uid ?? ""}`;
}

/**
 * `minAvailable` of the VMI's budget: 1; 2 from before a migration starts, ours or its owner's, until it has ended, and
 * through the back-off of an evacuation that ended without a move; undefined for none.
 * A strategy that nobody knows is protected: somebody meant something by it.
 */
export function desiredBudget(
  vmi: VmiFacts,
  migrating: boolean,
  { tainted, settings, now }: Pick<BudgetWorld, "tainted" | "settings" | "now">,
): 1 | 2 | undefined {
  if (!needsBudget(vmi, migrating, settings)) return undefined;
  return migrating || isToLeave(vmi, tainted, settings) || mayStillMigrate(vmi, settings, now) ? 2 : 1;
}

function needsBudget(vmi: VmiFacts, migrating: boolean, settings: Settings): boolean {
  if (vmi.deleting || isFinal(vmi)) return false;
  const resolved = resolveStrategy(vmi.evictionStrategy, settings.clusterStrategy);
  const needs = resolved.known ? BUDGET[resolved.strategy] : "always";
  const movable = vmi.liveMigratable.migratable || migrating;
  return needs === "always" || (needs === "whileMigratable" && movable);
}

/**
 * A migration that was decided on before an evacuation ended without a move, or before its mark was removed, may still be
 * created: by a function that stalls (see fresh.ts) or by KubeVirt's controller, which learns of it later. A back-off takes
 * 20 s at least, by default.
 */
export function mayStillMigrate(vmi: VmiFacts, settings: Settings, now: Date): boolean {
  const unmarked = isActive(vmi.record, vmi.nodeName) && vmi.evacuationNodeName === undefined;
  return vmi.liveMigratable.migratable && (unmarked || justEndedRecord(vmi, settings, now) !== undefined);
}

/** Whether a migration may be created: the VMI's budget is 2, and the disruption controller has seen it. */
export function isReadyForMigration(vmi: VmiFacts, budgets: readonly BudgetFacts[], settings: Settings): boolean {
  if (!settings.reconcilers.budget) return true;
  const own = budgets.filter((b) => !b.deleting && ownedBy(vmi, b));
  // KubeVirt's migration controller grows its own budget itself.
  if (own.some((b) => isKubeVirts(b, vmi))) return true;
  return own.some(({ managedByUs, minAvailable, generation, status }) => {
    return managedByUs && minAvailable === 2 && status.observedGeneration === generation && status.desiredHealthy === 2;
  });
}

/** Whether our budget for the VMI still has the size that a migration needs. */
export function isGrown(vmi: VmiFacts, budgets: readonly BudgetFacts[], settings: Settings): boolean {
  const own = budgets.filter((b) => settings.reconcilers.budget && b.managedByUs && !b.deleting && ownedBy(vmi, b));
  return own.some((b) => b.minAvailable === 2);
}

export function planBudgets(w: BudgetWorld): Plan {
  if (!w.settings.reconcilers.budget) return { chains: [] };
  const unfinished = w.migrations.filter((m) => !isFinal(m));
  const migrating = new Set(unfinished.map((m) => keyOf({ namespace: m.namespace, name: m.vmiName })));
  const present = w.budgets.filter((b) => !b.deleting);
  const named = new Map(w.vmis.map((vmi) => [keyOf({ namespace: vmi.namespace, name: budgetName(vmi) }), vmi.uid]));
  const byVmi = Map.groupBy(present, (b) => subjectKey(b.namespace, named.get(keyOf(b)) ?? b.owners.find(isVmi)?.uid));
  const perVmi = w.vmis.map((vmi) => {
    const wanted = desiredBudget(vmi, migrating.has(keyOf(vmi)), w);
    return budgetActions(vmi, wanted, { found: byVmi.get(subjectKey(vmi.namespace, vmi.uid)) ?? [], now: w.now });
  });
  const subjects = new Set(w.vmis.map((vmi) => subjectKey(vmi.namespace, vmi.uid)));
  const surplus = [...byVmi].flatMap(([subject, budgets]) => (subjects.has(subject) ? [] : budgets));
  // Garbage collection does this too, unless the owner reference was removed.
  const surplusActions = w.complete ? deletionsOf(surplus.filter((b) => b.managedByUs)) : [];
  return { chains: [...perVmi.filter((chain) => chain.length > 0), ...surplusActions.map((action) => [action])] };
}

function deletionsOf(budgets: readonly BudgetFacts[]) {
  return budgets.map((budget) => ({ verb: "DeleteBudget", budget }) as const);
}

/** There is to be one, of whatever size; made with this one if there is none. */
export function ensureBudget(vmi: VmiFacts, minAvailable: 1 | 2): Action {
  return { verb: "EnsureBudget", vmi, name: budgetName(vmi), minAvailable };
}

/** For a VMI whose budget could not be found by its name; undefined if another one of its own protects it. */
export function missingBudget(
  vmi: VmiFacts,
  budgets: readonly BudgetFacts[],
  minAvailable: 1 | 2,
): readonly Action[] | undefined {
  const name = budgetName(vmi);
  const found = budgets.filter((b) => !b.deleting && (b.name === name || ownedBy(vmi, b)));
  if (found.some((b) => b.name === name && b.managedByUs)) return [];
  return found.length > 0 ? undefined : [{ verb: "CreateBudget", vmi, name, minAvailable }];
}

interface Found {
  /** The VMI's budgets, and whatever stands under the name of the one it is to have. */
  readonly found: readonly BudgetFacts[];
  readonly now: Date;
}

function budgetActions(vmi: VmiFacts, wanted: 1 | 2 | undefined, { found, now }: Found): readonly Action[] {
  const name = budgetName(vmi);
  const ours = found.filter((b) => b.managedByUs);
  if (wanted === undefined || found.some((b) => isKubeVirts(b, vmi))) return deletionsOf(ours);
  const keep = ours.find((b) => b.name === name && ownedBy(vmi, b));
  const deletes = deletionsOf(ours.filter((b) => b !== keep));
  if (keep === undefined) return [...deletes, { verb: "CreateBudget", vmi, name, minAvailable: wanted }];
  // While two ready pods are left, shrinking would make one of them evictable.
  const early = wanted === 1 && (keep.status.currentHealthy > 1 || isMarkOnItsWay(keep, vmi, now));
  if (keep.minAvailable === wanted || early) return deletes;
  return [...deletes, { verb: "ResizeBudget", budget: keep, minAvailable: wanted, ...(wanted === 1 && { vmi }) }];
}
