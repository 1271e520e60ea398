/** The timeline of a run: what each of its faults does, and when. */
import type { Effect } from "../../sandbox/apiserver/faults.ts";
import type { CastMember } from "./cast.ts";
import type { FaultName } from "./fault-table.ts";
import type { Happening, Moment, VmHappening, Whom } from "./moment.ts";
import type { Random } from "./random.ts";
import { WIRE } from "./wire.ts";

export interface Setting {
  readonly faults: readonly FaultName[];
  readonly vms: readonly CastMember[];
  readonly calmAt: number;
}

type Draw = (random: Random, setting: Setting) => readonly Timed[];
type Timed = Happening & { readonly at: number };

/** From the pressure until its kubelet has sent the first SIGTERMs. */
const SOFT_EVICTION_MS = 9000;

const WRITES = ["create", "update", "patch", "delete"] as const;

/** `undefined`: what the fault is, is in the plan itself. */
const DRAWS: Readonly<Record<FaultName, Draw | undefined>> = {
  ServerErrors: (random) => [
    injected(random, { type: "Error", code: random.pick([500, 503]) }, { probability: [0.05, 0.3] }),
  ],
  Throttling: (random) => [injected(random, { type: "Error", code: 429 }, { probability: [0.05, 0.3] })],
  ConflictStorm: (random) => [
    injected(random, { type: "Error", code: 409 }, { probability: [0.1, 0.4], verbs: WRITES }),
  ],
  Latency: (random) => [
    injected(random, { type: "Latency", milliseconds: random.int(20, 300) }, { probability: [0.1, 0.7] }),
  ],
  BrokenConnections: (random) => [injected(random, { type: "ConnectionReset" }, { probability: [0.05, 0.25] })],
  LostAnswers: (random) => [injected(random, { type: "LostAnswer" }, { probability: [0.05, 0.3], verbs: WRITES })],
  TruncatedAnswers: (random) => [injected(random, { type: "TruncatedBody" }, { probability: [0.05, 0.25] })],
  IdleConnections: (random) => [{ at: random.int(0, 500), does: "close idle connections", ms: random.int(1, 20) }],
  BrokenReviews: (random) =>
    (["LostReview", "LostVerdict"] as const).map((type) => ({
      at: random.int(0, 500),
      does: "inject",
      whom: "Evictions",
      effect: { type },
      probability: Number((0.05 + random.next() * 0.3).toFixed(3)),
    })),
  WatchCuts: (random) => [
    {
      at: 0,
      does: "inject",
      whom: "Everybody",
      effect: { type: "DroppedWatch", afterEvents: random.int(3, 20) },
      probability: 0.5,
      verbs: ["watch"],
    },
  ],
  Compaction: (random, { calmAt }) => several(random, [1, 3], (at) => ({ at, does: "compact" }), calmAt),
  Outage: (random, { calmAt }) =>
    several(random, [1, 2], (at) => ({ at, does: "suspend API server", ms: random.int(100, 1200) }), calmAt),
  Blind: (random, { calmAt }) =>
    several(random, [1, 2], (at) => ({ at, does: "refuse token", ms: random.int(200, 2000) }), calmAt),
  WorkerKilled: undefined,
  WorkerDown: (random, { calmAt }) =>
    several(random, [1, 2], (at) => ({ at, does: "silence Lifeboat", ms: random.int(200, 1500) }), calmAt),
  SeveralWorkers: undefined,
  ClockSkew: undefined,
  LeaseLost: (random, { calmAt }) =>
    several(random, [1, 3], (at) => ({ at, does: "take Lease", holder: random.pick(["", WIRE.stranger]) }), calmAt),
  CertificateEnds: undefined,
  TokenRenewed: (random, { calmAt }) => several(random, [1, 3], (at) => ({ at, does: "renew token" }), calmAt),
  ControllerOff: () => [{ at: 0, does: "switch evacuation controller", on: false }],
  ControllerToggled: (random, { calmAt }) =>
    several(random, [2, 6], (at, i) => ({ at, does: "switch evacuation controller", on: i % 2 === 1 }), calmAt),
  BudgetDeletionToggled: (random, { calmAt }) =>
    several(random, [2, 4], (at, i) => ({ at, does: "switch budget deletion", on: i % 2 === 1 }), calmAt),
  AnnotationsByKubeVirt: () => [{ at: 0, does: "switch annotations", on: true }],
  MarksTooLate: (random, setting) => toSome(random, setting, ["mark late"]),
  FailingMigrations: undefined,
  SlowMigrations: undefined,
  RefusedVms: undefined,
  WorkloadUpdates: (random, setting) => toSome(random, setting, ["update workload"]),
  Backups: (random, setting) => toSome(random, setting, ["back up"]),
  ForeignMigrations: (random, setting) => toSome(random, setting, ["migrate"]),
  SentAway: (random, setting) => toSome(random, setting, ["send away"]),
  OwnerDeletes: (random, setting) => toSome(random, setting, ["delete"]),
  OwnersGiveUp: undefined,
  DrainBrokenOff: (random, { calmAt }) =>
    several(random, [1, 3], (at) => ({ at, does: "break off drain", ms: random.int(50, 1500) }), calmAt),
  OperatorCancels: (random, setting) => toSome(random, setting, ["withdraw"]),
  OperatorEvacuates: (random, setting) => toSome(random, forOperators(setting), ["evacuate"]),
  EvacuationsDeleted: (random, setting) => [1, 2, 3].flatMap(() => toSome(random, setting, ["delete evacuations"])),
  Tenant: (random, setting) =>
    [1, 2].flatMap(() => toSome(random, setting, ["forge", "flood", "reach out", "reach out"])),
  MarkRemoved: (random, setting) => toSome(random, setting, ["unmark"]),
  DrainTaint: (random, { calmAt }) => [{ at: random.int(0, calmAt), does: "drain taint" }],
  Preemption: (random) => [{ at: random.int(0, 1000), does: "preempt" }],
  NoExecuteTaint: (random) => [{ at: random.int(0, 1000), does: "taint" }],
  NoExecuteTaintComesAndGoes: (random, { calmAt }) => several(random, [2, 6], (at) => comesAndGoes(random, at), calmAt),
  NodeTermination: (random) => [{ at: random.int(0, 1000), does: "terminate" }],
  Descheduling: (random) => [{ at: random.int(0, 500), does: "retire" }],
  SoftEviction: (random, setting) => {
    const at = random.int(0, 1000);
    return [{ at, does: "squeeze" }, ...stops(random, setting, at)];
  },
  MemoryPressure: (random) => [{ at: random.int(0, 1000), does: "press" }],
};

export function drawMoments(random: Random, setting: Setting): readonly Moment[] {
  return setting.faults
    .flatMap((fault) => (DRAWS[fault]?.(random, setting) ?? []).map((moment): Moment => ({ ...moment, fault })))
    .toSorted((a, b) => a.at - b.at);
}

interface Strength {
  readonly probability: readonly [number, number];
  readonly verbs?: readonly string[];
}

/** Mostly it is Lifeboat that meets it; now and then all clients of the API server do. */
function injected(random: Random, effect: Effect, { probability: [least, most], verbs }: Strength): Timed {
  const whom: Whom = random.chance(0.8) ? "Lifeboat" : "Everybody";
  const drawn = least + random.next() * (most - least);
  const probability = Number((whom === "Everybody" ? drawn / 3 : drawn).toFixed(3));
  return { at: random.int(0, 500), does: "inject", whom, effect, probability, ...(verbs && { verbs }) };
}

/** For a moment, for as long as the first deletions take, or until some VM has moved. */
function comesAndGoes(random: Random, at: number): Timed {
  return { at, does: "taint for a while", ms: random.int(0, random.pick([20, 300, 1500])) };
}

/** Owners stop VMs that the shield covers, some before and some after their SIGTERM; one is left to move. */
function stops(random: Random, { vms }: Setting, from: number): readonly Timed[] {
  const covered = vms.filter(({ place }) => place === "Covered");
  const stopped = random.sample(covered, Math.min(random.int(0, 2), covered.length - 1));
  return stopped.map(({ name }) => ({ at: random.int(from, from + SOFT_EVICTION_MS), does: "delete", vm: name }));
}

/**
 * Nothing but descheduling moves VMs off the retired node: the judge counts them there. For an owner that cannot move its VM an evacuation
 * waits for ever: that is what was asked for.
 */
function forOperators(setting: Setting): Setting {
  return {
    ...setting,
    vms: setting.vms.filter(
      ({ place, strategy, migratable }) => place !== "Retired" && (strategy !== "External" || migratable),
    ),
  };
}

function several(
  random: Random,
  [least, most]: readonly [number, number],
  draw: (at: number, index: number) => Timed,
  calmAt: number,
): readonly Timed[] {
  const times = Array.from({ length: random.int(least, most) }, () => random.int(0, calmAt)).toSorted((a, b) => a - b);
  return times.map(draw);
}

function toSome(random: Random, { vms, calmAt }: Setting, ways: readonly VmHappening["does"][]): readonly Timed[] {
  const most = Math.max(1, Math.min(6, Math.floor(vms.length / 2)));
  return random
    .sample(vms, random.int(1, most))
    .map(({ name }) => ({ at: random.int(0, calmAt), does: random.pick(ways), vm: name }));
}
