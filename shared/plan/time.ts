/**
 * Estimates how long each node takes, from the 10th to the 90th percentile. The estimate uses many random draws from
 * the observed migrations.
 */
import type { VmiFacts } from "../kube/facts.ts";
import { keyOf } from "../kube/objects.ts";
import { inWords, type FinishedMigration, seenIn, sizeLine, span } from "../preflight/duration.ts";
import { PREFLIGHT_MESSAGES } from "../preflight/messages.ts";
import type { Settings } from "../settings/settings.ts";
import type { PlanFacts, PlanOptions, Range } from "./facts.ts";
import { PLAN_MESSAGES } from "./messages.ts";
import type { Step } from "./sequence.ts";

export interface PlanTimes {
  /** The start and end of each step, in seconds since the start of the plan. */
  readonly steps: readonly { readonly starts: Range; readonly ends: Range }[];
  readonly total: Range;
  readonly basis: string;
}

const DRAWS = 400;

export function timesOf(
  steps: readonly Step[],
  f: PlanFacts,
  options: Pick<PlanOptions, "parallel" | "bandwidth">,
): PlanTimes {
  const { seconds, basis } = paceOf(f, options);
  const atOnce = atOnceOf(f.settings.limits, options.parallel);
  const all = steps.map((step) => loadOf(step));
  const dice = diceOf(1);
  const draws = Array.from({ length: DRAWS }, () => drawn(steps, all, { atOnce, seconds, dice }));
  const range = (of: (draw: Draw) => number): Range => rangeOf(draws.map(of));
  return {
    steps: steps.map((_, at) => ({
      starts: range(({ starts }) => starts[at] ?? 0),
      ends: range(({ ends }) => ends[at] ?? 0),
    })),
    total: range(({ ends }) => Math.max(0, ...ends)),
    basis,
  };
}

function atOnceOf(
  { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode }: Settings["limits"],
  parallel: number,
): number {
  return Math.max(1, Math.min(Math.floor(parallelMigrationsPerCluster / parallel), parallelOutboundMigrationsPerNode));
}

interface Load {
  readonly moving: readonly VmiFacts[];
  readonly restarts: readonly VmiFacts[];
  readonly shutdowns: readonly VmiFacts[];
  readonly hasPods: boolean;
}

function loadOf({ found, judged, isRefused }: Step): Load {
  if (isRefused) return EMPTY;
  const vmis = new Map(judged.facts.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const of = (isIts: (pod: Step["found"]["pods"][number]) => boolean) =>
    found.pods.filter(isIts).flatMap(({ namespace, vmi = "" }) => vmis.get(keyOf({ namespace, name: vmi })) ?? []);
  return {
    moving: of(({ outcome, room }) => (outcome === "Moves" || outcome === "Waits") && room?.fits === true),
    // Guests are not shut down while something else blocks the drain.
    restarts: of(({ outcome, reason }) => judged.mayEnd && outcome === "ShutsDown" && reason === "Restart"),
    shutdowns: of(({ outcome, reason }) => judged.mayEnd && outcome === "ShutsDown" && reason !== "Restart"),
    hasPods: found.pods.some(({ outcome }) => outcome === "Evicted"),
  };
}

interface Draw {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

interface Drawing {
  readonly atOnce: number;
  readonly seconds: (vmi: VmiFacts, dice: Dice) => number;
  readonly dice: Dice;
}

type Dice = () => number;

/** Durations in seconds, from the shortest to the longest likely duration. */
const TAKES = {
  /** Lifeboat cordons the node, and KubeVirt creates the first migration. */
  begin: [3, 12],
  /** Evicted pods usually end long before their grace period is over. */
  pods: [5, 40],
  /** Lifeboat waits at least 60 s before it shuts a guest down. */
  wait: [60, 75],
  start: [15, 60],
} as const;

/**
 * The range of a random factor for the load of the network and the nodes. In one draw, all VMs have the same factor.
 */
const SAME_FOR_ALL = [0.88, 1.18] as const;

function drawn(steps: readonly Step[], loads: readonly Load[], { atOnce, seconds, dice }: Drawing): Draw {
  const between = ([least, most]: readonly [number, number]) => least + (most - least) * dice();
  const load = between(SAME_FOR_ALL);
  const [starts, ends]: [number[], number[]] = [[], []];
  let [began, wave, end] = [0, 0, 0];
  steps.forEach((step, at) => {
    if (step.wave !== wave) [began, wave] = [end, step.wave];
    const { moving, restarts, shutdowns, hasPods } = loads[at] ?? EMPTY;
    const guests = [...restarts, ...shutdowns].map((vmi) => between([3, graceOf(vmi)]));
    const starting = restarts.map(() => between(TAKES.start));
    const took =
      between(TAKES.begin) +
      load *
        span(
          moving.map((vmi) => seconds(vmi, dice)),
          atOnce,
        ) +
      (guests.length > 0 ? between(TAKES.wait) : 0) +
      sum(guests) +
      sum(starting) +
      (hasPods ? between(TAKES.pods) : 0);
    starts.push(began);
    ends.push(began + took);
    end = Math.max(end, began + took);
  });
  return { starts, ends };
}

const EMPTY: Load = { moving: [], restarts: [], shutdowns: [], hasPods: false };
const USUAL_GRACE = 60;

function graceOf({ graceSeconds = USUAL_GRACE }: VmiFacts): number {
  return Math.max(3, Math.min(graceSeconds, USUAL_GRACE));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, one) => total + one, 0);
}

const UNMEASURED = { fast: 1.25e9, slow: 64 * 1024 ** 2 } as const;
/** Seconds to start the target pod and to delete the source pod. */
const AROUND = [4, 25] as const;

function paceOf(f: PlanFacts, { bandwidth }: Pick<PlanOptions, "bandwidth">) {
  const seen = seenIn(f.vmis, { vmis: f.vmis, finished: f.migrations });
  if (seen.length > 0 && bandwidth === undefined) return asBefore(seen);
  const limit = f.settings.limits.bandwidthPerMigration ?? Infinity;
  const [fast, slow] =
    bandwidth === undefined
      ? [Math.min(UNMEASURED.fast, limit), Math.min(UNMEASURED.slow, limit)]
      : [bandwidth * 1.1, bandwidth * 0.75];
  const seconds = ({ guestMemory = 0 }: VmiFacts, dice: Dice) =>
    AROUND[0] + (AROUND[1] - AROUND[0]) * dice() + guestMemory / (slow * (fast / slow) ** dice());
  const basis =
    bandwidth === undefined
      ? PREFLIGHT_MESSAGES.basedOnPace(inWords(slow), inWords(fast))
      : PLAN_MESSAGES.asBandwidthSays(inWords(bandwidth));
  return { seconds, basis };
}

function asBefore(seen: readonly FinishedMigration[]) {
  const bySize = sizeLine(seen);
  const ratios = seen.map(({ memory, seconds }) => seconds / Math.max(1, bySize(memory)));
  const seconds = ({ guestMemory = 0 }: VmiFacts, dice: Dice) =>
    bySize(guestMemory) * (ratios[Math.floor(dice() * ratios.length)] ?? 1);
  return { seconds, basis: PLAN_MESSAGES.basedOn(seen.length) };
}

function rangeOf(values: readonly number[]): Range {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return { least: at(0.1), most: at(0.9) };
}

/**
 * Returns a random number generator. The same seed gives the same numbers, so the same cluster always gets the same
 * plan. Upstream: the constants of Numerical Recipes.
 */
function diceOf(seed: number): Dice {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
