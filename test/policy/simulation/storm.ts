/**
 * Storms: stories of any VMs, under any settings, in which everything happens at once and requests fail.
 * Owns: generating them. Does not own: telling them (story.ts), what must be true meanwhile and at the end (the tests).
 */
import * as fc from "fast-check";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { DEFAULT_SETTINGS, type FeatureGate, type GuardMode, type Settings } from "../../../shared/policy/settings.ts";
import { settings, vmi, without } from "../fixtures.ts";
import { FAULTS } from "./requests.ts";
import { begins, CALM, limits, NODES, type Step, type Story, type ToNode, which } from "./story.ts";

const DISRUPTIONS: readonly FeatureGate[] = [
  "PreemptionEvictionLiveMigration",
  "NoExecuteTaintEvictionLiveMigration",
  "NodePressureEvictionLiveMigration",
];

export const anySettings: fc.Arbitrary<Settings> = fc
  .record({
    limits,
    adoptSeconds: fc.constantFrom(0, 5),
    budget: fc.constantFrom("Auto", "Enabled", "Enabled", "Disabled"),
    annotations: fc.constantFrom("Enabled", "Auto", "Disabled"),
    gated: fc.boolean(),
    clusterStrategy: fc.constantFrom(undefined, "LiveMigrate", "LiveMigrateIfPossible", "External"),
    maxAttempts: fc.integer({ min: 1, max: 5 }),
    mode: fc.constantFrom<GuardMode>(...Array<GuardMode>(6).fill("Auto"), "Deny", "Off"),
  })
  .map(({ limits: l, adoptSeconds, budget, annotations, gated, clusterStrategy, maxAttempts, mode }) =>
    settings({
      limits: l,
      reconcilers: { budget, annotations },
      evacuation: { maxAttempts, adoptSeconds },
      guard: { ...DEFAULT_SETTINGS.guard, mode },
      featureGates: [...DISRUPTIONS, ...(gated ? (["DeschedulerSupport"] as const) : [])],
      ...(clusterStrategy === undefined ? {} : { clusterStrategy }),
    }),
  );

const anyVmis = (minLength: number): fc.Arbitrary<readonly VmiFacts[]> =>
  fc
    .array(
      fc.record({
        nodeName: fc.constantFrom(...NODES),
        strategy: fc.constantFrom(
          ...Array<string>(4).fill("LiveMigrate"),
          "LiveMigrateIfPossible",
          "LiveMigrateIfPossible",
          "External",
          "None",
          "Sometimes",
          undefined,
        ),
        migratable: fc.constantFrom(true, true, true, true, false),
      }),
      { minLength, maxLength: 4 },
    )
    .map((all) =>
      all.map(({ nodeName, strategy, migratable }, i) => {
        const uid = `vm${i}`;
        return vmi({
          ...without(vmi(), "evictionStrategy"),
          ...(strategy === undefined ? {} : { evictionStrategy: strategy }),
          name: uid,
          uid,
          nodeName,
          liveMigratable: { migratable },
          activePods: { [`pod-${uid}`]: nodeName },
        });
      }),
    );

const nodeStep = (...does: readonly ToNode[]) =>
  fc.record({ does: fc.constantFrom(...does), node: fc.constantFrom(...NODES) });

/** What is asked of Lifeboat, and what happens to VMs by themselves. */
const ASKED: readonly fc.WeightedArbitrary<Step>[] = [
  ...CALM,
  {
    weight: 20,
    arbitrary: fc.record({ does: fc.constant("function"), which, times: fc.integer({ min: 2, max: 12 }), begins }),
  },
  { weight: 20, arbitrary: fc.record({ does: fc.constant("answer"), which, times: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constant("ask to evict"), which }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom("preempt", "expel pod", "ask to deschedule"), which }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("delete", "bury", "shadow"), which }) },
  { weight: 1, arbitrary: nodeStep("taint", "expel", "readmit", "press", "relieve") },
  { weight: 1, arbitrary: fc.constant({ does: "condition reset" }) },
];

/** What is taken back, and what others do who never ask. */
const ANYTHING: readonly fc.WeightedArbitrary<Step>[] = [
  ...ASKED,
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom("ask to cancel", "unmark", "mark", "migrate"), which }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("pin", "unpin", "unpin"), which }) },
  { weight: 1, arbitrary: nodeStep("untaint") },
  { weight: 1, arbitrary: fc.constant({ does: "evacuation controller" }) },
];

/**
 * What is taken back, most often while somebody is about to act on it. Functions get far in little time, and most migrations
 * succeed: else there would hardly be any that somebody is about to create.
 */
const TAKEN_BACK: readonly fc.WeightedArbitrary<Step>[] = [
  {
    weight: 30,
    arbitrary: fc.record({ does: fc.constant("function"), which, times: fc.constantFrom(1, 2, 4, 12), begins }),
  },
  { weight: 8, arbitrary: fc.record({ does: fc.constant("answer"), which, times: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 6, arbitrary: fc.constantFrom({ does: "disruption controller" }, { does: "kubelet" }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constant("time"), seconds: fc.constantFrom(1, 1, 2, 25) }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant("evict"), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constantFrom("ask to evict", "ask to cancel", "preempt", "expel pod"), which }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("take back"),
      which,
      by: fc.constantFrom("cancel", "unmark", "untaint"),
      passes: fc.nat({ max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("unmark", "shadow"), which }) },
  { weight: 3, arbitrary: nodeStep("taint", "taint", "untaint") },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant("migration"),
      which,
      outcome: fc.constantFrom("Succeeded", "Succeeded", "Succeeded", "Failed"),
    }),
  },
];

/** Nothing goes wrong, now and then something, or every other time. */
const weather = fc.constantFrom(0, 10, 2);

/** Two clocks: half a second keeps two evacuations from beginning in the same millisecond. */
const anySkewMs = fc.constantFrom(0, 500, 5_500, 29_500, 59_500);

/**
 * `asked`: nobody but Lifeboat begins a migration, or takes back what was asked. `taken back`: people do, while clocks hardly
 * disagree.
 */
export type Mood = "asked" | "taken back" | "anything";

const STEPS = { asked: ASKED, "taken back": TAKEN_BACK, anything: ANYTHING } as const satisfies Record<Mood, unknown>;

/** Seconds that a function lives: what a full scan may take; or it stalls for ever. */
const PATIENCE_SECONDS = { asked: 60, "taken back": 60, anything: Infinity } as const satisfies Record<Mood, number>;

export function storms(mood: Mood): fc.Arbitrary<Story> {
  const step = fc.oneof(...STEPS[mood]);
  return weather.chain((wind) =>
    fc.record({
      settings: anySettings,
      vmis: anyVmis(mood === "taken back" ? 3 : 1),
      functions: fc.integer({ min: mood === "taken back" ? 2 : 1, max: 4 }),
      skewMs: mood === "taken back" ? fc.constantFrom(0, 500, 5_500) : anySkewMs,
      patienceSeconds: fc.constant(PATIENCE_SECONDS[mood]),
      kubevirtBudgets: fc.constantFrom(false, false, true),
      steps: fc.array(blown(step, wind), { maxLength: 500, size: "max" }),
    }),
  );
}

/** Something goes wrong with one answer in so many. */
function blown(step: fc.Arbitrary<Step>, wind: number): fc.Arbitrary<Step> {
  if (wind === 0) return step;
  const faults = Array.from<undefined>({ length: FAULTS.length * (wind - 1) });
  return fc.tuple(step, fc.constantFrom(undefined, ...faults, ...FAULTS)).map(([calm, fault]) => {
    const hears = calm.does === "function" || calm.does === "answer";
    return hears && fault !== undefined ? { ...calm, fault } : calm;
  });
}
