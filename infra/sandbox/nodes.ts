/** Starts the components that manage nodes, such as the kubelets. */
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
  /** Stops and starts kubelets, shuts machines down, and makes liveness probes fail. */
  readonly kubelets: Outages;
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
  /** The seconds until a volume is detached after its last pod on the node has ended. Defaults to 1. */
  readonly detachSeconds?: number | undefined;
}

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
