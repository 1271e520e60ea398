/** Any small cluster that a plugin may find, and whatever it may be told. */
import * as fc from "fast-check";
import type { Placement } from "../../shared/kube/placement.ts";
import type { ScheduledNode, ScheduledPod } from "../../shared/kube/scheduled-pod.ts";
import type { Nominations, PluginWorld, Verdict } from "../../shared/descheduling/plugins/plugin.ts";
import { NOW, owner } from "../policy/fixtures.ts";
import { ANYWHERE, node, type Outcome, pod, requirement, taint, term, UNEVICTABLE, world } from "./fixtures.ts";

export interface AnyCluster {
  readonly nodes: readonly ScheduledNode[];
  readonly pods: readonly ScheduledPod[];
  /** Names of pods. */
  readonly inProgress: string[];
  readonly nodeFit: boolean;
  readonly verdicts: readonly Verdict[];
}

const likesA = term(requirement("zone", "In", "a"));
const placements: readonly Placement[] = [
  ANYWHERE,
  ANYWHERE,
  { ...ANYWHERE, required: [likesA] },
  { ...ANYWHERE, preferred: [{ weight: 1, preference: likesA }] },
  { nodeSelector: { zone: "b" }, required: [term(requirement("zone", "Exists"))], preferred: [] },
];

const anyNode = fc.record({
  unschedulable: fc.constantFrom(false, false, false, true),
  taints: fc.constantFrom([], [], [], [taint("t")], [taint("t"), taint("soft", { effect: "PreferNoSchedule" })]),
  labels: fc.constantFrom({}, { zone: "a" }, { zone: "b" }),
  allocatable: fc.record({ cpu: fc.constantFrom(1000, 2000), memory: fc.constant(3000), pods: fc.constantFrom(8, 20) }),
});

const anyPod = fc.record({
  // Most pods are where most pods are.
  nodeIndex: fc.constantFrom(0, 0, 0, 0, 0, 1, 1, 1, 2, 3),
  namespace: fc.constantFrom("default", "other"),
  deleting: fc.constantFrom(...Array<boolean>(9).fill(false), true),
  phase: fc.constantFrom(...Array<string>(9).fill("Running"), "Succeeded"),
  owners: fc.constantFrom(...Array.from({ length: 8 }, () => [owner()]), UNEVICTABLE.daemonSet.owners, []),
  annotations: fc.constantFrom({}, {}, { "descheduler.alpha.kubernetes.io/prefer-no-eviction": "" }),
  tolerations: fc.constantFrom([], [], [], [{ operator: "Exists" }], [{ key: "t", operator: "Exists" }]),
  priority: fc.constantFrom(undefined, undefined, 0, 1000, 1000, 2_000_000_000),
  qosClass: fc.constantFrom("BestEffort" as const, "Burstable" as const, "Guaranteed" as const),
  requests: fc.record({ cpu: fc.constantFrom(0, 100, 300), memory: fc.constantFrom(0, 100, 400) }),
  placement: fc.constantFrom(...placements),
  age: fc.nat(2000),
});

const anyVerdict = fc.constantFrom<Verdict>(
  ...Array(9).fill("Accepted"),
  "Skipped",
  "Skipped",
  "NodeLimit",
  "TotalLimit",
);

export const anyCluster: fc.Arbitrary<AnyCluster> = fc
  .record({
    nodes: fc.array(anyNode, { minLength: 2, maxLength: 4 }),
    pods: fc.array(anyPod, { minLength: 8, maxLength: 24 }),
    inProgress: fc.array(fc.nat(23), { minLength: 2, maxLength: 8 }),
    nodeFit: fc.boolean(),
    verdicts: fc.array(anyVerdict, { minLength: 1, maxLength: 9 }),
  })
  .map(({ nodes, pods, inProgress, ...rest }) => ({
    ...rest,
    nodes: nodes.map((tweak, i) => node(`n${i}`, tweak)),
    pods: pods.map(({ nodeIndex, age, priority, ...tweak }, i) => {
      const place = { nodeName: `n${nodeIndex % nodes.length}`, createdAt: NOW.getTime() - age * 1000 };
      return pod(`p${i}`, { ...tweak, ...place, ...(priority === undefined ? {} : { priority }) });
    }),
    inProgress: inProgress.map((i) => `p${i}`),
  }));

export function always(holds: (cluster: AnyCluster) => void): void {
  fc.assert(fc.property(anyCluster, holds), { seed: 20_260_301, numRuns: 500 });
}

export function seenOf({ nodes, pods, nodeFit, inProgress }: AnyCluster): PluginWorld {
  return world({ nodes, pods }, { nodeFit }, inProgress);
}

/** Verdict after verdict, over and over; `each` sees them before the plugin does. */
export function run(
  nominations: Nominations,
  verdicts: readonly Verdict[],
  each: (outcome: Outcome) => void = () => {},
): readonly Outcome[] {
  const outcomes: Outcome[] = [];
  for (let next = nominations.next(); !next.done;) {
    const verdict = verdicts[outcomes.length % verdicts.length] ?? "Accepted";
    const outcome = { nomination: next.value, verdict };
    each(outcome);
    outcomes.push(outcome);
    next = nominations.next(verdict);
  }
  return outcomes;
}
