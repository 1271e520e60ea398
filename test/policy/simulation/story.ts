/**
 * Random stories: what happens in a simulated cluster, step by step, in any order.
 * Owns: generating and telling them. Does not own: what must be true meanwhile and at the end (simulation.test.ts).
 */
import * as fc from "fast-check";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { isFinal } from "../../../shared/policy/facts.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { NOW, settings, vmi } from "../fixtures.ts";
import { SimulatedCluster } from "./cluster.ts";
import { cancel, evacuateByKubeVirt, evict, progress, reckon } from "./kubevirt.ts";
import { pass, type PassOptions } from "./pass.ts";

export type Step =
  | { readonly does: "function"; readonly which: number }
  | { readonly does: "evict" | "cancel" | "unmark"; readonly which: number }
  | { readonly does: "migration"; readonly which: number; readonly outcome: "Succeeded" | "Failed" }
  | { readonly does: "taint" | "untaint"; readonly node: string }
  | { readonly does: "time"; readonly seconds: number }
  | { readonly does: "disruption controller" | "evacuation controller" };

export interface Story {
  readonly settings: Settings;
  readonly vmis: readonly VmiFacts[];
  readonly functions: number;
  /** The n-th pass of the story, from 0. */
  readonly passes?: (n: number) => PassOptions;
  readonly countersAre?: SimulatedCluster["countersAre"];
  readonly steps: readonly Step[];
}

const NODES = ["node01", "node02"] as const;
const which = fc.nat({ max: 5 });

const CALM: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 30, arbitrary: fc.record({ does: fc.constant("function"), which }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant("evict"), which }) },
  { weight: 4, arbitrary: fc.constant({ does: "disruption controller" }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("time"), seconds: fc.constantFrom(1, 5, 20, 400) }) },
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

export function stories(mood: "calm" | "wild"): fc.Arbitrary<Story> {
  const limits = fc.record({
    parallelMigrationsPerCluster: fc.integer({ min: 1, max: 3 }),
    parallelOutboundMigrationsPerNode: fc.integer({ min: 1, max: 2 }),
  });
  const mode = mood === "calm" ? fc.constant(true) : fc.constantFrom<true | "Auto">(true, "Auto");
  return fc.record({
    settings: fc.tuple(limits, mode).map(([l, evacuation]) => settings({ limits: l, reconcilers: { evacuation } })),
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
  let passes = 0;
  const begin = () => pass(cluster, story.passes?.(passes++));
  const functions = Array.from({ length: story.functions }, begin);
  for (const step of story.steps) {
    // No two evacuations of a VM begin in the same millisecond.
    cluster.now = new Date(cluster.now.getTime() + 1);
    if (step.does === "function") {
      const i = step.which % functions.length;
      if (functions[i]?.next().done === true) functions[i] = begin();
    } else {
      happen(cluster, step);
    }
    check(cluster, step);
  }
  return cluster;
}

function pick<T>(items: Iterable<T>, n: number): T | undefined {
  const all = [...items];
  return all.length === 0 ? undefined : all[n % all.length];
}

function happen(cluster: SimulatedCluster, step: Exclude<Step, { does: "function" }>): void {
  switch (step.does) {
    case "evict":
    case "cancel":
    case "unmark":
      return happenTo(cluster, pick(cluster.vmis.values(), step.which), step.does);
    case "migration": {
      const migration = pick(cluster.unfinished(), step.which);
      if (migration !== undefined && !isFinal(migration)) progress(cluster, migration, step.outcome);
      return;
    }
    case "taint":
      cluster.tainted.add(step.node);
      return;
    case "untaint":
      cluster.tainted.delete(step.node);
      return;
    case "time":
      cluster.now = new Date(cluster.now.getTime() + step.seconds * 1000);
      return;
    case "disruption controller":
      return reckon(cluster);
    case "evacuation controller":
      return evacuateByKubeVirt(cluster);
  }
}

function happenTo(cluster: SimulatedCluster, vm: VmiFacts | undefined, what: "evict" | "cancel" | "unmark"): void {
  if (vm === undefined) return;
  if (what === "evict") evict(cluster, vm);
  if (what === "cancel") cancel(cluster, vm);
  if (what === "unmark") cluster.update(vm, {}, "evacuationNodeName");
}
