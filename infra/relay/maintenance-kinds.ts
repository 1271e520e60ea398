/**
 * The watched kinds of node maintenance: NodeEvacuation and RollingMaintenance. The relay reports changes of the spec.
 */
import * as z from "zod/mini";
import { part, Text } from "../../shared/kube/schemas/fields.ts";
import { hasEndPhase } from "../../shared/kube/node-evacuation.ts";
import { watchedKind } from "./kinds.ts";

/** The API server increases the generation at each change of the spec. */
const Generated = z.object({ generation: z.number() });

interface WatchedNodeEvacuation {
  readonly generation: number;
  readonly node: string;
  readonly hasEnded: boolean;
}

export const NODE_EVACUATIONS = watchedKind({
  name: "nodeevacuations",
  path: "/apis/lifeboat.dev/v1alpha1/nodeevacuations",
  fields: { metadata: Generated, spec: z.object({ nodeName: z.string() }), status: part({ phase: Text }) },
  facts: ({ metadata: { generation }, spec: { nodeName: node }, status: { phase } }): WatchedNodeEvacuation => ({
    generation,
    node,
    hasEnded: hasEndPhase(phase),
  }),
  notice: ({ object: { name }, facts, before, gone }) =>
    gone || facts.generation === before?.generation
      ? undefined
      : { type: "dev.lifeboat.nodeevacuation.changed.v1", data: { name } },
});

export const ROLLING_MAINTENANCES = watchedKind({
  name: "rollingmaintenances",
  path: "/apis/lifeboat.dev/v1alpha1/rollingmaintenances",
  fields: { metadata: Generated },
  facts: ({ metadata: { generation } }) => ({ generation }),
  notice: ({ object: { name }, gone }) =>
    gone ? undefined : { type: "dev.lifeboat.rollingmaintenance.changed.v1", data: { name } },
});
