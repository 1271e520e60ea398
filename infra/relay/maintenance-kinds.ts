/** The watched kinds of node maintenance. */
import * as z from "zod/mini";
import { watchedKind } from "./kinds.ts";

/** Makes a kind of maintenance: the relay reports changes by people, and Lifeboat writes the status. */
function maintenance(name: string, type: "nodeevacuation" | "rollingmaintenance") {
  return watchedKind({
    name,
    path: `/apis/lifeboat.dev/v1alpha1/${name}`,
    fields: { metadata: z.object({ generation: z.number() }) },
    // The API server counts each change of the spec, which may name hundreds of nodes.
    facts: ({ metadata: { generation } }) => ({ generation }),
    notice: ({ object, gone }) =>
      gone ? undefined : { type: `dev.lifeboat.${type}.changed.v1` as const, data: { name: object.name } },
  });
}

export const NODE_EVACUATIONS = maintenance("nodeevacuations", "nodeevacuation");
export const ROLLING_MAINTENANCES = maintenance("rollingmaintenances", "rollingmaintenance");
