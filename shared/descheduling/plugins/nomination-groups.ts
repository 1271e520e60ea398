/**
 * Nominating node by node, where nothing depends on what has been accepted before.
 * Owns: what a verdict means to such a plugin. Does not own: which pods, in which order.
 */
import type { Nomination, Nominations } from "./plugin.ts";

/** Each group is what is to leave one node: the node's limit ends the group, the limit of all ends everything. */
export function* nominateInGroups(groups: Iterable<Iterable<Nomination>>): Nominations {
  for (const group of groups) {
    for (const nomination of group) {
      const verdict = yield nomination;
      if (verdict === "TotalLimit") return;
      if (verdict === "NodeLimit") break;
    }
  }
}
