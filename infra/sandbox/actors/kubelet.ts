/** The kubelets of all nodes. Each kubelet writes with the identity of its node. */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { timestamp } from "./clock.ts";
import type { KubeClient } from "./client.ts";
import { isTrue } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { createKubeletRecorder, tellContainers, tellImages, tellKilling, tellSidecars } from "./kubelet-events.ts";
import type { KubeletEvictions } from "./kubelet-evictions.ts";
import type { Outages } from "./outages.ts";
import { ended, isFinished, needsStart, running } from "./pod-status.ts";
import { keyOf, nodes, pods, type Pod } from "./resources.ts";
import type { ContainerRuntime } from "./runtime.ts";
import { unlessNotFound } from "./status-error.ts";

export interface KubeletOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly evictions: KubeletEvictions;
  readonly outages: Outages;
}

export function asNode(client: KubeClient, node: string): KubeClient {
  return client.as(`system:node:${node}`, ["system:nodes", "system:authenticated"]);
}

export function startKubelets(options: KubeletOptions): Actor {
  const { client, clock, runtime, evictions, outages } = options;
  const machines = startInformer({ ...options, resource: nodes });
  const bound = startInformer({
    ...options,
    resource: pods,
    selectors: { fieldSelector: "spec.nodeName!=" },
    indexes: { uid: (pod: Pod) => [pod.metadata.uid], node: (pod: Pod) => [pod.spec?.nodeName ?? ""] },
  });

  const reconcile = async (key: string): Promise<Result> => {
    const pod = bound.get(key);
    const node = pod?.spec?.nodeName;
    await machines.synced;
    if (pod === undefined || node === undefined || !isThere(node)) return undefined;
    const kubelet = asNode(client, node);
    if (pod.metadata.deletionTimestamp !== undefined) return terminate(kubelet, pod);
    if (failing.delete(key)) await stopContainers(kubelet, pod);
    const exitCode = runtime.exitCodeOf(pod.metadata.uid);
    if (exitCode !== undefined) return finish(kubelet, pod, exitCode);
    await start(kubelet, pod);
  };

  const start = async (kubelet: KubeClient, pod: Pod): Promise<void> => {
    const isWanted = needsStart(pod) ? !outages.isShuttingDown(pod.spec?.nodeName ?? "") : isMisjudged(pod);
    if (!isWanted) return;
    const isNew = needsStart(pod);
    runtime.start(pod);
    await report(kubelet, pod, running(pod, timestamp(clock), runtime.isReady(pod.metadata.uid)));
    if (isNew) await tellImages(recorderOf(kubelet, pod), pod);
  };

  const finish = async (kubelet: KubeClient, pod: Pod, exitCode: number): Promise<void> => {
    if (!isFinished(pod) && !evictions.has(pod.metadata.uid)) await tellSidecars(recorderOf(kubelet, pod), pod);
    await report(kubelet, pod, endOf(pod, exitCode));
  };

  /** Stops the containers of a pod whose liveness probe fails. The sandbox does not restart containers. */
  const stopContainers = async (kubelet: KubeClient, pod: Pod): Promise<void> => {
    await tellContainers(recorderOf(kubelet, pod), pod);
    runtime.terminate(pod.metadata.uid, (pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000);
  };

  const recorderOf = (kubelet: KubeClient, pod: Pod) => createKubeletRecorder(kubelet, clock, pod.spec?.nodeName ?? "");

  const isThere = (node: string): boolean => machines.get(node) !== undefined && !outages.isDown(node);

  /**
   * Returns whether the pod's Ready condition is wrong. Either the pod's readiness has changed, or the node controller
   * has set the condition to False while this kubelet sent no heartbeats.
   */
  const isMisjudged = ({ metadata, status }: Pod): boolean =>
    runtime.isRunning(metadata.uid) && isTrue(status?.conditions, "Ready") !== runtime.isReady(metadata.uid);

  const endOf = (pod: Pod, exitCode: number): Pod["status"] => {
    const now = timestamp(clock);
    return evictions.explain(pod.metadata.uid, ended(pod, exitCode, now), now);
  };

  const terminate = async (kubelet: KubeClient, pod: Pod): Promise<Result> => {
    const { uid, deletionGracePeriodSeconds = 30 } = pod.metadata;
    if (!isFinished(pod) && runtime.exitCodeOf(uid) === undefined) {
      const isNew = !runtime.isEnding(uid);
      runtime.terminate(uid, deletionGracePeriodSeconds * 1000);
      if (isNew) await tellKilling(recorderOf(kubelet, pod), pod);
      if (runtime.exitCodeOf(uid) === undefined) return undefined;
    }
    await report(kubelet, pod, endOf(pod, runtime.exitCodeOf(uid) ?? 0));
    await kubelet.delete(pods, pod.metadata, { gracePeriodSeconds: 0, preconditions: { uid } });
  };

  const failing = new Set<string>();
  outages.onProbeFailure((pod) => {
    failing.add(pod);
    controller.enqueue(pod);
  });
  const controller = startController({ name: "kubelet", reconcile, workers: 8, ...options });
  controller.watch(bound, (pod) => [keyOf(pod)]);
  bound.onChange((pod, previous) => {
    if (pod === undefined && previous !== undefined) runtime.remove(previous.metadata.uid);
  });
  const enqueueUid = (uid: string) => bound.byIndex("uid", uid).forEach((pod) => controller.enqueue(keyOf(pod)));
  runtime.onExit(enqueueUid);
  runtime.onReadiness(enqueueUid);
  const enqueueAllOn = (node: string) => bound.byIndex("node", node).forEach((pod) => controller.enqueue(keyOf(pod)));
  machines.onChange((node, previous) => {
    if (node !== undefined && previous === undefined) enqueueAllOn(node.metadata.name);
  });
  outages.onStart(enqueueAllOn);
  return actorOf([controller], [bound, machines]);
}

async function report(kubelet: KubeClient, pod: Pod, status: Pod["status"]): Promise<void> {
  if (status === undefined) return;
  await kubelet.update(pods, { ...pod, status }, { subresource: "status" }).catch(unlessNotFound);
}
