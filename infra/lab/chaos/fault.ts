/** The type of a fault in a chaos run: a failure, or an action of a person. */
import { setTimeout as delay } from "node:timers/promises";
import {
  type Capacity,
  type Effect,
  type FaultMatch,
  isSimulated,
  type KubeClient,
  nodes,
  type SimulatedSandbox,
} from "../../sandbox/index.ts";
import type { Cluster } from "./cluster.ts";
import type { Drain } from "./drain.ts";
import type { Draw } from "./draw.ts";
import type { FormName } from "./forms/form.ts";
import type { Listener } from "./observer.ts";
import type { Plan } from "./plan.ts";
import type { Replicas } from "./replicas.ts";
import type { ChaosVm } from "./vms.ts";
import { persist } from "./wait.ts";

export interface Run {
  readonly plan: Plan;
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly nodeOf: (place: string) => string;
  readonly replicas: Replicas;
  readonly drain: Drain;
  readonly relay: { stopFor(ms: number): Promise<void> };
  /** Aborted when the faults of the run end. */
  readonly calm: AbortSignal;
  /** Keys of VMIs that their owners have deleted. */
  readonly deleted: Set<string>;
  readonly report: (what: string) => void;
  /** Records that the fault had an effect. */
  readonly strike: () => void;
}

export interface Fault {
  readonly says: string;
  /** A fault with a higher weight is drawn more often. The default is 3. */
  readonly weight?: number;
  readonly simulated?: true;
  readonly form?: FormName;
  /**
   * Set if the fault can make virt-api's own requests fail. virt-api then allows every eviction, so only
   * PodDisruptionBudgets protect VMs.
   */
  readonly breaksVirtApi?: true;
  /** The feature gate that Lifeboat needs to protect VMs from the fault. Absent if Lifeboat needs no feature gate. */
  readonly gate?: string;
  /** Faults that must not be in the same run. */
  readonly not?: readonly string[];
  /** Returns VMs that start on additional nodes. `capacity` is the capacity of these nodes. */
  readonly vms?: (draw: Draw) => readonly ChaosVm[];
  readonly capacity?: Capacity;
  /** Returns the VM with the properties that the fault needs. Called for each VM on the drained node. */
  readonly alter?: (vm: ChaosVm, draw: Draw) => ChaosVm;
  /** Returns a listener that checks the fault's own invariants during the run. */
  readonly watch?: (run: Run) => Partial<Listener>;
  /**
   * Causes the fault. Resolves when the fault has ended, or soon after `run.calm` is aborted. Can throw if a request is
   * refused.
   */
  readonly inject?: (run: Run, draw: Draw) => Promise<void> | void;
  /** Restores everything that the fault has changed, except the VMs. */
  readonly undo?: (run: Run) => Promise<void> | void;
  /**
   * Called when the faults have ended. Ensures that the expected consequences can still happen. For example, a
   * Kubernetes controller that has missed a change is triggered again.
   */
  readonly remind?: (run: Run) => Promise<void>;
  /** Set if the fault lasts until all expected consequences have happened. */
  readonly lasts?: true;
  /** Describes the consequences that have not happened yet. */
  readonly expect?: (run: Run) => readonly string[];
}

/** Calls `act` at several random times during the run. Ignores errors. */
export async function atTimes(
  run: Run,
  draw: Draw,
  many: readonly [number, number],
  act: () => unknown,
): Promise<void> {
  const times = Array.from({ length: draw.int(...many) }, () => draw.int(0, run.plan.calmMs)).toSorted((a, b) => a - b);
  let now = 0;
  for (const time of times) {
    if (!(await waited(run, time - now))) return;
    now = time;
    await tried(run, act);
  }
}

/** Calls `act` for some VMs, each at a random time. Ignores errors. */
export async function toSome(run: Run, draw: Draw, act: (vm: VmKey) => unknown, among = run.plan.vms): Promise<void> {
  const most = Math.max(1, Math.min(6, Math.floor(among.length / 2)));
  const chosen = draw
    .some(among, Math.min(1, among.length), most)
    .map(({ name }) => ({ name, at: draw.int(0, run.plan.calmMs) }));
  await Promise.all(
    chosen.map(async ({ name, at }) => {
      if (await waited(run, at)) await tried(run, () => act({ namespace: run.namespace, name }));
    }),
  );
}

export interface VmKey {
  readonly namespace: string;
  readonly name: string;
}

async function tried({ strike }: Run, act: () => unknown): Promise<void> {
  try {
    if ((await act()) !== false) strike();
  } catch {
    // The VM can be gone or migrating, or the API server can be unavailable.
  }
}

/** Waits for `ms` milliseconds. Returns false if the faults of the run end during the wait. */
export async function waited({ calm }: Run, ms: number): Promise<boolean> {
  await delay(ms, undefined, { signal: calm }).catch(() => undefined);
  return !calm.aborted;
}

export function simulatedIn({ cluster: { sandbox } }: Run): SimulatedSandbox {
  if (!isSimulated(sandbox)) throw new Error("this fault needs a simulated control plane");
  return sandbox;
}

export const WRITES = ["create", "update", "patch", "delete"];
export const LIFEBOAT = ["lifeboat", "lifeboat-relay"].map((name) => `system:serviceaccount:lifeboat-system:${name}`);

/** Applies the effect to each matching request with this probability, until the faults end. */
export function injectEffect(run: Run, effect: Effect, probability: number, match: FaultMatch): void {
  simulatedIn(run).apiServer.faults.inject({ effect, probability, match });
}

export async function setTaints({ client, nodeOf }: Run, place: string, taints: readonly object[]): Promise<void> {
  const body = { spec: { taints } };
  await persist(() => client.patch(nodes, { name: nodeOf(place) }, { type: "merge", body }));
}
