/**
 * A namespace as the API server has it now, and what Lifeboat has reserved.
 * Owns: reading it. Does not own: what it means (rest.ts).
 */
import * as z from "zod/mini";
import { SLOTS_CONFIG_MAP, SLOTS_KEY, LIFEBOAT_NAMESPACE } from "../../shared/policy/names.ts";
import type { KubeClient } from "../sandbox/actors/client.ts";
import { configMaps, podDisruptionBudgets, pods } from "../sandbox/actors/resources.ts";
import { migrations, virtualMachineInstances } from "../sandbox/kubevirt/resources.ts";
import type { Cluster } from "./rest.ts";

const Slots = z.array(z.object({ name: z.string() }));

export async function readCluster(client: KubeClient, namespace: string): Promise<Cluster> {
  const [vmis, launchers, moves, budgets, register] = await Promise.all([
    client.list(virtualMachineInstances, namespace),
    client.list(pods, namespace),
    client.list(migrations, namespace),
    client.list(podDisruptionBudgets, namespace),
    client.get(configMaps, { namespace: LIFEBOAT_NAMESPACE, name: SLOTS_CONFIG_MAP }),
  ]);
  const slots = Slots.parse(JSON.parse(register?.data?.[SLOTS_KEY] ?? "[]"));
  return {
    vmis: vmis.items,
    pods: launchers.items,
    migrations: moves.items,
    budgets: budgets.items,
    slots: slots.map(({ name }) => name),
  };
}
