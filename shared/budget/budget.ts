/** Disruption budgets: which VMI has one. Upstream: KubeVirt's disruption budget controller before VERSIONS.noBudgets. */
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

/** A VM that migrates has two ready pods, neither of which may be evicted. A VMI has no `scale`, which percentages need. */
export const MIN_AVAILABLE = 2;

export interface BudgetWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  readonly evacuations: readonly EvacuationFacts[];
  /** Migrations of the VMIs under evacuation, if they were read: a full scan reads none. */
  readonly migrations: readonly MigrationFacts[];
  /** Budgets of these VMIs. If `complete`, every budget that Lifeboat has made. */
  readonly budgets: readonly BudgetFacts[];
  /** Whether `vmis` are all there are: only then is a budget without its VMI seen to be surplus. */
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

/** Returns whether the VM needs a budget: not while it moves. It moved before the first request was refused. */
export function isBudgetDue(evacuations: readonly EvacuationFacts[]): boolean {
  return evacuations.every((e) => !isActive(e) || e.status.phase === undefined);
}

/** A VM with an unknown strategy is protected: its owner meant something by it. */
export function needsBudget(vmi: VmiFacts, isMigrating: boolean, settings: Settings): boolean {
  if (vmi.deleting || isFinal(vmi)) return false;
  const resolved = resolveStrategy(vmi, settings);
  const needs = resolved.known ? BUDGET[resolved.strategy] : "always";
  return needs === "always" || (needs === "whileMigratable" && (vmi.liveMigratable.migratable || isMigrating));
}

/** Before a VM is refused, marked or migrated: the next review may never reach Lifeboat, and then only the budget refuses. */
export function ensureBudget(vmi: VmiFacts, settings: Settings, isMigrating = vmi.isMigrating) {
  return areBudgetsWanted(settings) && needsBudget(vmi, isMigrating, settings)
    ? [{ verb: "CreateBudget", vmi } as const]
    : [];
}

/** A missing permission must not keep the VM from being evacuated: then there seems to be none. */
export function ownBudget(vmi: VmiFacts, facts: Facts): BudgetFacts | undefined {
  const key = { namespace: vmi.namespace, name: budgetName(vmi) };
  return unlessForbidden(() => facts.get("poddisruptionbudgets", key), undefined);
}

/** The same, also if there is one of the wrong size, which must not stay so while two pods are ready. */
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
  // Garbage collection deletes a budget that names its owner, which may be a VMI that started after these reads.
  const isSurplus = (b: BudgetFacts) => !keyed.has(keyOf(b)) && !(isWanted && b.owners.some(isVmi));
  const surplus = w.complete ? ours.filter(isSurplus) : [];
  const deletions = surplus.map((budget) => [{ verb: "DeleteBudget", budget } as const]);
  return { chains: [...perVmi, ...deletions].filter((chain) => chain.length > 0) };
}

/** Lifeboat's own Deployment may have one too. */
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

/** One that was changed by hand, or made by an earlier version. It is never deleted for that: the VM would have none meanwhile. */
function repaired(budget: BudgetFacts, vmi: VmiFacts): readonly Action[] {
  const isRight = budget.minAvailable === MIN_AVAILABLE && budget.owners.some((o) => isVmi(o) && o.uid === vmi.uid);
  return isRight ? [] : [{ verb: "RepairBudget", budget, vmi }];
}

/** By key. An Evacuation that is Blocked has no migration, and must not keep a VM that may be shut down. */
function movingVmis({ evacuations, migrations }: BudgetWorld): ReadonlySet<string> {
  const evacuating = evacuations.filter((e) => isActive(e) && e.status.phase !== "Blocked");
  return new Set([
    ...evacuating.map(({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName })),
    ...migrations.filter((m) => !isFinal(m)).map((m) => keyOf({ namespace: m.namespace, name: m.vmiName })),
  ]);
}
