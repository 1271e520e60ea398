/** Draws the faults, VMs and settings of a run at random. The same seed and number give the same run. */
import { drawFrom, type Draw } from "./draw.ts";
import type { Fault } from "./fault.ts";
import { FAULT_NAMES, type FaultName, FAULTS } from "./fault-names.ts";
import type { FormName } from "./forms/form.ts";
import { type ChaosVm, DRAINED, drainedVm } from "./vms.ts";

export interface Plan {
  readonly seed: string;
  readonly run: number;
  readonly form: FormName;
  readonly faults: readonly FaultName[];
  readonly vms: readonly ChaosVm[];
  readonly limits: { readonly cluster: number; readonly node: number };
  readonly configuration: Readonly<Record<string, unknown>> & {
    readonly evacuation: { readonly maxAttempts: number; readonly adoptSeconds: number };
  };
  /** Whether VMs have PodDisruptionBudgets. Otherwise KubeVirt's webhook and Lifeboat's webhook protect the VMs. */
  readonly budgeted: boolean;
  readonly migrationMs: number;
  /** The pause between two requests of the drain, in milliseconds. */
  readonly retryMs: number;
  readonly tickMs: number;
  readonly relayed: boolean;
  readonly replicas: number;
  /** Whether the API server sends its reviews to the replicas in turn. Otherwise the first replica gets all reviews. */
  readonly spread: boolean;
  /** The time until the faults end, in milliseconds. */
  readonly calmMs: number;
}

export interface PlanOptions {
  readonly seed: string;
  readonly run: number;
  /** The number of VMs. The default is random. */
  readonly vms?: number;
  /** The faults of the run. By default, they are drawn from all faults. */
  readonly only?: readonly FaultName[];
  /** Whether Lifeboat runs as Workers or in the cluster. The default is random. */
  readonly form?: FormName;
  readonly real?: boolean;
}

/** Every 20th run drains 50 VMs. Each of these runs also includes the next fault of `FAULT_NAMES`. */
const LARGE_EVERY = 20;
const LARGE = 50;

export function drawPlan(options: PlanOptions): Plan {
  const { seed, run, vms: size, only, real = false } = options;
  const draw = drawFrom(`${seed}/${run}`);
  const isLarge = run % LARGE_EVERY === 0;
  const count = size ?? (isLarge ? LARGE : draw.int(3, draw.chance(0.15) ? 15 : 6));
  const first = isLarge ? FAULT_NAMES[(run / LARGE_EVERY) % FAULT_NAMES.length] : undefined;
  const form = formOf(draw, options);
  const names = only ?? drawFaults(draw, first, { form, real });
  const faults = names.map((name) => FAULTS[name]);
  return {
    seed,
    run,
    form,
    faults: names,
    vms: drawVms(draw, count, faults).map((vm) => (real ? known(vm) : vm)),
    limits: draw.pick(count > 15 ? LARGE_LIMITS : LIMITS),
    ...configurationOf(draw, names, faults),
    migrationMs: draw.pick([20, 50, 100, 200]),
    retryMs: draw.int(100, 400),
    ...drawDrive(draw, form, names),
    calmMs: draw.int(500, 2500) + count * 40,
  };
}

function formOf(draw: Draw, { form, only = [] }: PlanOptions): FormName {
  const drawn = draw.chance(0.25) ? "InCluster" : "Worker";
  return form ?? only.map((name) => FAULTS[name].form).find((one) => one !== undefined) ?? drawn;
}

/**
 * Draws whether a relay reports changes to Lifeboat, the number of replicas, and the time between two ticks. A tick is
 * a full scan or a call of the cron trigger. Ticks are rare in a run with a relay, as in a real cluster. A replica in
 * the cluster always contains a relay.
 */
function drawDrive(draw: Draw, form: FormName, names: readonly FaultName[]) {
  const isInCluster = form === "InCluster";
  const relayed = isInCluster || names.includes("relayAway") || draw.chance(0.5);
  const several = isInCluster || draw.chance(0.3);
  const tickMs = relayed ? draw.int(3000, 6000) : draw.int(300, 1200);
  return { relayed, tickMs, replicas: several ? draw.int(2, 3) : 1, spread: several && draw.chance(0.6) };
}

/**
 * Replaces the strategy `Unknown`, because on a real control plane virt-api refuses to create a VM with this strategy.
 */
function known(vm: ChaosVm): ChaosVm {
  return vm.strategy === "Unknown" ? { ...vm, strategy: "LiveMigrate", migratable: false } : vm;
}

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

/** Draws several faults by weight. Skips faults that cannot be combined with the faults drawn so far. */
function drawFaults(
  draw: Draw,
  first: FaultName | undefined,
  { form, real }: { readonly form: FormName; readonly real: boolean },
): readonly FaultName[] {
  const isPossible = (name: FaultName) => {
    const fault = FAULTS[name];
    return (fault.form ?? form) === form && !(real && fault.simulated);
  };
  const possible = FAULT_NAMES.filter(isPossible);
  const weighted = possible.flatMap((name) => Array.from({ length: FAULTS[name].weight ?? 3 }, () => name));
  const drawn = possible.filter((name) => name === first);
  const wanted = draw.int(2, 6);
  for (let tries = 0; drawn.length < wanted && tries < 50; tries++) {
    const name = draw.pick(weighted);
    if (!drawn.includes(name) && agree([...drawn, name])) drawn.push(name);
  }
  return drawn.toSorted();
}

export function agree(names: readonly FaultName[]): boolean {
  const faults = names.map((name) => FAULTS[name]);
  return !faults.some(({ not = [] }) => not.some((name) => names.some((other) => other === name)));
}

function drawVms(draw: Draw, count: number, faults: readonly Fault[]): readonly ChaosVm[] {
  const drained = Array.from({ length: count }, (_, index) =>
    faults.reduce((vm, { alter }) => alter?.(vm, draw) ?? vm, drainedVm(draw, index)),
  );
  return [...drained, ...faults.flatMap(({ vms }) => vms?.(draw) ?? [])];
}

/**
 * Draws the LifeboatConfiguration. KubeVirt's webhook allows the eviction of a VM with an unknown strategy. While the
 * webhook's own requests fail, it allows every eviction. If a fault of the run can cause one of these cases, all VMs
 * have PodDisruptionBudgets.
 */
function configurationOf(draw: Draw, names: readonly FaultName[], faults: readonly Fault[]) {
  const gates = faults.flatMap(({ gate }) => (gate === undefined ? [] : [[gate, true] as const]));
  const isGuarded = draw.chance(0.5) || gates.length > 0;
  const needsBudgets = faults.some(({ breaksVirtApi }) => breaksVirtApi) || names.includes("refusedVms");
  const disruptionBudgets = needsBudgets || draw.chance(0.5) ? "Always" : "Auto";
  const configuration = {
    featureGates: {
      DeschedulerSupport: draw.chance(0.3),
      PreemptionEvictionLiveMigration: isGuarded,
      ...Object.fromEntries(gates),
    },
    disruptionBudgets,
    // Lifeboat must protect the guests for the whole run, so the deadlines are longer than any run.
    guard: { deadlineSeconds: { Preemption: 3600, NoExecuteTaint: 3600 } },
    evacuation: {
      maxAttempts: draw.pick([2, 3, 5]),
      backoffSeconds: 0.5,
      maxBackoffSeconds: 1,
      adoptSeconds: names.includes("virtControllerAway") ? draw.pick([1, 2]) : draw.pick([2, 60]),
    },
  };
  const gatesOn: Readonly<Record<string, boolean>> = configuration.featureGates;
  return {
    configuration,
    budgeted: disruptionBudgets === "Always" || gatesOn["PreemptionEvictionLiveMigration"] !== true,
  };
}

/**
 * Returns the capacity of each node where VMs start, keyed by `place`. The capacity is undefined if no fault sets it.
 */
export function placesOf({ vms, faults }: Pick<Plan, "vms" | "faults">): ReadonlyMap<string, Fault["capacity"]> {
  const own = faults.flatMap((name) => {
    const { capacity } = FAULTS[name];
    return capacity === undefined ? [] : [[name, capacity] as const];
  });
  const capacities = new Map<string, Fault["capacity"]>(own);
  return new Map([DRAINED, ...vms.map(({ place }) => place)].map((place) => [place, capacities.get(place)]));
}
