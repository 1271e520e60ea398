/**
 * Descheduling cycles over a simulated cluster, interleaved, stalled and left for dead anywhere, while evacuations begin and
 * end and time passes.
 * Owns: what can happen, in random order. Does not own: what must be true meanwhile (the tests).
 */
import * as fc from "fast-check";
import { runCycle, type CycleReport } from "../../../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulingLimits, EnabledPlugin } from "../../../../shared/descheduling/cycle/policy.ts";
import type { DeschedulerPod } from "../../../../shared/descheduling/plugins/facts.ts";
import type { Step, StepResult } from "../../../../shared/descheduling/cycle/step.ts";
import { keyOf } from "../../../../shared/policy/facts.ts";
import { NOW, settings } from "../../../policy/fixtures.ts";
import { node } from "../../fixtures.ts";
import { plainPod, policy, scripted, vmiOf, vmPod } from "../../worlds.ts";
import { SimulatedPods } from "./cluster.ts";

export const TTL_SECONDS = 600;
const NODES = ["node01", "node02", "node03"];
const NAMESPACES = ["apps", "shop"];

export type Event =
  /** A cycle begins: it nominates the pods in this order. */
  | { readonly does: "begin"; readonly order: readonly number[]; readonly claimed: boolean }
  /** One of the cycles hears the answer to its last step, and makes the next. */
  | { readonly does: "step"; readonly cycle: number; readonly times: number }
  | { readonly does: "confirm" | "finish" | "cancel"; readonly pod: number }
  | { readonly does: "wait"; readonly seconds: number };

export interface Story {
  readonly pods: readonly { readonly node: number; readonly namespace: number; readonly isVm: boolean }[];
  readonly limits: DeschedulingLimits;
  readonly events: readonly Event[];
  /** Instead of one that nominates as each cycle is told. */
  readonly plugins?: readonly EnabledPlugin[];
}

const limit = fc.integer({ min: 0, max: 3 });

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("begin" as const),
      order: fc.array(fc.nat(11), { maxLength: 8 }),
      claimed: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant("step" as const),
      cycle: fc.nat(3),
      times: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom("confirm" as const, "finish" as const, "cancel" as const),
      pod: fc.nat(11),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 900 }) }),
  },
);

export const stories: fc.Arbitrary<Story> = fc.record({
  pods: fc.array(fc.record({ node: fc.nat(2), namespace: fc.nat(1), isVm: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  }),
  limits: fc.record(
    {
      evictionsTotal: limit,
      evictionsPerNode: limit,
      evictionsPerNamespace: limit,
      evacuationsPerNode: limit,
      evacuationsPerNamespace: limit,
    },
    { requiredKeys: [] },
  ),
  events: fc.array(event, { minLength: 5, maxLength: 60 }),
});

function podOf({ node, namespace, isVm }: Story["pods"][number], index: number): DeschedulerPod {
  const place = { nodeName: NODES[node] ?? "", namespace: NAMESPACES[namespace] ?? "" };
  return (isVm ? vmPod : plainPod)(`p${index}`, place);
}

const NOTHING_YET: StepResult = { step: "Read", now: NOW };

interface Cycle {
  readonly steps: Generator<Step | undefined, CycleReport, StepResult>;
  answer: StepResult;
  report?: CycleReport;
}

/** Reads as a cycle does, register first, and may be interrupted between the two. */
function* cycleOver(
  cluster: SimulatedPods,
  story: Story,
  { order, claimed }: Extract<Event, { does: "begin" }>,
): Generator<Step | undefined, CycleReport, StepResult> {
  const { register } = cluster;
  yield undefined;
  const pods = [...cluster.pods.values()];
  yield undefined;
  const names = order.map((index) => `p${index}`);
  const { now } = cluster;
  return yield* runCycle({
    policy: policy(story.plugins ?? [scripted(names, pods)], { limits: story.limits, requestTtlSeconds: TTL_SECONDS }),
    nodes: NODES.map((name) => node(name)),
    pods,
    vmis: new Map(pods.map((pod) => vmiOf(pod)).map((vmi) => [keyOf(vmi), vmi])),
    namespaces: new Map(),
    budgets: new Map(),
    storageClasses: new Map(),
    priorityClasses: new Map(),
    register,
    settings: settings(),
    inBackground: true,
    claimed,
    until: new Date(now.getTime() + 200_000),
    now,
  });
}

function advance(cycle: Cycle, cluster: SimulatedPods): void {
  if (cycle.report !== undefined) return;
  // Whoever stalls hears late: the request was made in time, its answer is heard now.
  const next = cycle.steps.next({ ...cycle.answer, now: cluster.now });
  if (next.done === true) cycle.report = next.value;
  else if (next.value !== undefined) cycle.answer = cluster.perform(next.value);
}

export interface Told {
  readonly cluster: SimulatedPods;
  readonly reports: readonly CycleReport[];
}

export function tellStory(story: Story, check: (cluster: SimulatedPods) => void): Told {
  const cluster = new SimulatedPods(story.pods.map(podOf), NOW);
  const cycles: Cycle[] = [];
  for (const happening of story.events) {
    happen(happening, { cluster, cycles, story, check });
    check(cluster);
  }
  return { cluster, reports: cycles.flatMap(({ report }) => report ?? []) };
}

interface Scene {
  readonly cluster: SimulatedPods;
  readonly cycles: Cycle[];
  readonly story: Story;
  readonly check: (cluster: SimulatedPods) => void;
}

function happen(event: Event, { cluster, cycles, story, check }: Scene): void {
  switch (event.does) {
    case "begin":
      cycles.push({ steps: cycleOver(cluster, story, event), answer: NOTHING_YET });
      return;
    case "step": {
      const cycle = cycles[event.cycle % Math.max(cycles.length, 1)];
      if (cycle === undefined) return;
      for (let i = 0; i < event.times; i++) {
        advance(cycle, cluster);
        check(cluster);
      }
      return;
    }
    case "wait":
      // KubeVirt says within seconds what it does.
      for (const uid of cluster.evacuating) cluster.confirm(uid);
      cluster.now = new Date(cluster.now.getTime() + event.seconds * 1000);
      return;
    case "confirm":
    case "finish":
    case "cancel":
      cluster[event.does](`pod-p${event.pod}`);
  }
}
