/**
 * How a story ends: every function of it is killed where it stands, and one goes on alone.
 * Owns: bringing a simulated cluster to rest, and recognising that. Does not own: what must be true then (the tests).
 */
import { planBudgets } from "../../../shared/policy/budget.ts";
import { planEvacuations } from "../../../shared/policy/evacuation.ts";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { isMarked, strategyOf } from "../../../shared/policy/stage.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { reckon, sweep } from "./control-plane.ts";
import { progress } from "./kubevirt.ts";
import { look } from "./observe.ts";
import { passAtOnce } from "./pass.ts";

const ROUNDS = 120;

/** One function, with time and a cluster that works: now and then it looks at everything. */
export function finish(cluster: SimulatedCluster, outcome: "Succeeded" | "Failed"): void {
  sweep(cluster);
  reckon(cluster);
  for (let round = 0; round < ROUNDS && !isQuiet(cluster); round++) {
    passAtOnce(cluster, { scope: round % 4 === 0 ? "All" : [] });
    reckon(cluster);
    for (const m of cluster.unfinished()) progress(cluster, m, outcome);
    sweep(cluster);
    reckon(cluster);
    cluster.now = new Date(cluster.now.getTime() + 30_000);
  }
}

/** After a storm: what could not move can again, owners move what waits for them, and no taint or pressure asks for more. */
export function settle(cluster: SimulatedCluster, outcome: "Succeeded" | "Failed"): void {
  cluster.tainted.clear();
  cluster.expelling.clear();
  cluster.pressed.clear();
  for (const vmi of cluster.vmis.values()) cluster.update(vmi, { liveMigratable: { migratable: true } });
  finish(cluster, outcome);
  for (const vmi of cluster.vmis.values()) {
    if (isMarked(vmi) && strategyOf(vmi, cluster.settings) === "External") {
      cluster.put({ namespace: vmi.namespace, name: `by-its-owner-${cluster.version()}` }, vmi, {});
    }
  }
  finish(cluster, "Succeeded");
  // What could not move when it was tidied up, and can now, is held back by the next full scan until it has rested.
  const { maxBackoffSeconds } = cluster.settings.evacuation;
  cluster.now = new Date(cluster.now.getTime() + maxBackoffSeconds * 1000);
  finish(cluster, "Succeeded");
}

/** Nothing is under way, and nobody wants anything. */
export function isQuiet(cluster: SimulatedCluster): boolean {
  const world = look(cluster);
  const { chains, requeueAfterSeconds } = planEvacuations(world);
  const plans = [...chains, ...planBudgets(world).chains];
  return plans.length === 0 && requeueAfterSeconds === undefined && cluster.unfinished().length === 0;
}

export function isOver({ evacuationNodeName, evacuationLabel, record }: VmiFacts): boolean {
  const ended = record === undefined || record.outcome !== undefined;
  return evacuationNodeName === undefined && evacuationLabel === undefined && ended;
}
