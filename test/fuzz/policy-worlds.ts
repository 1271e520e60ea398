/**
 * What a pass finds in a cluster, and what it finds on nodes under pressure.
 * Owns: generating these worlds. Does not own: the objects in them (policy-facts.ts, policy-fitting.ts).
 */
import * as fc from "fast-check";
import type { BudgetWorld } from "../../shared/policy/budget.ts";
import type { AnnotationWorld } from "../../shared/policy/descheduler-annotations.ts";
import type { DisruptionWorld } from "../../shared/policy/disruption.ts";
import type { EvacuationWorld } from "../../shared/policy/evacuation.ts";
import type { PressureWorld } from "../../shared/policy/pressure.ts";
import { FEATURE_GATES } from "../../shared/policy/settings.ts";
import { mostly } from "../mostly.ts";
import { budget } from "./policy-budgets.ts";
import * as any from "./policy-facts.ts";
import { budgetOf, launcherFactsOf, migrationOf, type Resident, resident, slotsOf } from "./policy-fitting.ts";
import { counters, slot } from "./policy-records.ts";
import { settings } from "./policy-settings.ts";
import { facts, now } from "./policy-words.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & AnnotationWorld;

const list = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 4 });

const circumstances = {
  counters,
  tainted: fc.subarray(["node01", "node02"]).map((names) => new Set(names)),
  untainted: fc.subarray(["uid-1", "uid-2"]).map((uids) => new Set(uids)),
  settings,
  now,
  complete: fc.boolean(),
};
const register = facts({ slots: list(slot) }, { resourceVersion: fc.string() });

const anyWorld: fc.Arbitrary<World> = fc.record({
  ...circumstances,
  register,
  vmis: list(any.vmi),
  migrations: list(any.migration),
  budgets: list(budget),
  pods: list(any.pod),
  launchers: list(any.launcher),
  nodes: list(any.node),
  activePods: fc
    .dictionary(fc.constantFrom("uid-1", "uid-2"), fc.nat(3))
    .map((counts) => new Map(Object.entries(counts))),
});

/** Of each VM what belongs to it. What is reserved is still to be created, or not. */
function worldOf(residents: readonly Resident[]): fc.Arbitrary<World> {
  const vmis = residents.map(({ vmi }) => vmi);
  return fc.record({
    ...circumstances,
    register: fc.tuple(register, fc.subarray([...slotsOf(vmis)])).map(([found, slots]) => ({ ...found, slots })),
    vmis: fc.constant(vmis),
    migrations: fc.oneof(fc.constant([]), fc.tuple(...vmis.map(migrationOf))),
    budgets: fc.tuple(...vmis.map(budgetOf)),
    pods: fc.constant(residents.map(({ pod }) => pod)),
    launchers: fc.tuple(...residents.map(({ vmi, pod }) => launcherFactsOf(pod, vmi))),
    nodes: fc.tuple(any.node, any.node).map((both) => both.map((node, i) => ({ ...node, name: `node0${i + 1}` }))),
    activePods: fc.constant(new Map(vmis.map(({ uid }) => [uid, 1]))),
  });
}

const fittingWorld = fc.array(resident, { minLength: 1, maxLength: 4 }).chain(worldOf);
export const world = mostly(fittingWorld, anyWorld);

/** Its nodes drive away what does not tolerate it, and every gate is on. */
export const disruptedWorld = mostly(
  fittingWorld.map((found): World => {
    const taints = [{ key: "dedicated", effect: "NoExecute" }];
    const nodes = found.nodes.map((node) => ({ ...node, ready: true, taints }));
    return { ...found, nodes, settings: { ...found.settings, featureGates: [...FEATURE_GATES] } };
  }),
  anyWorld,
);

const anyPressure: fc.Arbitrary<PressureWorld> = fc.record({
  pressured: list(
    fc.record({
      node: any.node,
      residents: list(fc.record({ vmi: any.vmi, pod: any.pod })),
      departing: fc.nat(3),
    }),
  ),
  takers: list(fc.record({ node: any.node, freeMemory: fc.double({ noNaN: true, noDefaultInfinity: true }) })),
  signals: list(
    fc.record({
      vmi: any.vmi,
      podUID: fc.constantFrom("uid-1", "uid-2"),
      domain: fc.record({
        status: fc.constantFrom("Running", "Paused", "Shutoff", "", "x"),
        gracefulShutdown: fc.boolean(),
      }),
      by: fc.string(),
    }),
  ),
  settings,
  now,
});

/** A node under memory pressure, others with room, and guests of it that are being ended. */
const fittingPressure: fc.Arbitrary<PressureWorld> = fc
  .tuple(anyPressure, fc.array(resident, { maxLength: 4 }), fc.array(resident, { maxLength: 2 }), any.node)
  .map(([found, residents, ending, node]) => {
    const calm = { ready: true, unschedulable: false, taints: [], pressures: [] };
    const room = { node: { ...node, ...calm, name: "node03" }, freeMemory: 2 ** 40 };
    return {
      ...found,
      pressured: [{ node: { ...node, name: "node01", pressures: ["MemoryPressure"] }, residents }],
      takers: [...found.takers, room],
      signals: ending.map(({ vmi, pod }) => {
        return { vmi, podUID: pod.uid, domain: { status: "Running", gracefulShutdown: true }, by: "kubelet" };
      }),
      settings: { ...found.settings, featureGates: [...FEATURE_GATES] },
    };
  });

export const pressureWorld = mostly(fittingPressure, anyPressure);
