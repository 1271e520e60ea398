/** A namespace as the API server has it now. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { podDisruptionBudgets, pods } from "../../sandbox/actors/resources.ts";
import { migrations, virtualMachineInstances } from "../../sandbox/kubevirt/resources.ts";
import { evacuations } from "../stage/evacuations.ts";
import type { Cluster } from "./rest.ts";

export async function readCluster(client: KubeClient, namespace: string): Promise<Cluster> {
  const [vmis, launchers, moves, budgets, departures] = await Promise.all([
    client.list(virtualMachineInstances, namespace),
    client.list(pods, namespace),
    client.list(migrations, namespace),
    client.list(podDisruptionBudgets, namespace),
    client.list(evacuations, namespace),
  ]);
  return {
    vmis: vmis.items,
    pods: launchers.items,
    migrations: moves.items,
    budgets: budgets.items,
    evacuations: departures.items,
  };
}
