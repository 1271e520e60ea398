/**
 * Random stories: what happens in a simulated cluster, step by step, in any order.
 * Owns: generating and telling them. Does not own: what each step does (happenings.ts), what must be true meanwhile and at
 * the end (simulation.test.ts).
 */
import * as fc from "fast-check";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { NOW, settings, vmi } from "../fixtures.ts";
import { addKubeVirts } from "./budgets.ts";
import { SimulatedCluster } from "./cluster.ts";
import { Cast } from "./cast.ts";
import { happen } from "./happenings.ts";
import type { PassOptions } from "./pass.ts";
import type { Fault } from "./requests.ts";

/** To one of all VMs, functions or requests, by its place among them. */
type Of<D extends string> = D extends string ? { readonly does: D; readonly which: number } : never;

/** How a pass goes that begins. */
export type Begins = Pick<PassOptions, "scope" | "turns">;

/** The next steps, one if nothing is told, of one of the functions, or of one of the requests under way. */
export type Advance = Of<"function" | "answer"> & {
  readonly times?: number;
  readonly fault?: Fault;
  readonly begins?: Begins;
};

/** A request that is answered in steps: `preempt` and `expel pod` are deletions by those who do not ask. */
export type Ask = Of<"ask to evict" | "ask to deschedule" | "ask to cancel" | "preempt" | "expel pod">;

export type ToVm = Of<
  "evict" | "cancel" | "unmark" | "mark" | "migrate" | "pin" | "unpin" | "delete" | "bury" | "shadow"
>;

export type ToNode = "taint" | "untaint" | "expel" | "readmit" | "press" | "relieve";

/** What happens at once. */
export type Happening =
  | ToVm
  | (Of<"migration"> & { readonly outcome: "Succeeded" | "Failed" })
  /** What somebody is about to create a migration for is not asked for any more; then others pass, so many times. */
  | (Of<"take back"> & { readonly by: "cancel" | "unmark" | "untaint"; readonly passes: number })
  /** The drain taint, one that ends pods, or pressure. */
  | { readonly does: ToNode; readonly node: string }
  | { readonly does: "time"; readonly seconds: number }
  | { readonly does: "disruption controller" | "evacuation controller" | "kubelet" | "condition reset" };

export type Step = Advance | Ask | Happening;

export interface Story {
  readonly settings: Settings;
  readonly vmis: readonly VmiFacts[];
  readonly functions: number;
  /** By how much the clock of every other function is fast. */
  readonly skewMs?: number;
  /** A pass or a request that has not ended by then never will: its function is killed. */
  readonly patienceSeconds?: number;
  /** The n-th pass of the story, from 0. */
  readonly passes?: (n: number) => PassOptions;
  /** KubeVirt is one that makes budgets of its own (1.5 and older). */
  readonly kubevirtBudgets?: boolean;
  readonly countersAre?: SimulatedCluster["countersAre"];
  readonly steps: readonly Step[];
}

export const NODES = ["node01", "node02"] as const;
export const which = fc.nat({ max: 5 });

/** Two passes in three look only at what is under way, and at what somebody has pointed at. */
export const begins: fc.Arbitrary<Begins> = fc.record({
  scope: fc.oneof(
    { weight: 1, arbitrary: fc.constant("All" as const) },
    { weight: 2, arbitrary: fc.subarray([0, 1, 2]) },
  ),
  turns: fc.nat(),
});

export const CALM: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 30, arbitrary: fc.record({ does: fc.constant("function"), which, begins }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant("evict"), which }) },
  { weight: 4, arbitrary: fc.constantFrom({ does: "disruption controller" }, { does: "kubelet" }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("time"), seconds: fc.constantFrom(1, 5, 20, 130, 400) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("taint"), node: fc.constantFrom(...NODES) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant("migration"),
      which,
      outcome: fc.constantFrom("Succeeded", "Failed"),
    }),
  },
];

/** What people and KubeVirt do besides: anything. */
const WILD: readonly fc.WeightedArbitrary<Step>[] = [
  ...CALM,
  { weight: 2, arbitrary: fc.constant({ does: "evacuation controller" }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("cancel", "unmark"), which }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("untaint"), node: fc.constantFrom(...NODES) }) },
];

function vms(nodes: readonly string[]): readonly VmiFacts[] {
  return nodes.map((nodeName, i) => {
    const evictionStrategy = i % 3 === 2 ? "LiveMigrateIfPossible" : "LiveMigrate";
    const uid = `vm${i}`;
    return vmi({ name: uid, uid, nodeName, evictionStrategy, activePods: { [`pod-${uid}`]: nodeName } });
  });
}

export const limits = fc.record({
  parallelMigrationsPerCluster: fc.integer({ min: 1, max: 3 }),
  parallelOutboundMigrationsPerNode: fc.integer({ min: 1, max: 2 }),
});

export function stories(mood: "calm" | "wild"): fc.Arbitrary<Story> {
  const wait = mood === "calm" ? fc.constant(0) : fc.constantFrom(0, 5);
  return fc.record({
    settings: fc.tuple(limits, wait).map(([l, adoptSeconds]) => settings({ limits: l, evacuation: { adoptSeconds } })),
    vmis: fc.array(fc.constantFrom(...NODES), { minLength: 1, maxLength: 5 }).map(vms),
    functions: fc.integer({ min: 1, max: 4 }),
    steps: fc.array(fc.oneof(...(mood === "calm" ? CALM : WILD)), { maxLength: 400, size: "max" }),
  });
}

/** Tells the story; `check` is called after every step. */
export function tellStory(story: Story, check: (cluster: SimulatedCluster, step: Step) => void): SimulatedCluster {
  const cluster = new SimulatedCluster(story.settings, NOW);
  cluster.countersAre = story.countersAre ?? "served";
  for (const v of story.vmis) cluster.add(v);
  if (story.kubevirtBudgets === true) for (const v of story.vmis) addKubeVirts(cluster, v);
  const cast = new Cast(cluster, story);
  for (const step of story.steps) {
    // No two evacuations of a VM begin in the same millisecond.
    cluster.now = new Date(cluster.now.getTime() + 1);
    perform(step, cluster, cast);
    check(cluster, step);
  }
  return cluster;
}

function perform(step: Step, cluster: SimulatedCluster, cast: Cast): void {
  if (step.does === "function") return cast.pass(step);
  if (step.does === "answer") return cast.answer(step);
  return isAsk(step) ? cast.ask(step) : happen(cluster, step);
}

const ASKS: readonly string[] = [
  "ask to evict",
  "ask to deschedule",
  "ask to cancel",
  "preempt",
  "expel pod",
] satisfies Ask["does"][];

function isAsk(step: Step): step is Ask {
  return ASKS.includes(step.does);
}
