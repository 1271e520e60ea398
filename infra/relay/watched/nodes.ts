/** Nodes: the taints and conditions that make VMs leave. Heartbeats do not. */
import * as z from "zod/mini";
import { Conditions, identityOf, Metadata, Text, type WatchedKind } from "./kind.ts";

/** Each condition with its status on a healthy node; an absent condition counts as healthy. */
const WELL = { Ready: "True", MemoryPressure: "False", DiskPressure: "False", PIDPressure: "False" } as const;

export interface NodeFacts {
  readonly taints: readonly string[];
  /** `MemoryPressure=True`: conditions that are not as on a healthy node. */
  readonly troubles: readonly string[];
}

const Taint = z.object({ key: z.string(), value: Text, effect: z.string() });

const Node = z.object({
  metadata: Metadata,
  spec: z.prefault(z.object({ taints: z.nullish(z.array(Taint)) }), {}),
  status: z.prefault(z.object({ conditions: Conditions }), {}),
});

export const NODES: WatchedKind<NodeFacts> = {
  name: "nodes",
  path: "/api/v1/nodes",
  read: (object) => {
    const { metadata, spec, status } = Node.parse(object);
    const taints = (spec.taints ?? []).map(({ key, value = "", effect }) => `${key}=${value}:${effect}`);
    const statusOf = new Map(status.conditions.map((condition) => [condition.type, condition.status]));
    const troubles = Object.entries(WELL).flatMap(([type, well]) => {
      const is = statusOf.get(type) ?? well;
      return is === well ? [] : [`${type}=${is}`];
    });
    return { metadata: identityOf(metadata), facts: { taints: taints.toSorted(), troubles } };
  },
  notice: ({ object, facts, before, gone }) => {
    const well = facts.taints.length === 0 && facts.troubles.length === 0;
    if (before === undefined && well && !gone) return undefined;
    return { type: "dev.lifeboat.node.changed.v1", data: { name: object.name } };
  },
};
