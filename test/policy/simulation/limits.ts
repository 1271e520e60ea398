/**
 * Limits, as an onlooker sees them who misses nothing.
 * Owns: what counts, and by which limits. Does not own: how Lifeboat keeps to them (shared/policy/slots.ts).
 */
import { isFinal, keyOf, type MigrationFacts } from "../../../shared/policy/facts.ts";
import type { SimulatedCluster } from "./cluster.ts";

/** A stalled function may create one for a VM that is going by then: that ends with it. */
export function unfinishedOfLive(cluster: SimulatedCluster): readonly MigrationFacts[] {
  return cluster.unfinished().filter(({ namespace, vmiName }) => {
    const vm = cluster.vmis.get(keyOf({ namespace, name: vmiName }));
    return vm !== undefined && !vm.deleting && !isFinal(vm);
  });
}

/** Throws where there are more of these than limits allow. */
export function expectWithin({ settings }: SimulatedCluster, unfinished: readonly MigrationFacts[]): void {
  const { parallelMigrationsPerCluster: most, parallelOutboundMigrationsPerNode: perNode } = settings.limits;
  const fromNodes = [...Map.groupBy(unfinished, (m) => m.sourceNode).values()].map(({ length }) => length);
  const isWithin = unfinished.length <= most && fromNodes.every((count) => count <= perNode);
  if (!isWithin) throw new Error(`${unfinished.length} at most ${most}; ${fromNodes.join()} at most ${perNode}`);
}
