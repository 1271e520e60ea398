/**
 * Everything that runs pods and virtual machines and ends them: nodes and KubeVirt.
 * Owns: installing KubeVirt and starting both. Does not own: what they do.
 */
import { actorOf, type Actor, type ActorOptions } from "./actors/actor.ts";
import type { KubeClient } from "./actors/client.ts";
import type { EvictionConfiguration } from "./actors/pressure-thresholds.ts";
import type { Pod } from "./actors/resources.ts";
import { startDeployments } from "./actors/deployments.ts";
import { startReplicaSets } from "./actors/replica-sets.ts";
import { createContainerRuntime } from "./actors/runtime.ts";
import type { ApiServer } from "./apiserver/server.ts";
import type { Authority } from "./certificates.ts";
import type { Role } from "./identities.ts";
import { applyManifests } from "./manifests.ts";
import { KUBEVIRT, KUBEVIRT_RBAC } from "./kubevirt/manifests.ts";
import type { MigrationPlan } from "./kubevirt/migration-plan.ts";
import { kubeVirts } from "./kubevirt/resources.ts";
import type { Switches } from "./kubevirt/switch.ts";
import { SUBRESOURCES } from "./kubevirt/subresources.ts";
import { startVirtApi } from "./kubevirt/virt-api.ts";
import { startVirtController } from "./kubevirt/virt-controller.ts";
import { startVirtHandlers } from "./kubevirt/virt-handler.ts";
import { webhookConfigurations } from "./kubevirt/webhooks/configurations.ts";
import { imageOf, type Images } from "./processes/images.ts";
import type { PodNetwork } from "./processes/pod-network.ts";
import { startProcesses, type Processes } from "./processes/processes.ts";
import { startNodes, type NodeKnobs } from "./nodes.ts";

export interface MachinesOptions extends Switches, NodeKnobs {
  readonly admin: KubeClient;
  readonly authority: Authority;
  readonly optionsOf: (role: Role) => ActorOptions;
  readonly plan: MigrationPlan;
  readonly evictionWebhook: boolean;
  readonly aggregate: ApiServer["aggregate"];
  readonly terminationSeconds: number;
  readonly eviction: EvictionConfiguration | undefined;
  /** Whether Deployments and ReplicaSets get their pods. */
  readonly workloads: boolean;
  readonly images: Images;
  readonly network: PodNetwork;
  readonly apiServer: URL;
}

export interface Machines extends Actor {
  readonly processes: Processes;
}

export async function startMachines(options: MachinesOptions): Promise<Machines> {
  const { admin, authority, optionsOf, plan } = options;
  await applyManifests(admin, [...KUBEVIRT_RBAC, KUBEVIRT]);
  const virtApi = await startVirtApi(optionsOf("virtApi").client, authority);
  options.aggregate(SUBRESOURCES, { url: virtApi.url, caPem: authority.caPem });
  await applyManifests(admin, webhookConfigurations({ url: virtApi.url, caPem: authority.caPem }, options));

  const deployed = { status: { phase: "Deployed" } };
  await admin.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: deployed }, { subresource: "status" });

  const { images } = options;
  const kubelets = optionsOf("kubelets");
  const isReal = (pod: Pod) => imageOf(pod, images) !== undefined;
  const runtime = createContainerRuntime(kubelets.clock, options.terminationSeconds * 1000, isReal);
  const processes = startProcesses({ ...options, ...kubelets, runtime, caPem: authority.caPem });
  const actors = [
    startNodes({ ...options, runtime }),
    startVirtController({ ...options, ...optionsOf("virtController") }),
    startVirtHandlers({ ...optionsOf("virtHandler"), runtime, plan }),
    ...(options.workloads ? [startDeployments, startReplicaSets].map((start) => start(optionsOf("admin"))) : []),
  ];
  return { ...actorOf(actors, [processes], [virtApi]), processes };
}
