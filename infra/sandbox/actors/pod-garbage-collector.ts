/** kube-controller-manager's pod garbage collector. It deletes terminating pods of nodes that are out of service. */
import type { Actor } from "./actor.ts";
import { isTrue } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import type { NodeControllerOptions } from "./node-caches.ts";
import { isFinished } from "./pod-status.ts";
import { pods, type Node, type Pod } from "./resources.ts";

const EVERY_MS = 20_000;
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

export function startPodGarbageCollector(options: NodeControllerOptions): Actor {
  const { client, caches } = options;

  const collect = async (): Promise<Result> => {
    for (const node of caches.nodes.list())
      if (isLost(node))
        for (const pod of caches.podsOn(node.metadata.name))
          if (pod.metadata.deletionTimestamp !== undefined) await end(pod);
    return { requeueAfterMs: EVERY_MS };
  };

  const end = async (pod: Pod): Promise<void> => {
    const { uid } = pod.metadata;
    if (!isFinished(pod)) {
      const body = { metadata: { uid }, status: { phase: "Failed" } };
      await client.patch(pods, pod.metadata, { type: "strategic", body }, { subresource: "status" });
    }
    await client.delete(pods, pod.metadata, { gracePeriodSeconds: 0 });
  };

  const controller = startController({ name: "pod-garbage-collector", reconcile: collect, ...options });
  controller.enqueue("all");
  return controller;
}

function isLost({ spec, status }: Node): boolean {
  return !isTrue(status?.conditions, "Ready") && (spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}
