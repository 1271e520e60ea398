/**
 * Everything that runs pods and virtual machines and ends them: nodes and KubeVirt.
 * Owns: installing KubeVirt and starting both. Does not own: what they do.
 */
import { actorOf, type Actor, type ActorOptions } from "./actors/actor.ts";
import type { KubeClient } from "./actors/client.ts";
import type { EvictionConfiguration } from "./actors/pressure-thresholds.ts";
import { createContainerRuntime } from "./actors/runtime.ts";
import type { Authority } from "./certificates.ts";
import type { Role } from "./identities.ts";
import { applyManifests } from "./manifests.ts";
import { KUBEVIRT, KUBEVIRT_RBAC } from "./kubevirt/manifests.ts";
import type { MigrationPlan } from "./kubevirt/migration-plan.ts";
import { kubeVirts } from "./kubevirt/resources.ts";
import type { Switches } from "./kubevirt/switch.ts";
import { startVirtApi } from "./kubevirt/virt-api.ts";
import { startVirtController } from "./kubevirt/virt-controller.ts";
import { startVirtHandlers } from "./kubevirt/virt-handler.ts";
import { webhookConfigurations } from "./kubevirt/webhooks/configurations.ts";
import { startNodes, type NodeKnobs } from "./nodes.ts";

export interface MachinesOptions extends Switches, NodeKnobs {
  readonly admin: KubeClient;
  readonly authority: Authority;
  readonly optionsOf: (role: Role) => ActorOptions;
  readonly plan: MigrationPlan;
  readonly evictionWebhook: boolean;
  readonly terminationSeconds: number;
  readonly eviction: EvictionConfiguration | undefined;
}

export async function startMachines(options: MachinesOptions): Promise<Actor> {
  const { admin, authority, optionsOf, plan } = options;
  await applyManifests(admin, [...KUBEVIRT_RBAC, KUBEVIRT]);
  const virtApi = await startVirtApi(optionsOf("virtApi").client, authority);
  await applyManifests(admin, webhookConfigurations({ url: virtApi.url, caPem: authority.caPem }, options));

  const deployed = { status: { phase: "Deployed" } };
  await admin.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: deployed }, { subresource: "status" });

  const { clock } = optionsOf("kubelets");
  const runtime = createContainerRuntime(clock, options.terminationSeconds * 1000);
  const actors = [
    startNodes({ ...options, runtime }),
    startVirtController({ ...options, ...optionsOf("virtController") }),
    startVirtHandlers({ ...optionsOf("virtHandler"), runtime, plan }),
  ];
  return actorOf(actors, [virtApi]);
}
