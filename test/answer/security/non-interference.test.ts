/**
 * One namespace cannot reach into another: whatever a tenant writes in theirs, what is decided about other tenants' VMs is
 * the same as without it.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import { planBudgets } from "../../../shared/budget/budget.ts";
import { planDisruptions } from "../../../shared/guard/disruption.ts";
import { planBeginnings, planEvacuations } from "../../../shared/evacuation/plan.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { planPressure } from "../../../shared/pressure/pressure.ts";
import { disrupted, disruptionWorld, guarded, MAINTENANCE, target } from "../../support/guard/disruptions.ts";
import {
  endedEvacuation,
  evacuation,
  budget,
  marked,
  migration,
  newborn,
  node,
  owner,
  time,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { asking, GIB, PRESSED, pressureWorld, vmOnNode } from "../../support/pressure/pressed.ts";
import { budgetWorld, world } from "../../support/worlds.ts";
import { anyBudget, anyMigration, anyPod, anyVmi } from "./arbitrary.ts";

const VICTIMS = "apps";

/** Of what it is about. */
function namespacesOf(action: Action): readonly unknown[] {
  const objects: readonly unknown[] = Object.values(action);
  return objects.flatMap((one) =>
    typeof one === "object" && one !== null && "namespace" in one ? [one.namespace] : [],
  );
}

function about(namespace: string, chains: readonly (readonly Action[])[]): readonly Action[] {
  return chains.filter((chain) => chain.some((action) => namespacesOf(action).includes(namespace))).flat();
}

const anyForgery = fc.record({
  vmis: fc.array(anyVmi, { minLength: 1, maxLength: 3 }),
  pods: fc.array(anyPod, { maxLength: 4 }),
  budgets: fc.array(anyBudget, { maxLength: 4 }),
  migrations: fc.array(anyMigration, { maxLength: 4 }),
});

type Forgery = typeof anyForgery extends fc.Arbitrary<infer T> ? T : never;

function always(holds: (forged: Forgery) => void): void {
  fc.assert(
    fc.property(anyForgery, (forged) => {
      holds(forged);
    }),
    { seed: 20_260_301, numRuns: 100 },
  );
}

/** It decides as if the forgery were not there. */
function isUnmoved(plan: (forged: Partial<Forgery>) => unknown): void {
  const expected = plan({});
  always((forged) => expect(plan(forged)).toEqual(expected));
}

/** A tenant cannot write Evacuations, but one that is about a VM of theirs may be under way. */
const THEIRS = evacuation({ namespace: "tenant", name: "theirs", uid: "theirs" });
const LATE = disrupted("NoExecuteTaint", -1);

/** Evacuations in every state that others could disturb. */
const VICTIM_STATES: readonly (readonly [string, VmiFacts, readonly EvacuationFacts[]])[] = [
  ["at rest", vmi(), []],
  ["marked by KubeVirt", marked(), []],
  ["about to be marked", vmi(), [newborn()]],
  ["left to KubeVirt", marked(), [evacuation({ createdAt: Date.parse(time(-1)) })]],
  ["to be migrated by Lifeboat", marked(), [evacuation()]],
  ["backing off", marked(), [evacuation({ status: { phase: "BackingOff", attempts: 1, nextAttemptTime: time(9) } })]],
  ["refused for a taint", marked(), [LATE]],
  ["cancelled", vmi(), [endedEvacuation("Withdrawn", { status: { nextAttemptTime: time(9) } })]],
  ["unmarked by a person", vmi(), [evacuation()]],
];

describe.each(VICTIM_STATES)("a VM that is %s", (_, victim, own) => {
  const evacuations = [...own, THEIRS];

  test.each([
    ["waiting", []],
    ["moving", [migration({ uid: "own" })]],
    ["failed", [migration({ uid: "own", phase: "Failed" })]],
  ])("is evacuated as if the forgery were not there: %s", (__, its) => {
    isUnmoved(({ vmis = [], migrations = [], budgets = [], pods = [] }) => {
      const around = { migrations: [...its, ...migrations], budgets: [budget(), ...budgets], pods };
      const given = world({ vmis: [victim, ...vmis], evacuations, ...around });
      return about(VICTIMS, [...planEvacuations(given).chains, ...planBeginnings(given).chains]);
    });
  });

  test.each([
    ["its budget", budget()],
    ["another's", budget({ name: "theirs", uid: "theirs", managedByUs: false, owners: [] })],
    ["an orphan of ours", budget({ uid: "orphan", owners: [owner({ uid: "gone" })] })],
  ])("keeps its budgets as if the forgery were not there: %s", (__, its) => {
    isUnmoved(({ vmis = [], budgets = [], migrations = [] }) => {
      const given = { vmis: [victim, ...vmis], budgets: [its, ...budgets], migrations, evacuations };
      return about(VICTIMS, planBudgets(budgetWorld(given)).chains);
    });
  });

  test("is ended at its deadline, or not, as if the forgery were not there", () => {
    const nodes = [node({ taints: [MAINTENANCE] })];
    isUnmoved(({ vmis = [], pods = [] }) => {
      const given = { vmis: [victim, ...vmis], pods: [target("NoExecuteTaint", -300), ...pods], nodes, evacuations };
      return about(VICTIMS, planDisruptions(disruptionWorld(given)).chains);
    });
  });
});

function isMoved(strategy: string | undefined): boolean {
  return strategy === "LiveMigrate" || strategy === "LiveMigrateIfPossible";
}

test("VMs leave a node under pressure as if the forgery were not there, but for who goes first", () => {
  const victims = ["a", "b", "c"].map((name) => vmOnNode(name));
  const plan = (forged: Partial<Forgery>) => {
    const theirs = (forged.pods ?? []).flatMap((one) =>
      (forged.vmis ?? []).map((of) => ({ vmi: of, pod: { ...one, ...asking(GIB) } })),
    );
    // What may move competes with the others for the places of the node; what may not must not take any.
    const staying = theirs.filter(({ vmi: { evictionStrategy } }) => !isMoved(evictionStrategy));
    const pressured = [{ node: PRESSED, vmsOnNode: [...victims, ...staying], evacuations: [THEIRS] }];
    return about(VICTIMS, planPressure(pressureWorld([], { pressured })).chains);
  };
  expect(plan({})).not.toEqual([]);
  isUnmoved(plan);
});

describe("in their own namespace", () => {
  test("no annotation or label moves, ends or shuts down a VM that is not marked", () => {
    always(({ vmis, pods, budgets, migrations }) => {
      const fakes = pods.map((pod) => without(pod, "disruptionTarget"));
      const nodes = [node({ taints: [MAINTENANCE] })];
      const around = { vmis, pods: fakes, nodes, settings: guarded() };
      const actions = [
        ...planEvacuations(world({ ...around, budgets, migrations })).chains,
        ...planDisruptions(disruptionWorld(around)).chains,
      ].flat();
      expect(actions).toEqual([]);
    });
  });
});
