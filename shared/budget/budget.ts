/**
 * Disruption budgets: which VMI has one. Upstream: KubeVirt's disruption budget controller as of 1.5, the last that created budgets; the
 * disruption controller, and the eviction handler of the API server.
 */
import type { Action, Plan } from "../kube/action.ts";
import { areBudgetsWanted } from "../settings/guarded.ts";
import {
  type BudgetFacts,
  isFinal,
  keyOf,
  type MigrationFacts,
  type OwnerReference,
  type VmiFacts,
} from "../kube/facts.ts";
import { CREATED_BY_LABEL, derivedName, hash8, NAME_PREFIX } from "../kube/names.ts";
import { type EvictionStrategy, resolveStrategy } from "../settings/strategy.ts";
import type { Moment } from "../settings/time.ts";
import type { Settings } from "../settings/settings.ts";

// prettier-ignore
export const BUDGET = {
  None:                  "never",
  LiveMigrate:           "always",
  LiveMigrateIfPossible: "whileMigratable",
  External:              "always",
} as const satisfies Record<EvictionStrategy, "never" | "always" | "whileMigratable">;

/**
 * Of every budget. A VM that migrates has two ready pods, and with 1 either of them could be evicted. With 2 none ever can, so that no size
 * has to change in time. An integer: a VMI has no `scale`, which percentages and `maxUnavailable` need.
 */
export const MIN_AVAILABLE = 2;

export interface BudgetWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  /** Of the VMIs under evacuation. */
  readonly migrations: readonly MigrationFacts[];
  /** Of these VMIs; where `complete`, every one that Lifeboat has made. */
  readonly budgets: readonly BudgetFacts[];
  /** Whether `vmis` are all there are: only then is a budget without its VMI seen to be surplus. */
  readonly complete: boolean;
}

/** The same for every function that makes it. */
export function budgetName(vmi: Pick<VmiFacts, "name" | "uid">): string {
  return derivedName(NAME_PREFIX, vmi.name, hash8(vmi.uid));
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

export function planBudgets(w: BudgetWorld): Plan {
  const ours = w.budgets.filter((b) => b.managedByUs && !b.deleting && isOfVmi(b));
  const vmis = areBudgetsWanted(w.settings) ? w.vmis : [];
  const byName = new Map(ours.map((b) => [keyOf(b), b]));
  const keyed = new Map(vmis.map((vmi) => [keyOf({ namespace: vmi.namespace, name: budgetName(vmi) }), vmi]));
  const perVmi = [...keyed].map(([key, vmi]) => budgetActions(vmi, byName.get(key), w));
  // Garbage collection does this too, unless the owner reference was removed.
  const surplus = w.complete ? ours.filter((b) => !keyed.has(keyOf(b))) : [];
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

/** One that was changed by hand, or made by an earlier version, is made anew. */
function budgetActions(vmi: VmiFacts, found: BudgetFacts | undefined, w: BudgetWorld): readonly Action[] {
  const isNeeded = needsBudget(vmi, isMigrating(vmi, w), w.settings);
  const isRight = found?.minAvailable === MIN_AVAILABLE && found.owners.some((o) => isVmi(o) && o.uid === vmi.uid);
  const removed: readonly Action[] =
    found === undefined || (isNeeded && isRight) ? [] : [{ verb: "DeleteBudget", budget: found }];
  return isNeeded && !isRight ? [...removed, { verb: "CreateBudget", vmi, missing: true }] : removed;
}

function isMigrating(vmi: VmiFacts, { migrations }: BudgetWorld): boolean {
  return (
    vmi.isMigrating || migrations.some((m) => !isFinal(m) && m.namespace === vmi.namespace && m.vmiName === vmi.name)
  );
}
