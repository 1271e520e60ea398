/** Simulates the machines of a cluster: kubelets with nodes and pods, and virt-handlers. */
import { actorOf, type Actor, type ActorOptions } from "./actors/actor.ts";
import type { EvictionConfiguration } from "./actors/pressure-thresholds.ts";
import type { Pod } from "./actors/resources.ts";
import { createContainerRuntime } from "./actors/runtime.ts";
import type { Role } from "./identities.ts";
import type { MigrationPlan } from "./kubevirt/migration-plan.ts";
import { startVirtHandlers } from "./kubevirt/virt-handler.ts";
import { startVirtHandlerPods } from "./kubevirt/virt-handler/daemon-set.ts";
import { imageOf, type Images } from "./processes/images.ts";
import type { PodNetwork } from "./processes/pod-network.ts";
import { startProcesses, type Processes } from "./processes/processes.ts";
import { startNodes, type NodeKnobs } from "./nodes.ts";
import type { SandboxOptions } from "./sandbox.ts";

export interface MachinesOptions extends NodeKnobs, ReturnType<typeof machineOptions> {
  readonly caPem: string;
  readonly optionsOf: (role: Role) => ActorOptions;
  readonly plan: MigrationPlan;
  readonly network: PodNetwork;
  readonly apiServer: string;
}

interface Wanted {
  readonly terminationSeconds: number;
  readonly eviction: EvictionConfiguration | undefined;
  readonly images: Images;
  readonly virtHandlerPods: boolean;
}

export function machineOptions(options: Pick<SandboxOptions, keyof Wanted>): Wanted {
  const { terminationSeconds = 1, eviction, images = new Map<never, never>(), virtHandlerPods = false } = options;
  return { terminationSeconds, eviction, images, virtHandlerPods };
}

export interface Machines extends Actor {
  readonly processes: Processes;
}

export function startMachines(options: MachinesOptions): Machines {
  const { optionsOf, plan, images, caPem, network } = options;
  const kubelets = optionsOf("kubelets");
  const isReal = (pod: Pod) => imageOf(pod, images) !== undefined;
  const runtime = createContainerRuntime(kubelets.clock, options.terminationSeconds * 1000, isReal);
  const apiServer = new URL(options.apiServer);
  const processes = startProcesses({ ...kubelets, runtime, images, network, apiServer, caPem });
  const presence = options.virtHandlerPods ? startVirtHandlerPods(optionsOf("admin")) : undefined;
  const actors = [
    startNodes({ ...options, runtime }),
    startVirtHandlers({ ...optionsOf("virtHandler"), runtime, plan, outages: options.kubelets, presence }),
    ...(presence === undefined ? [] : [presence]),
  ];
  return { ...actorOf(actors, [processes]), processes };
}
