/** Reads what a request to KubeVirt to restart, stop or start a VM depends on, for a decision and again just before the request. */
import { type Client, named } from "../kube/client.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { Asking } from "./world.ts";

export async function readAsking({ namespace, spec }: EvacuationFacts, cluster: Client): Promise<Asking> {
  const [vm, all] = await Promise.all([
    cluster.get("virtualmachines", { namespace, name: spec.vmiName }),
    cluster.list("nodeevacuations"),
  ]);
  const ne = all.find((one) => one.uid === spec.nodeEvacuation?.uid);
  return { vm, ne, node: ne && (await cluster.get("nodes", named(ne.spec.nodeName))) };
}
