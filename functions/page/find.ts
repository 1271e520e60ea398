/** Finds a cluster-scoped object by its name. */
import type { Client } from "../../shared/kube/client.ts";
import type { NodeEvacuationFacts } from "../../shared/kube/node-evacuation.ts";
import type { RollingMaintenanceFacts } from "../../shared/kube/rolling-maintenance.ts";
import { ClusterError } from "../../shared/kube/failures.ts";

interface Kinds {
  readonly nodeevacuations: NodeEvacuationFacts;
  readonly rollingmaintenances: RollingMaintenanceFacts;
}

/**
 * Returns undefined if the object does not exist. Throws a ClusterError if the object cannot be parsed. Reads the list,
 * because Lifeboat's role does not allow `get` for these kinds.
 */
export async function findByName<K extends keyof Kinds>(resource: K, name: string, client: Client) {
  const odd: string[] = [];
  const all: readonly Kinds[K][] = await client.list<K, Kinds[K]>(resource, { onOdd: (issue) => void odd.push(issue) });
  const issue = odd.find((one) => one.startsWith(`${name}: `));
  if (issue !== undefined) {
    throw new ClusterError({ reason: "Unintelligible", request: `GET of ${resource}`, issue, odd: true });
  }
  return all.find((one) => one.name === name);
}
