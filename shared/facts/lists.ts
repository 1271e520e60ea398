/** Facts from complete lists, for decisions on each of many objects. */
import type { NodeFacts } from "../kube/facts.ts";
import { type Facts, factsFrom, textOf } from "./facts.ts";

/** Returns the facts of nodes. A question about another kind is a defect. */
export function factsOfNodes(nodes: readonly NodeFacts[]): Facts {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return factsFrom((question) => {
    const { kind, key } = question;
    if (kind === "nodes" && key !== undefined) return { value: byName.get(key.name) };
    throw new Error(`no list answers ${textOf(question)}`);
  });
}
