/**
 * What a mark means, and which VMs migrate on one.
 * Owns: those rules. Does not own: setting the mark (mark.ts), what follows from it (evacuation.ts).
 * Upstream: the filters of KubeVirt's evacuation controller (`vmisToMigrate`, `filterRunningNonMigratingVMIs`).
 */
import type { VmiFacts } from "../facts.ts";
import { isFinal } from "../facts.ts";
import type { Settings } from "../settings.ts";
import { type EvictionStrategy, MIGRATES, resolveStrategy } from "../strategy.ts";

/** The strategy in force, or None for an unknown value: only the eviction door has a caller to tell about it. */
export function strategyOf(vmi: VmiFacts, settings: Settings): EvictionStrategy {
  const resolved = resolveStrategy(vmi.evictionStrategy, settings.clusterStrategy);
  return resolved.known ? resolved.strategy : "None";
}

/** For the node it is on: a mark for a node that it has left means nothing. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

export function isLive(vmi: VmiFacts): boolean {
  return !vmi.deleting && !isFinal(vmi) && vmi.nodeName !== undefined;
}

/** Whether KubeVirt, or Lifeboat in its place, migrates the VM when it has to leave its node. */
export function canMigrate(vmi: VmiFacts, settings: Settings): boolean {
  return isLive(vmi) && MIGRATES[strategyOf(vmi, settings)] && vmi.liveMigratable.migratable;
}

/** Live, and to leave its node by a migration: marked for that node, or able to move and on a tainted one. */
export function isToMigrate(vmi: VmiFacts, tainted: ReadonlySet<string>, settings: Settings): boolean {
  return canMigrate(vmi, settings) && (isMarked(vmi) || tainted.has(vmi.nodeName ?? ""));
}

/** To leave by KubeVirt's or our migration, or, with strategy External, by one that its owner may create at any moment. */
export function isToLeave(vmi: VmiFacts, tainted: ReadonlySet<string>, settings: Settings): boolean {
  if (isToMigrate(vmi, tainted, settings)) return true;
  const byOwner = strategyOf(vmi, settings) === "External" && vmi.liveMigratable.migratable;
  return byOwner && isLive(vmi) && isMarked(vmi);
}
