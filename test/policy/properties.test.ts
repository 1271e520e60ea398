/**
 * What holds for any facts at all, likely or not: no contradictions, nothing twice, no way round the rules. How often there
 * was anything that could have been wrong is counted: a rule about migrations says nothing if none is created.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "../../shared/policy/action.ts";
import { isReadyForMigration, planBudgets } from "../../shared/policy/budget.ts";
import { planEvacuations } from "../../shared/policy/evacuation.ts";
import { isFinal, keyOf } from "../../shared/policy/facts.ts";
import { decideEviction } from "../../shared/policy/eviction.ts";
import { anyCluster, clusterOf } from "./simulation/any-cluster.ts";
import { reckon } from "./simulation/control-plane.ts";
import type { SimulatedCluster } from "./simulation/cluster.ts";
import { evict, launcherOf } from "./simulation/kubevirt.ts";
import { look } from "./simulation/observe.ts";
import { passAtOnce } from "./simulation/pass.ts";
import { only } from "./fixtures.ts";

/** Without a bias towards what is small: a cluster of one VM reaches no limit. */
function always(holds: (cluster: SimulatedCluster) => void): void {
  fc.assert(
    fc.property(fc.noBias(anyCluster), (facts) => holds(clusterOf(facts))),
    { seed: 20_260_301, numRuns: 600 },
  );
}

function planned(cluster: SimulatedCluster): readonly Action[] {
  const world = look(cluster);
  return [...planBudgets(world).chains, ...planEvacuations(world).chains].flat();
}

function expectUnique(keys: readonly string[]): void {
  expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted());
}

const ON_VMI: readonly Action["verb"][] = ["Mark", "Record", "Unmark", "Forget"];

describe("a plan", () => {
  test("does one thing to a VM, a migration, a budget and the register", () => {
    always((cluster) => {
      const actions = planned(cluster);
      expectUnique(actions.flatMap((a) => ("vmi" in a && ON_VMI.includes(a.verb) ? [keyOf(a.vmi)] : [])));
      expectUnique(actions.flatMap((a) => ("migration" in a ? [keyOf(a.migration)] : [])));
      expectUnique(actions.flatMap((a) => ("budget" in a ? [keyOf(a.budget)] : [])));
      expectUnique(only("CreateBudget", actions).map((a) => keyOf({ namespace: a.vmi.namespace, name: a.name })));
      expect(only("WriteSlots", actions).length).toBeLessThanOrEqual(1);
    });
  });

  test("creates no migration for a VM about which it does anything else", () => {
    let beside = 0;
    always((cluster) => {
      const actions = planned(cluster);
      const created = only("CreateMigration", actions).map(({ slot }) => `${slot.namespace}/${slot.vmi}`);
      expectUnique(created);
      const touched = actions.flatMap((a) => ("vmi" in a && ON_VMI.includes(a.verb) ? [keyOf(a.vmi)] : []));
      expect(created.filter((key) => touched.includes(key))).toEqual([]);
      if (created.length > 0 && touched.length > 0) beside += 1;
    });
    expect(beside).toBeGreaterThan(10);
  });

  test("creates a migration only of a reserved name, with the VM's budget seen at 2 and one active pod", () => {
    let created = 0;
    always((cluster) => {
      for (const { slot } of only("CreateMigration", planned(cluster))) {
        const vmi = cluster.vmis.get(keyOf({ namespace: slot.namespace, name: slot.vmi }));
        expect(cluster.register.slots).toContainEqual(slot);
        expect(vmi && isReadyForMigration(vmi, [...cluster.budgets.values()], cluster.settings)).toBe(true);
        expect(cluster.pods.active().get(slot.vmiUID)).toBe(1);
        expect(vmi).toMatchObject({ nodeName: slot.node, liveMigratable: { migratable: true }, deleting: false });
        created += 1;
      }
    });
    expect(created).toBeGreaterThan(50);
  });

  test("grants no slot beyond the limits", () => {
    const seen = { granted: 0, most: 0, perNode: 0 };
    always((cluster) => {
      const { parallelMigrationsPerCluster: most, parallelOutboundMigrationsPerNode: perNode } =
        cluster.settings.limits;
      for (const { slots } of only("WriteSlots", planned(cluster))) {
        const unfinished = cluster.unfinished().map((m) => [keyOf(m), m.sourceNode] as const);
        const nodes = new Map([...slots.map((slot) => [keyOf(slot), slot.node] as const), ...unfinished]);
        const granted = slots.filter((slot) => !cluster.register.slots.some((old) => keyOf(old) === keyOf(slot)));
        expectUnique(slots.map(keyOf));
        if (granted.length > 0) expect(nodes.size).toBeLessThanOrEqual(most);
        for (const { node } of granted) {
          const leaving = [...nodes.values()].filter((name) => name === node).length;
          expect(leaving).toBeLessThanOrEqual(perNode);
          seen.granted += 1;
          if (nodes.size === most) seen.most += 1;
          if (leaving === perNode && nodes.size < most) seen.perNode += 1;
        }
      }
    });
    expect(seen.granted).toBeGreaterThan(50);
    expect(seen.most).toBeGreaterThan(20);
    expect(seen.perNode).toBeGreaterThan(20);
  });

  test("touches no budget and no finished migration of others", () => {
    let spared = 0;
    always((cluster) => {
      const actions = planned(cluster);
      const budgets = [...only("ResizeBudget", actions), ...only("DeleteBudget", actions)].map((a) => a.budget);
      expect(budgets.filter((b) => !b.managedByUs)).toEqual([]);
      expect(only("DeleteMigration", actions).filter(({ migration }) => isFinal(migration))).toEqual([]);
      if (budgets.length > 0) spared += [...cluster.budgets.values()].filter((b) => !b.managedByUs).length;
    });
    expect(spared).toBeGreaterThan(100);
  });

  test("comes to an end by itself: passes without a change in the cluster find nothing left to do", () => {
    always((cluster) => {
      for (let i = 0; i < 12; i++) {
        passAtOnce(cluster);
        reckon(cluster);
      }
      expect(planned(cluster).filter((action) => action.verb !== "Event")).toEqual([]);
    });
  });
});

function unversioned(objects: Iterable<object>): readonly object[] {
  return [...objects].map((one) => ({ ...one, resourceVersion: "" }));
}

/** Everything but versions, which tell how often something was written. */
function stateOf({ vmis, migrations, budgets, register, counters, pods }: SimulatedCluster): unknown {
  const all = [vmis, migrations, budgets].map((objects) => unversioned(objects.values()));
  return [...all, register.slots, counters.evacuations, counters.counted, pods.all()];
}

/** What these plans are made of. */
const PLANNED = [
  "Record",
  "Unmark",
  "Forget",
  "AdoptMigration",
  "CreateMigration",
  "DeleteMigration",
  "CreateBudget",
  "ResizeBudget",
  "DeleteBudget",
  "WriteSlots",
  "WriteCounters",
] as const satisfies readonly Action["verb"][];

describe("an action", () => {
  test("done a second time changes nothing more", () => {
    const repeated = new Map<string, number>();
    always((cluster) => {
      for (const action of planned(cluster)) {
        cluster.act(action);
        const once = structuredClone(stateOf(cluster));
        cluster.act(action);
        expect(stateOf(cluster)).toEqual(once);
        repeated.set(action.verb, (repeated.get(action.verb) ?? 0) + 1);
      }
    });
    for (const verb of PLANNED) expect(repeated.get(verb), verb).toBeGreaterThan(3);
  });
});

const isMarking = ({ actions }: { readonly actions: readonly Action[] }) => actions.some(({ verb }) => verb === "Mark");

describe("an eviction", () => {
  test("that marks finds the mark when it is asked for again", () => {
    const seen = { marked: 0, refused: 0 };
    always((cluster) => {
      for (const { namespace, name } of cluster.vmis.values()) {
        const again = () => cluster.vmis.get(keyOf({ namespace, name }));
        const [before] = [again()].flatMap((vmi) => (vmi ? [evict(cluster, vmi)] : []));
        if (before === undefined || before === "Conflict" || before.verdict !== "Deny") continue;
        const [after] = [again()].flatMap((vmi) => (vmi ? [evict(cluster, vmi)] : []));
        expect(after).not.toBe("Conflict");
        if (before.reason === "EvacuationTriggered") expect(after).not.toSatisfy(isMarking);
        const marks = isMarking(before);
        if (!marks) expect(after).toEqual(before);
        seen[marks ? "marked" : "refused"] += 1;
      }
    });
    expect(seen.marked).toBeGreaterThan(50);
    expect(seen.refused).toBeGreaterThan(50);
  });

  test("marks for the node only that the VM is on", () => {
    let marked = 0;
    always((cluster) => {
      for (const vmi of cluster.vmis.values()) {
        const request = { username: "admin", cause: "ApiEviction" } as const;
        const { now, settings } = cluster;
        const decision = decideEviction({ pod: launcherOf(cluster, vmi), vmi, request, settings, now });
        const marks = decision.verdict === "Ask" ? [] : only("Mark", decision.actions);
        for (const mark of marks) expect(mark.record.node).toBe(vmi.nodeName);
        marked += marks.length;
      }
    });
    expect(marked).toBeGreaterThan(50);
  });
});
