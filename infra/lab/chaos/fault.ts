/** A fault is one thing that goes wrong in a run, by itself or by a person's action. */
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

/** Everything that a fault can touch. */
export interface Run {
  readonly plan: Plan;
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly nodeOf: (place: string) => string;
  readonly replicas: Replicas;
  readonly drain: Drain;
  readonly relay: { stopFor(ms: number): Promise<void> };
  /** Aborted when the faults end. */
  readonly calm: AbortSignal;
  /** Keys of VMIs that their owners have deleted. */
  readonly deleted: Set<string>;
  /** Reports a broken invariant. */
  readonly report: (what: string) => void;
  /** Counts that something has gone wrong. */
  readonly strike: () => void;
}

export interface Fault {
  readonly says: string;
  /** How often it is drawn, compared with the others: 3 if absent. */
  readonly weight?: number;
  /** Only a simulated control plane can suffer it. */
  readonly simulated?: true;
  readonly form?: FormName;
  /** virt-api's own requests may break, too: it allows what it cannot judge, so VMs have budgets. */
  readonly breaksVirtApi?: true;
  /** It deletes pods of a node, which the guard has to refuse. */
  readonly gate?: string;
  /** Faults that it cannot be together with. */
  readonly not?: readonly string[];
  /** VMs that begin on a node of its own, and what that node has. */
  readonly vms?: (draw: Draw) => readonly ChaosVm[];
  readonly capacity?: Capacity;
  /** Changes a VM on the drained node. */
  readonly alter?: (vm: ChaosVm, draw: Draw) => ChaosVm;
  /** Judges what happens during the run. */
  readonly watch?: (run: Run) => Partial<Listener>;
  /** Resolves when the fault is over, at the latest soon after `run.calm`. A refused request may throw. */
  readonly inject?: (run: Run, draw: Draw) => Promise<void> | void;
  /** Restores everything except the VMs. */
  readonly undo?: (run: Run) => Promise<void> | void;
  /** Reminds a controller of Kubernetes that has forgotten it, as a busy cluster or a person would. */
  readonly remind?: (run: Run) => Promise<void>;
  /** It is a disruption: it is undone when all that it leads to has happened. */
  readonly lasts?: true;
  /** In words: what has to happen because of it, and has not yet. */
  readonly expect?: (run: Run) => readonly string[];
}

/** Acts at a number of drawn times of the run. A refused act has done nothing. */
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

/** Acts on some VMs, each at a drawn time. */
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
    // The VM may be gone, or be migrating already; the API server may be away.
  }
}

/** Waits. Returns whether the faults continue after that time. */
export async function waited({ calm }: Run, ms: number): Promise<boolean> {
  await delay(ms, undefined, { signal: calm }).catch(() => undefined);
  return !calm.aborted;
}

export function simulatedIn({ cluster: { sandbox } }: Run): SimulatedSandbox {
  if (!isSimulated(sandbox)) throw new Error("the control plane is a real one");
  return sandbox;
}

export const WRITES = ["create", "update", "patch", "delete"];
export const LIFEBOAT = ["lifeboat", "lifeboat-relay"].map((name) => `system:serviceaccount:lifeboat-system:${name}`);

/** Requests have a chance of this effect until the faults end. */
export function injectEffect(run: Run, effect: Effect, probability: number, match: FaultMatch): void {
  simulatedIn(run).apiServer.faults.inject({ effect, probability, match });
}

export async function setTaints({ client, nodeOf }: Run, place: string, taints: readonly object[]): Promise<void> {
  const body = { spec: { taints } };
  await persist(() => client.patch(nodes, { name: nodeOf(place) }, { type: "merge", body }));
}
