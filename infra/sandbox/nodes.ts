/** The nodes of the cluster: their kubelets, and the components of a control plane that decide about them. */
import { actorOf, type Actor, type ActorOptions } from "./actors/actor.ts";
import { startAttachDetach } from "./actors/attach-detach.ts";
import { createKubeletEvictions } from "./actors/kubelet-evictions.ts";
import { startKubelets } from "./actors/kubelet.ts";
import { startNodeCaches } from "./actors/node-caches.ts";
import { startNodeHeartbeats } from "./actors/node-heartbeat.ts";
import { startShutdownManagers } from "./actors/node-shutdown.ts";
import { startNodeLifecycle } from "./actors/node-lifecycle.ts";
import { createNodeStats, type NodeStats } from "./actors/node-stats.ts";
import { createOutages, type Outages } from "./actors/outages.ts";
import { startPodGarbageCollector } from "./actors/pod-garbage-collector.ts";
import type { EvictionConfiguration } from "./actors/pressure-thresholds.ts";
import { startEvictionManagers } from "./actors/pressure.ts";
import type { Lots, Scoring } from "./actors/node-score.ts";
import type { ContainerRuntime } from "./actors/runtime.ts";
import { startScheduler } from "./actors/scheduler.ts";
import { startTaintManager } from "./actors/taint-manager.ts";
import type { Role } from "./identities.ts";

export interface NodeKnobs {
  /**
   * Stops and starts a node's kubelet, as when the machine is off. Also shuts a machine down, and fails a liveness
   * probe.
   */
  readonly kubelets: Outages;
  /** Sets how much memory pods use, and how much of each resource a node has free. */
  readonly stats: NodeStats;
}

export function createNodeKnobs(): NodeKnobs {
  return { kubelets: createOutages(), stats: createNodeStats() };
}

export interface NodesOptions extends NodeKnobs {
  readonly optionsOf: (role: Role) => ActorOptions;
  readonly runtime: ContainerRuntime;
  /** The kubelets' eviction thresholds. Missing fields have the kubelet's defaults. */
  readonly eviction?: EvictionConfiguration | undefined;
}

export function startNodes({ optionsOf, runtime, kubelets: outages, stats, eviction = {} }: NodesOptions): Actor {
  const kubelets = { ...optionsOf("kubelets"), runtime, evictions: createKubeletEvictions(), outages };
  return actorOf([
    startNodeHeartbeats(kubelets),
    startKubelets(kubelets),
    startEvictionManagers({ ...kubelets, stats, configuration: eviction }),
    startShutdownManagers(kubelets),
  ]);
}

export interface NodeControllersOptions {
  readonly scoring?: Scoring | undefined;
  readonly lots?: Lots | undefined;
  /** How long a volume stays attached after the last pod that uses it, in seconds. The default is 1. */
  readonly detachSeconds?: number | undefined;
}

/** Starts all components that decide about nodes and their pods, except the kubelets and KubeVirt's components. */
export function startNodeControllers(
  optionsOf: NodesOptions["optionsOf"],
  { scoring, lots, detachSeconds = 1 }: NodeControllersOptions = {},
): Actor {
  const caches = startNodeCaches(optionsOf("controllerManager"));
  const nodeController = { ...optionsOf("nodeController"), caches };
  const actors = [
    startScheduler({ ...optionsOf("scheduler"), scoring, lots }),
    startNodeLifecycle(nodeController),
    startTaintManager(nodeController),
    startAttachDetach({ ...optionsOf("attachDetachController"), attacher: optionsOf("admin").client, detachSeconds }),
    startPodGarbageCollector({ ...optionsOf("podGarbageCollector"), caches }),
  ];
  return actorOf(actors, [caches]);
}
