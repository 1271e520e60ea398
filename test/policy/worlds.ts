/**
 * Worlds for the planners: everything that a pass has observed, minimal plus one tweak.
 * Owns: assembling facts. Does not own: the facts (fixtures.ts), nor worlds that change (simulation/).
 */
import type { Action } from "../../shared/policy/action.ts";
import { type BudgetWorld, planBudgets } from "../../shared/policy/budget.ts";
import { type EvacuationWorld, planEvacuations } from "../../shared/policy/evacuation.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import { type Slot, slotFor } from "../../shared/policy/slots.ts";
import { budget, grownBudget, marked, NOW, owner, record, settings } from "./fixtures.ts";

/** Nothing but the given; every VMI has one active pod; nobody waits for KubeVirt's own migrations. */
export function world(tweak: Partial<EvacuationWorld> = {}): EvacuationWorld {
  const vmis = tweak.vmis ?? [];
  return {
    vmis,
    migrations: [],
    budgets: vmis.map((v) => grownFor(v)),
    tainted: new Set(),
    untainted: new Set(),
    register: { resourceVersion: "1", slots: [] },
    counters: "Off",
    activePods: new Map(vmis.map((v) => [v.uid, 1])),
    launchers: [],
    settings: settings(),
    now: NOW,
    ...tweak,
  };
}

export function budgetWorld(tweak: Partial<BudgetWorld> = {}): BudgetWorld {
  const plain = { tainted: new Set<string>(), settings: settings(), now: NOW, complete: true };
  return { vmis: [], migrations: [], budgets: [], ...plain, ...tweak };
}

/** A marked VM called so, on the node, whose budget is grown. */
export function markedCalled(name: string, node = "node01", ofRecord: Partial<EvacuationRecord> = {}): VmiFacts {
  const tweak = { name, uid: `uid-${name}`, nodeName: node, evacuationNodeName: node, activePods: { [name]: node } };
  return { ...marked(tweak), record: record({ node, ...ofRecord }) };
}

export function grownFor(v: VmiFacts) {
  const selector = { matchLabels: { "kubevirt.io/created-by": v.uid }, matchExpressions: [] };
  return grownBudget({
    namespace: v.namespace,
    uid: `budget-${v.uid}`,
    owners: [owner({ name: v.name, uid: v.uid, controller: false })],
    selector,
  });
}

export function smallFor(v: VmiFacts) {
  return budget({ uid: `budget-${v.uid}`, owners: [owner({ name: v.name, uid: v.uid, controller: false })] });
}

export function slotOf(v: VmiFacts): Slot {
  if (v.record === undefined) throw new Error(`${v.name} has no record`);
  return slotFor({ vmi: v, record: v.record });
}

export function plannedBudgets(tweak: Partial<BudgetWorld>): readonly Action[] {
  return planBudgets(budgetWorld(tweak)).chains.flat();
}

export function plannedEvacuations(tweak: Partial<EvacuationWorld>): readonly Action[] {
  return planEvacuations(world(tweak)).chains.flat();
}
