/**
 * The kubelets' shutdown managers. In a graceful shutdown, the kubelet sends SIGTERM to all pods of its node at the
 * same time.
 */
import { actorOf, type Actor } from "./actor.ts";
import { timestamp } from "./clock.ts";
import { findCondition, withCondition, type Condition } from "./conditions.ts";
import { startController } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { createKubeletRecorder, tellKilling } from "./kubelet-events.ts";
import { asNode, type KubeletOptions } from "./kubelet.ts";
import { nodes, pods, type Node, type Pod } from "./resources.ts";

/** The kubelet's `shutdownGracePeriod`, in seconds. */
const GRACE_SECONDS = 30;
const NOT_READY = {
  type: "Ready",
  status: "False",
  reason: "KubeletNotReady",
  message: "node is shutting down",
};
const MESSAGE = "Pod was terminated in response to imminent node shutdown.";

export function startShutdownManagers(options: KubeletOptions): Actor {
  const { client, clock, runtime, evictions, outages } = options;
  const known = startInformer({ ...options, resource: nodes });
  const bound = startInformer({
    ...options,
    resource: pods,
    selectors: { fieldSelector: "spec.nodeName!=" },
    indexes: { node: (pod: Pod) => [pod.spec?.nodeName ?? ""] },
  });

  const reconcile = async (name: string): Promise<void> => {
    await Promise.all([known.synced, bound.synced]);
    const node = known.get(name);
    if (node === undefined || !outages.isShuttingDown(name) || outages.isDown(name)) return;
    await report(node);
    const running = bound.byIndex("node", name).filter(({ metadata: { uid } }) => runtime.isRunning(uid));
    await Promise.all(running.filter(({ metadata: { uid } }) => !runtime.isEnding(uid)).map((pod) => end(pod, name)));
  };

  const report = async (node: Node): Promise<void> => {
    const before = findCondition(node.status?.conditions, "Ready");
    if (before?.message === NOT_READY.message) return;
    const conditions = withCondition<Condition>(node.status?.conditions, NOT_READY, timestamp(clock));
    const body = { status: { conditions: [findCondition(conditions, "Ready")] } };
    const kubelet = asNode(client, node.metadata.name);
    await kubelet.patch(nodes, node.metadata, { type: "strategic", body }, { subresource: "status" });
  };

  const end = async (pod: Pod, node: string): Promise<void> => {
    const { uid } = pod.metadata;
    const seconds = Math.min(pod.spec?.terminationGracePeriodSeconds ?? GRACE_SECONDS, GRACE_SECONDS);
    evictions.begin(uid, { reason: "Terminated", message: MESSAGE });
    runtime.terminate(uid, seconds * 1000);
    await tellKilling(createKubeletRecorder(asNode(client, node), clock, node), pod);
  };

  const controller = startController({ name: "shutdown-manager", ...options, reconcile });
  outages.onShutDown((node) => controller.enqueue(node));
  return actorOf([controller], [known, bound]);
}
