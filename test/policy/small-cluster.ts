/**
 * A cluster of one VM that implements conditional writes and nothing else, and the functions that work on it in turns.
 * Owns: the store, and functions as generators: between two steps of one, another may go on. Does not own: what they decide,
 * which is the policy that ships.
 */
import type { Action, NewEvacuation } from "../../shared/policy/action.ts";
import { planEvacuations } from "../../shared/policy/evacuation/evacuation.ts";
import type { EvacuationFacts, EvacuationStatus, MigrationFacts } from "../../shared/policy/facts.ts";
import { isActive } from "../../shared/policy/evacuation/phase.ts";
import { decided } from "./eviction/evictions.ts";
import { at, migration, NODE, POD_UID, settings, vmi, without } from "./fixtures.ts";
import { world } from "./worlds.ts";

/** KubeVirt's controller migrates; no budgets: they do not take part. */
const SETTINGS = settings({ reconcilers: { budget: "Disabled" }, evacuation: { adoptSeconds: 3600, maxAttempts: 99 } });
const NOW = at(300);

export class SmallCluster {
  vmi = vmi();
  readonly evacuations = new Map<string, EvacuationFacts>();
  readonly migrations = new Map<string, MigrationFacts>();
  #version = 1;

  /** Whether it was done. */
  act(action: Action): boolean {
    if (action.verb === "CreateEvacuation") return this.create(action.evacuation);
    if (action.verb === "WriteStatus") return this.#write(action.evacuation, action.status);
    if (action.verb === "DeleteMigration") return this.migrations.delete(action.migration.name);
    if (action.verb !== "Mark" && action.verb !== "Unmark") return true;
    const { nodeName, evacuationNodeName } = this.vmi;
    if (nodeName !== action.vmi.nodeName || evacuationNodeName !== action.vmi.evacuationNodeName) return false;
    this.mark(action.verb === "Mark");
    return true;
  }

  /** One that exists is joined, unless it has ended. */
  create({ namespace, name, spec }: NewEvacuation): boolean {
    const found = this.evacuations.get(name);
    if (found !== undefined) return isActive(found);
    const [resourceVersion, createdAt] = [String(this.#version++), at(this.#version).getTime()];
    const status = { attempts: 0, conditions: [] };
    this.evacuations.set(name, { namespace, name, uid: name, resourceVersion, createdAt, spec, status });
    return true;
  }

  #write({ name, resourceVersion }: EvacuationFacts, status: EvacuationStatus): boolean {
    const found = this.evacuations.get(name);
    if (found?.resourceVersion !== resourceVersion) return false;
    this.evacuations.set(name, { ...found, status, resourceVersion: String(this.#version++) });
    return true;
  }

  mark(isMarked: boolean): void {
    this.vmi = isMarked ? { ...this.vmi, evacuationNodeName: NODE } : without(this.vmi, "evacuationNodeName");
  }
}

/** Ends where it returns; each `yield` is a moment in which others go on, or in which it is killed. */
type Task = Generator<undefined, void>;
export type Start = (cluster: SmallCluster) => Task;

/** Which of the reads is the older one. */
export type Order = "EvacuationsFirst" | "VmiFirst";

function* look(cluster: SmallCluster, order: Order) {
  const before = order === "VmiFirst" ? cluster.vmi : undefined;
  yield undefined;
  const evacuations = [...cluster.evacuations.values()];
  yield undefined;
  const seen = before ?? cluster.vmi;
  yield undefined;
  return {
    vmis: [seen],
    evacuations,
    migrations: [...cluster.migrations.values()],
    vmisAreNewer: before === undefined,
  };
}

export function pass(order: Order): Start {
  return function* (cluster) {
    for (let looks = 0; looks < 5; looks++) {
      const seen = yield* look(cluster, order);
      const plan = planEvacuations(world({ ...seen, budgets: [], settings: SETTINGS, now: NOW }));
      for (const chain of plan.chains) yield* inOrder(cluster, chain);
      if (plan.again !== true) return;
    }
  };
}

function* inOrder(cluster: SmallCluster, chain: readonly Action[]): Generator<undefined, boolean> {
  for (const action of chain) {
    yield undefined;
    if (!cluster.act(action)) return false;
  }
  return true;
}

/** Mark and Evacuation are written at the same time: either may be there first, and may be all that is. */
export function evict(order: Order, isMarkFirst: boolean): Start {
  return function* (cluster) {
    for (let looks = 0; looks < 3; looks++) {
      const { vmis, evacuations, migrations } = yield* look(cluster, order);
      const facts = { evacuations, migrations, settings: SETTINGS, now: NOW, raced: looks > 0 };
      const { actions } = decided({ ...facts, vmi: vmis[0] ?? cluster.vmi });
      if (yield* inOrder(cluster, isMarkFirst ? actions.toReversed() : actions)) return;
    }
  };
}

/** KubeVirt's webhook, or a person who removes its mark. */
export function setMark(isMarked: boolean): Start {
  return function* (cluster) {
    yield undefined;
    cluster.mark(isMarked);
  };
}

export function createByHand(name: string): Start {
  return function* (cluster) {
    yield undefined;
    const spec = { vmiName: "web", cause: "Operator", requestedBy: "jane", intent: "Evacuate" } as const;
    cluster.create({ namespace: "apps", name, spec });
  };
}

/** KubeVirt's controllers, one migration after another. The VMI shows a move some moments after the migration does. */
export function migrate(outcomes: readonly ("Succeeded" | "Failed")[]): Start {
  return function* (cluster) {
    for (const [i, outcome] of outcomes.entries()) {
      const of = migration({ name: `m${i}`, uid: `m${i}`, evacuates: NODE, createdAt: at(100 + i).getTime() });
      for (const phase of ["Pending", "Running", outcome]) {
        yield undefined;
        cluster.migrations.set(of.name, { ...of, phase, targetNode: "node02" });
      }
      yield undefined;
      const activePods = { [POD_UID]: NODE, target: "node02" };
      const unmarked = without(cluster.vmi, "evacuationNodeName");
      if (outcome === "Succeeded") cluster.vmi = { ...unmarked, nodeName: "node02", activePods };
    }
  };
}

/** After so many steps it is gone, in the middle of whatever it does. */
export function killed(start: Start, steps: number): Start {
  return function* (cluster) {
    const task = start(cluster);
    for (let i = 0; i < steps && task.next().done !== true; i++) yield undefined;
  };
}

/** Whose turn it is, and for how many steps: the others stall meanwhile. */
export type Turn = readonly [who: number, steps: number];

export function interleave(cluster: SmallCluster, starts: readonly Start[], turns: readonly Turn[] = []): void {
  const live = starts.map((start) => start(cluster));
  for (let i = 0; live.length > 0; i++) {
    const [who, steps] = turns[i] ?? [0, 1];
    const next = who % live.length;
    for (let step = 0; step < steps; step++) {
      if (live[next]?.next().done !== true) continue;
      live.splice(next, 1);
      break;
    }
  }
}

/** What people see, without versions and times. */
function stateOf({ vmi: { evacuationNodeName }, evacuations, migrations }: SmallCluster) {
  const shown = [...evacuations.values()].map(({ name, status }) => {
    return `${name} ${status.phase} ${status.reason} ${status.attempts}`;
  });
  return { evacuationNodeName, evacuations: shown.toSorted(), migrations: [...migrations.keys()] };
}

/** Passes alone, until nothing is left to be done. */
export function settle(cluster: SmallCluster): ReturnType<typeof stateOf> {
  const written = () => JSON.stringify([...cluster.evacuations.values(), cluster.vmi]);
  for (let i = 0; i < 10; i++) {
    const before = written();
    interleave(cluster, [pass("EvacuationsFirst")]);
    if (written() === before) return stateOf(cluster);
  }
  throw new Error("it does not come to rest");
}
