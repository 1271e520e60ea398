/** Facts from complete lists, for decisions on each of many objects. */
import type { NodeFacts } from "../kube/facts.ts";
import { type Facts, factsFrom, textOf } from "./facts.ts";

/** Returns facts that consist of these nodes. Throws if a rule reads another kind: that is a defect. */
export function factsOfNodes(nodes: readonly NodeFacts[]): Facts {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return factsFrom((question) => {
    const { kind, key } = question;
    if (kind === "nodes" && key !== undefined) return { value: byName.get(key.name) };
    throw new Error(`no list answers ${textOf(question)}`);
  });
}
