/** The plan of a run: drawn from the seed and the run's number, before anything happens. */
import { type CastMember, drawCast } from "./cast.ts";
import { agree, FAULT_NAMES, type FaultName, rowOf } from "./fault-table.ts";
import type { FormName } from "./form.ts";
import type { Moment } from "./moment.ts";
import { drawMoments } from "./moments.ts";
import { type Random, randomOf } from "./random.ts";

export interface Plan {
  readonly seed: string;
  readonly run: number;
  readonly form: FormName;
  readonly faults: readonly FaultName[];
  readonly vms: readonly CastMember[];
  readonly limits: { readonly cluster: number; readonly node: number };
  /** Spec of the LifeboatConfiguration. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Whether VMs have budgets: not where KubeVirt's webhook and Lifeboat's guard make them unnecessary. */
  readonly budgeted: boolean;
  readonly migrationMs: number;
  /** How soon a drain asks again. */
  readonly retryMs: number;
  /** Every so often one of the Workers is asked to reconcile, or its cron trigger fires. */
  readonly tickMs: number;
  /** Whether the relay tells Lifeboat what happens. */
  readonly relayed: boolean;
  /** The clocks of the Workers that run at once, in seconds fast; the first one answers the API server. */
  readonly workers: readonly number[];
  /** Whether reviews go to one Worker after another. */
  readonly spread: boolean;
  /** Writes that one Worker after another is let do before it dies. */
  readonly kills: readonly number[];
  /** So long the certificate of the in-cluster form is still valid; absent: for months. */
  readonly certificateSeconds?: number;
  readonly moments: readonly Moment[];
  /** When the faults stop, in milliseconds after the beginning. */
  readonly calmAt: number;
}

export interface PlanOptions {
  readonly seed: string;
  readonly run: number;
  /** Instead of a number drawn. */
  readonly vms?: number;
  /** Only these. */
  readonly only?: readonly FaultName[];
  /** Instead of the one drawn. */
  readonly form?: FormName;
  /** The control plane is a real one: what only a simulated one can suffer is not drawn. */
  readonly real?: boolean;
}

/** Every so often a whole rack is drained, under one fault after another, whatever else is drawn. */
export const LARGE_EVERY = 20;
const LARGE = 50;

export function drawPlan({ seed, run, vms, only, form: wanted, real = false }: PlanOptions): Plan {
  const random = randomOf(`${seed}/${run}`);
  const turn = run % LARGE_EVERY === 0 ? run / LARGE_EVERY : undefined;
  const size = vms ?? (turn === undefined ? random.int(3, random.chance(0.15) ? 15 : 6) : LARGE);
  const faults = only ?? drawFaults(random, turn, { form: wanted, real });
  const form = wanted ?? formOf(random, faults);
  const calmAt = random.int(500, 2500) + size * 40;
  const cast = drawCast(random, size, faults).map((member) => (real ? known(member) : member));
  return {
    seed,
    run,
    form,
    faults,
    vms: cast,
    limits: random.pick(limitsFor(size, faults)),
    ...configurationOf(random, faults),
    migrationMs: random.pick([20, 50, 100, 200]),
    retryMs: random.int(100, 400),
    ...drawDrive(random, form),
    workers: drawWorkers(random, faults, form),
    spread: random.chance(0.4),
    kills: drawKills(random, faults),
    ...(faults.includes("CertificateEnds") && { certificateSeconds: random.int(...CERTIFICATE_SECONDS) }),
    moments: drawMoments(random, { faults, vms: cast, calmAt }),
    calmAt,
  };
}

/** virt-api takes no strategy that it does not know. */
function known(member: CastMember): CastMember {
  return member.strategy === "Unknown" ? { ...member, strategy: "LiveMigrate", migratable: false } : member;
}

function limitsFor(size: number, faults: readonly FaultName[]): readonly Plan["limits"][] {
  if (size > 15) return LARGE_LIMITS;
  return faults.includes("SoftEviction") ? NARROW_LIMITS : LIMITS;
}

/** Of the kubelets. */
export const MAX_POD_GRACE_SECONDS = 300;

/** So long they report a lack of process IDs before they act. */
export const SOFT_PATIENCE_SECONDS = 5;

/** With them not all VMs begin to leave a node before its kubelet ends some. */
const NARROW_LIMITS: readonly Plan["limits"][] = [
  { cluster: 5, node: 2 },
  { cluster: 4, node: 1 },
];

const LIMITS: readonly Plan["limits"][] = [
  { cluster: 5, node: 2 },
  { cluster: 5, node: 5 },
  { cluster: 2, node: 1 },
  { cluster: 3, node: 3 },
  { cluster: 10, node: 10 },
];

const LARGE_LIMITS: readonly Plan["limits"][] = [
  { cluster: 10, node: 10 },
  { cluster: 20, node: 8 },
  { cluster: 15, node: 15 },
];

/** By weight, several at once; what does not agree with one drawn before, or with the one whose turn it is, is left out. */
interface Possible {
  readonly form: FormName | undefined;
  readonly real: boolean;
}

function drawFaults(random: Random, turn: number | undefined, possible: Possible): readonly FaultName[] {
  const { form = "InCluster", real } = possible;
  const fits = (name: FaultName) => {
    const { inCluster, simulated } = rowOf(name);
    return (form === "InCluster" || !inCluster) && !(real && simulated);
  };
  const drawn = FAULT_NAMES.filter(fits).filter((_, i, all) => turn !== undefined && i === turn % all.length);
  const wanted = random.int(2, 7);
  for (let tries = 0; drawn.length < wanted && tries < 50; tries++) {
    const name = drawFault(random);
    if (fits(name) && !drawn.includes(name) && agree([...drawn, name])) drawn.push(name);
  }
  return drawn.toSorted();
}

/** About one run in four. */
function formOf(random: Random, faults: readonly FaultName[]): FormName {
  if (faults.some((name) => rowOf(name).inCluster)) return "InCluster";
  return random.chance(0.12) ? "InCluster" : "Worker";
}

/** The steps of a renewal take a third of it. */
const CERTIFICATE_SECONDS = [15, 40] as const;

const TOTAL_WEIGHT = FAULT_NAMES.reduce((sum, name) => sum + rowOf(name).weight, 0);

function drawFault(random: Random): FaultName {
  let left = random.next() * TOTAL_WEIGHT;
  return FAULT_NAMES.find((name) => (left -= rowOf(name).weight) < 0) ?? random.pick(FAULT_NAMES);
}

const TAINTS = ["NoExecuteTaint", "NoExecuteTaintComesAndGoes"] as const;

/**
 * Without budgets what holds a VM while Lifeboat is silent is KubeVirt's webhook: it does not know every strategy, and it
 * allows an eviction when the API server fails it.
 */
function budgetsOf(random: Random, faults: readonly FaultName[]): "Auto" | "Always" {
  const isNeeded = faults.some((name) => name === "RefusedVms" || rowOf(name).breaksVirtApi);
  return isNeeded || random.chance(0.5) ? "Always" : "Auto";
}

/** By a clock that is fast, a shorter wait for KubeVirt is none: both would create a migration at once. */
const CLOCKS_APART_SECONDS = 180;

/** KubeVirt is waited for some moments or longer than a run; creation times count in whole seconds. */
function configurationOf(random: Random, faults: readonly FaultName[]) {
  const descheduling = faults.includes("Descheduling");
  const isShielding = faults.includes("SoftEviction");
  const guarding = faults.includes("Preemption") || random.chance(0.5);
  const disruptionBudgets = budgetsOf(random, faults);
  const drawn = random.pick(faults.includes("ControllerToggled") ? [1, 2] : [2, 60]);
  const adoptSeconds = faults.includes("ClockSkew") ? CLOCKS_APART_SECONDS : drawn;
  const configuration = {
    featureGates: {
      DeschedulerSupport: random.chance(0.3) || descheduling,
      EvictionsInBackground: descheduling,
      PreemptionEvictionLiveMigration: guarding,
      NoExecuteTaintEvictionLiveMigration: TAINTS.some((fault) => faults.includes(fault)),
      NodeTerminationEvictionLiveMigration: faults.includes("NodeTermination"),
      NodePressureEvictionLiveMigration: faults.includes("MemoryPressure") || isShielding,
    },
    shield: { maxPodGracePeriodSeconds: isShielding ? MAX_POD_GRACE_SECONDS : 0 },
    disruptionBudgets,
    // Longer than any run: what is let go at a deadline was not kept.
    guard: { deadlineSeconds: { Preemption: 3600, NoExecuteTaint: 3600 } },
    evacuation: {
      maxAttempts: random.pick([2, 3, 5]),
      backoffSeconds: 0.5,
      maxBackoffSeconds: 1,
      adoptSeconds: faults.includes("ControllerOff") ? 0 : adoptSeconds,
    },
  };
  return { configuration, budgeted: disruptionBudgets === "Always" || !guarding };
}

/** With the relay, which the in-cluster form has built in, ticks come as rarely beside the times of a run as the real ones do. */
function drawDrive(random: Random, form: FormName): Pick<Plan, "relayed" | "tickMs"> {
  const relayed = random.chance(0.5) || form === "InCluster";
  return { relayed, tickMs: relayed ? random.int(3000, 6000) : random.int(300, 1200) };
}

const SKEWS = [60, -60] as const;

/** There are two replicas at least. */
function drawWorkers(random: Random, faults: readonly FaultName[], form: FormName): readonly number[] {
  const several = faults.includes("SeveralWorkers") || form === "InCluster";
  const count = !several ? 1 : faults.includes("SeveralWorkers") ? random.int(2, 3) : 2;
  const skewed = faults.includes("ClockSkew");
  return Array.from({ length: count }, (_, i) => {
    if (!skewed) return 0;
    return several ? ([...SKEWS, 0][i] ?? 0) : random.pick(SKEWS);
  });
}

/** Between any two writes: some die after the same number again and again, so that every place comes up. */
function drawKills(random: Random, faults: readonly FaultName[]): readonly number[] {
  if (!faults.includes("WorkerKilled")) return [];
  if (random.chance(0.3)) return Array.from({ length: random.int(5, 20) }, () => 1);
  return Array.from({ length: random.int(1, 8) }, () => random.int(0, 12));
}
