/** The watched kinds of node maintenance. */
import * as z from "zod/mini";
import { watchedKind } from "./kinds.ts";

/**
 * Returns the watch of one kind of maintenance. The relay reports changes of the spec, which people make. The relay
 * ignores changes of the status, which Lifeboat writes.
 */
function maintenance(name: string, type: "nodeevacuation" | "rollingmaintenance") {
  return watchedKind({
    name,
    path: `/apis/lifeboat.dev/v1alpha1/${name}`,
    fields: { metadata: z.object({ generation: z.number() }) },
    // Keeps only the generation, which the API server increases at each change of the spec. The spec may name hundreds
    // of nodes.
    facts: ({ metadata: { generation } }) => ({ generation }),
    notice: ({ object, gone }) =>
      gone ? undefined : { type: `dev.lifeboat.${type}.changed.v1` as const, data: { name: object.name } },
  });
}

export const NODE_EVACUATIONS = maintenance("nodeevacuations", "nodeevacuation");
export const ROLLING_MAINTENANCES = maintenance("rollingmaintenances", "rollingmaintenance");
