/**
 * Drains that were taken back: uncordoning a node withdraws what a drain of it asked for (`evacuation.withdrawOnUncordon`).
 * Owns: when a node counts as uncordoned, and for which evacuations. Does not own: withdrawing (ends.ts).
 *
 * Not every eviction is a drain's: only where an earlier look has found the node cordoned, which the condition `Cordoned`
 * remembers, does a node that is not cordoned say that the drain was taken back.
 */
import type { EvacuationFacts, NodeFacts } from "../facts.ts";
import { isFinal } from "../facts.ts";
import { carriesDrainTaint } from "../kube/taints.ts";
import type { Settings } from "../settings.ts";
import { byAge, podUIDOf } from "./identity.ts";
import { isActive } from "./phase.ts";
import type { LivePair, Pair } from "./world.ts";

/** Whether it is a drain's, as far as its cause tells, and an uncordoned node withdraws it. */
export function endsWithCordon({ spec }: EvacuationFacts, { evacuation }: Pick<Settings, "evacuation">): boolean {
  return evacuation.withdrawOnUncordon && (spec.cause === "ApiEviction" || spec.cause === "DrainTaint");
}

/** Whether its node is cordoned now, which is to be remembered. */
export function isCordoned({ e, vmi, w }: Pair): boolean {
  const node = w.nodes.find(({ name }) => name === vmi?.nodeName);
  return endsWithCordon(e, w.settings) && node?.unschedulable === true;
}

/** Why it ends, or undefined if it goes on: so does one whose migration runs, for that does no harm. */
export function uncordoned(pair: LivePair): string | undefined {
  const { e, vmi, migrations, w } = pair;
  const node = w.nodes.find(({ name }) => name === vmi.nodeName);
  const isDrains = (other: EvacuationFacts) => endsWithCordon(other, w.settings);
  if (node === undefined || !isTakenBack(e, node, w.settings) || isWantedBesides(pair, isDrains)) return undefined;
  const runs = migrations.some((m) => !isFinal(m) && m.phase === "Running");
  return runs ? undefined : `node ${node.name} has been uncordoned`;
}

/** Of those, the ones that a look at one of these nodes may end. */
export function endedBy(
  nodes: readonly NodeFacts[],
  evacuations: readonly EvacuationFacts[],
  settings: Settings,
): readonly EvacuationFacts[] {
  return evacuations.filter((e) => {
    const node = nodes.find(({ name }) => name === e.status.sourceNode);
    return node !== undefined && isActive(e) && isTakenBack(e, node, settings);
  });
}

/** With the drain taint on it a node is still being drained, cordoned or not. */
function isTakenBack(e: EvacuationFacts, node: NodeFacts, settings: Settings): boolean {
  const wasCordoned = e.status.conditions.some(({ type }) => type === "Cordoned");
  return endsWithCordon(e, settings) && wasCordoned && !node.unschedulable && !carriesDrainTaint(node, settings);
}

/** By another cause, whose Evacuation has ended as this one's Duplicate. `endsToo`: with the same cause. */
export function isWantedBesides({ e, w }: LivePair, endsToo: (other: EvacuationFacts) => boolean): boolean {
  return w.evacuations.some((other) => {
    const isDuplicate = other.status.phase === "Duplicate" && podUIDOf(other) === podUIDOf(e) && byAge(e, other) < 0;
    return isDuplicate && other.namespace === e.namespace && !endsToo(other);
  });
}
