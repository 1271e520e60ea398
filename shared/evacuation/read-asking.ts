/** Reads what a request to KubeVirt to restart, stop or start a VM depends on, for a decision and again just before the request. */
import { keptByBudgets, type Refusal } from "../budget/refusal.ts";
import { type Client, named } from "../kube/client.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import { LAUNCHER } from "../kube/requests.ts";
import { scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import { isRestart } from "./shutdown.ts";
import type { Asking } from "./world.ts";

/** `vmiUID`: of the VMI that is to end; undefined: it has ended. */
export async function readAsking(e: EvacuationFacts, vmiUID: string | undefined, cluster: Client): Promise<Asking> {
  const { namespace, spec } = e;
  const [vm, all, refusal] = await Promise.all([
    cluster.get("virtualmachines", { namespace, name: spec.vmiName }),
    cluster.list("nodeevacuations"),
    vmiUID === undefined ? undefined : readRefusal(e, vmiUID, cluster),
  ]);
  const ne = all.find((one) => one.uid === spec.nodeEvacuation?.uid);
  return { vm, ne, node: ne && (await cluster.get("nodes", named(ne.spec.nodeName))), refusal };
}

async function readRefusal(e: EvacuationFacts, vmiUID: string, cluster: Client): Promise<Refusal | undefined> {
  const { namespace } = e;
  const [pods, budgets] = await Promise.all([
    cluster.list("pods", {
      namespace,
      labels: { ...LAUNCHER, [CREATED_BY_LABEL]: vmiUID },
      unlike: { "spec.nodeName": [""] },
      as: scheduledPodSchema(),
    }),
    cluster.list("poddisruptionbudgets", { namespace }),
  ]);
  const ending = pods.map((pod) => ({ pod, isBack: isRestart(e) }));
  return [...keptByBudgets(ending, budgets).values()][0];
}
