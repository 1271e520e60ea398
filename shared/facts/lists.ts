/** Provides facts from complete lists of objects. */
import type { NodeFacts } from "../kube/facts.ts";
import { type Facts, factsFrom, textOf } from "./facts.ts";

/** Returns facts that contain only these nodes. Throws if a rule reads another kind. */
export function factsOfNodes(nodes: readonly NodeFacts[]): Facts {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return factsFrom((question) => {
    const { kind, key } = question;
    if (kind === "nodes" && key !== undefined) return { value: byName.get(key.name) };
    throw new Error(`no list answers ${textOf(question)}`);
  });
}
