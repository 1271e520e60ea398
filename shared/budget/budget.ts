/**
 * Disruption budgets: which VMI has one, and how large it is. Upstream: KubeVirt's disruption budget controller as of 1.5, the last that
 * created budgets.
 */
import type { Action, Plan } from "../kube/action.ts";
import { areBudgetsWanted } from "../settings/covered.ts";
import { budgetName, isVmi, ownedBy } from "./identity.ts";
import { type BudgetFacts, isFinal, keyOf, type MigrationFacts, type VmiFacts } from "../kube/facts.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { Settings } from "../settings/settings.ts";
import { type Moment, secondsSince } from "../settings/time.ts";
import { type EvictionStrategy, isToLeave, resolveStrategy } from "../settings/strategy.ts";

// prettier-ignore
export const BUDGET = {
  None:                  "never",
  LiveMigrate:           "always",
  LiveMigrateIfPossible: "whileMigratable",
  External:              "always",
} as const satisfies Record<EvictionStrategy, "never" | "always" | "whileMigratable">;

export interface BudgetWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Of the VMIs under evacuation. */
  readonly migrations: readonly MigrationFacts[];
  /** Of these VMIs; where `complete`, every one that Lifeboat has made. */
  readonly budgets: readonly BudgetFacts[];
  /** Whether `vmis` are all there are: only then is a budget without its VMI seen to be surplus. */
  readonly complete: boolean;
}

/**
 * `minAvailable` of the VMI's budget: 2 while an evacuation or a migration of it is unfinished, its own or another party's; else 1;
 * undefined for none. A VM with an unknown strategy is protected: its owner meant something by it.
 */
export function desiredBudget(vmi: VmiFacts, unfinished: boolean, settings: Settings): 1 | 2 | undefined {
  if (vmi.deleting || isFinal(vmi)) return undefined;
  const resolved = resolveStrategy(vmi, settings);
  const needs = resolved.known ? BUDGET[resolved.strategy] : "always";
  const movable = vmi.liveMigratable.migratable || unfinished;
  if (needs === "never" || (needs === "whileMigratable" && !movable)) return undefined;
  return unfinished ? 2 : 1;
}

/** Whether a migration may be created: the VMI's budget is 2, and the disruption controller has seen it. */
export function isReadyForMigration(vmi: VmiFacts, budgets: readonly BudgetFacts[], settings: Settings): boolean {
  if (!areBudgetsWanted(settings)) return true;
  return budgets.some((budget) => {
    const { managedByUs, deleting, minAvailable, generation, status } = budget;
    const isOurs = managedByUs && !deleting && ownedBy(vmi, budget);
    return isOurs && minAvailable === 2 && status.observedGeneration === generation && status.desiredHealthy === 2;
  });
}

/** Creates one of this size if the VMI has none, and leaves one of any size alone. */
export function ensureBudget(vmi: VmiFacts, minAvailable: 1 | 2): Action {
  return { verb: "EnsureBudget", vmi, name: budgetName(vmi), minAvailable };
}

export function planBudgets(w: BudgetWorld): Plan {
  const ours = w.budgets.filter((b) => b.managedByUs && !b.deleting && isOfVmi(b));
  if (!areBudgetsWanted(w.settings)) return { chains: unwanted(ours, w).map((action) => [action]) };
  const byName = new Map(ours.map((b) => [keyOf(b), b]));
  const named = new Set(w.vmis.map((vmi) => keyOf({ namespace: vmi.namespace, name: budgetName(vmi) })));
  const evacuations = Map.groupBy(w.evacuations, (e) => keyOf({ namespace: e.namespace, name: e.spec.vmiName }));
  const perVmi = w.vmis.map((vmi) => {
    const found = byName.get(keyOf({ namespace: vmi.namespace, name: budgetName(vmi) }));
    return budgetActions(vmi, found, { ...w, evacuations: evacuations.get(keyOf(vmi)) ?? [] });
  });
  // Garbage collection does this too, unless the owner reference was removed.
  const surplus = w.complete ? ours.filter((b) => !named.has(keyOf(b))) : [];
  return { chains: [...perVmi, ...deletionsOf(surplus).map((action) => [action])].filter((chain) => chain.length > 0) };
}

/** Lifeboat's own Deployment may have one too. */
function isOfVmi({ owners, selector }: BudgetFacts): boolean {
  return owners.some(isVmi) || Object.hasOwn(selector?.matchLabels ?? {}, CREATED_BY_LABEL);
}

/** Spares recent ones: another function, whose settings differ for some seconds, may have created them. */
function unwanted(ours: readonly BudgetFacts[], { complete, now }: BudgetWorld): readonly Action[] {
  return complete ? deletionsOf(ours.filter(({ touchedAt }) => !isRecent(touchedAt, now))) : [];
}

function deletionsOf(budgets: readonly BudgetFacts[]): readonly Action[] {
  return budgets.map((budget) => ({ verb: "DeleteBudget", budget }));
}

/** `w.evacuations`: those of this VMI only. */
function budgetActions(vmi: VmiFacts, found: BudgetFacts | undefined, w: BudgetWorld): readonly Action[] {
  const wanted = desiredBudget(vmi, isUnfinished(vmi, w), w.settings);
  if (wanted === undefined) return deletionsOf(found === undefined ? [] : [found]);
  const create: Action = { verb: "CreateBudget", vmi, name: budgetName(vmi), minAvailable: wanted };
  if (found === undefined) return [create];
  if (!ownedBy(vmi, found)) return [{ verb: "DeleteBudget", budget: found }, create];
  if (found.minAvailable === wanted || (found.minAvailable === 2 && isToRest(found, w))) return [];
  return [{ verb: "ResizeBudget", budget: found, minAvailable: wanted }];
}

function isUnfinished(vmi: VmiFacts, { evacuations, migrations, settings }: BudgetWorld): boolean {
  const migrating = migrations.some((m) => !isFinal(m) && m.namespace === vmi.namespace && m.vmiName === vmi.name);
  return migrating || vmi.isMigrating || evacuations.some(isActive) || isToLeave(vmi, settings);
}

/** The platform ends a function that stalls for longer, and the clocks of two functions differ by less. */
const REST_SECONDS = 180;

/**
 * A budget that was grown a moment ago rests: the mark that it was grown for may not be seen yet, and after an evacuation
 * KubeVirt may still create the migration that it had decided on. And while two ready pods are left, shrinking would make
 * one of them evictable.
 */
function isToRest(budget: BudgetFacts, { evacuations, now }: BudgetWorld): boolean {
  const times = [budget.touchedAt, ...evacuations.map(({ status }) => status.completionTime)];
  return times.some((time) => isRecent(time, now)) || budget.status.currentHealthy > 1;
}

function isRecent(time: string | number | undefined, now: Date): boolean {
  return Math.abs(secondsSince(time, now)) < REST_SECONDS;
}
