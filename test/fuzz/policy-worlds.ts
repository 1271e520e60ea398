/**
 * What a pass finds in a cluster, and what it finds on nodes under pressure.
 * Owns: generating these worlds. Does not own: the objects in them (policy-facts.ts, policy-fitting.ts).
 */
import * as fc from "fast-check";
import type { BudgetWorld } from "../../shared/policy/budget/budget.ts";
import type { AnnotationWorld } from "../../shared/policy/annotations/descheduler-annotations.ts";
import type { DisruptionWorld } from "../../shared/policy/guard/disruption.ts";
import type { EvacuationWorld } from "../../shared/policy/evacuation/world.ts";
import type { PressureWorld } from "../../shared/policy/pressure/pressure.ts";
import { FEATURE_GATES } from "../../shared/policy/settings.ts";
import { mostly } from "../mostly.ts";
import { budget } from "./policy-budgets.ts";
import * as any from "./policy-facts.ts";
import { evacuation } from "./policy-evacuations.ts";
import { budgetOf, evacuationOf, launcherFactsOf, migrationOf, type Resident, resident } from "./policy-fitting.ts";
import { settings } from "./policy-settings.ts";
import { NOON, now } from "./policy-words.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & AnnotationWorld;

const list = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 4 });

const queue = fc.record({ running: fc.nat(6), leaving: fc.nat(3) });
const circumstances = {
  queues: fc.array(fc.tuple(fc.constantFrom("node01", "node02"), queue)).map((entries) => new Map(entries)),
  vmisAreNewer: fc.boolean(),
  settings,
  now,
  complete: fc.boolean(),
};

const anyWorld: fc.Arbitrary<World> = fc.record({
  ...circumstances,
  vmis: list(any.vmi),
  evacuations: list(evacuation),
  migrations: list(any.migration),
  budgets: list(budget),
  pods: list(any.pod),
  launchers: list(any.launcher),
  nodes: list(any.node),
});

/** Of each VM what belongs to it. */
function worldOf(residents: readonly Resident[]): fc.Arbitrary<World> {
  const vmis = residents.map(({ vmi }) => vmi);
  const ofEach = vmis.map((vmi) => fc.array(evacuationOf(vmi), { maxLength: 2 }));
  return fc.record({
    ...circumstances,
    vmis: fc.constant(vmis),
    evacuations: fc.tuple(...ofEach).map((found) => found.flat()),
    migrations: fc.oneof(fc.constant([]), fc.tuple(...vmis.map(migrationOf))),
    budgets: fc.tuple(...vmis.map(budgetOf)),
    pods: fc.constant(residents.map(({ pod }) => pod)),
    launchers: fc.tuple(...residents.map(({ vmi, pod }) => launcherFactsOf(pod, vmi))),
    nodes: fc.tuple(any.node, any.node).map((both) => both.map((node, i) => ({ ...node, name: `node0${i + 1}` }))),
  });
}

const fittingWorld = fc.array(resident, { minLength: 1, maxLength: 4 }).chain(worldOf);
export const world = mostly(fittingWorld, anyWorld);

/** Its nodes drive away what does not tolerate it, held until noon at the longest, and every gate is on. */
export const disruptedWorld = mostly(
  fittingWorld.map((found): World => {
    const taints = [{ key: "dedicated", effect: "NoExecute" }];
    const nodes = found.nodes.map((node) => ({ ...node, ready: true, taints }));
    const overdue = { cause: "NoExecuteTaint", deadline: NOON.toISOString() } as const;
    const evacuations = found.evacuations.map((one) => ({ ...one, spec: { ...one.spec, ...overdue } }));
    return { ...found, nodes, evacuations, settings: { ...found.settings, featureGates: [...FEATURE_GATES] } };
  }),
  anyWorld,
);

const anyPressure: fc.Arbitrary<PressureWorld> = fc.record({
  pressured: list(
    fc.record({
      node: any.node,
      residents: list(fc.record({ vmi: any.vmi, pod: any.pod })),
      evacuations: list(evacuation),
    }),
  ),
  takers: list(fc.record({ node: any.node, freeMemory: fc.double({ noNaN: true, noDefaultInfinity: true }) })),
  signals: list(
    fc.record({
      vmi: any.vmi,
      pod: fc.record({ name: fc.string(), uid: fc.constantFrom("uid-1", "uid-2") }),
      domain: fc.record({
        status: fc.constantFrom("Running", "Paused", "Shutoff", "", "x"),
        gracefulShutdown: fc.boolean(),
      }),
      by: fc.string(),
    }),
  ),
  evacuations: list(evacuation),
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
      pressured: [{ node: { ...node, name: "node01", pressures: ["MemoryPressure"] }, residents, evacuations: [] }],
      takers: [...found.takers, room],
      signals: ending.map(({ vmi, pod }) => {
        return { vmi, pod, domain: { status: "Running", gracefulShutdown: true }, by: "kubelet" };
      }),
      settings: { ...found.settings, featureGates: [...FEATURE_GATES] },
    };
  });

export const pressureWorld = mostly(fittingPressure, anyPressure);
