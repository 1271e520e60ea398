/**
 * Everything that runs pods and virtual machines: scheduler, kubelets, KubeVirt.
 * Owns: installing KubeVirt and starting these together. Does not own: what they do.
 */
import type { Actor, ActorOptions } from "./actors/actor.ts";
import type { KubeClient } from "./actors/client.ts";
import { startKubelets } from "./actors/kubelet.ts";
import { startNodeHeartbeats } from "./actors/node-heartbeat.ts";
import { createContainerRuntime } from "./actors/runtime.ts";
import { startScheduler } from "./actors/scheduler.ts";
import type { Authority } from "./certificates.ts";
import type { Role } from "./identities.ts";
import { applyManifests } from "./manifests.ts";
import { KUBEVIRT, KUBEVIRT_RBAC } from "./kubevirt/manifests.ts";
import type { MigrationPlan } from "./kubevirt/migration-plan.ts";
import { kubeVirts } from "./kubevirt/resources.ts";
import { startVirtApi } from "./kubevirt/virt-api.ts";
import { startVirtController } from "./kubevirt/virt-controller.ts";
import type { EvacuationSwitch } from "./kubevirt/virt-controller/evacuation.ts";
import { startVirtHandlers } from "./kubevirt/virt-handler.ts";
import { webhookConfigurations } from "./kubevirt/webhooks/configurations.ts";

export interface MachinesOptions {
  readonly admin: KubeClient;
  readonly authority: Authority;
  readonly optionsOf: (role: Role) => ActorOptions;
  readonly plan: MigrationPlan;
  readonly evacuationController: EvacuationSwitch;
  readonly terminationSeconds: number;
}

export async function startMachines(options: MachinesOptions): Promise<Actor> {
  const { admin, authority, optionsOf, plan, evacuationController, terminationSeconds } = options;
  await applyManifests(admin, [...KUBEVIRT_RBAC, KUBEVIRT]);
  const virtApi = await startVirtApi(optionsOf("virtApi").client, authority);
  await applyManifests(admin, webhookConfigurations(virtApi.url, authority.caPem));

  const deployed = { status: { phase: "Deployed" } };
  await admin.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: deployed }, { subresource: "status" });

  const kubelets = optionsOf("kubelets");
  const runtime = createContainerRuntime(kubelets.clock, terminationSeconds * 1000);
  const actors = [
    startScheduler(optionsOf("scheduler")),
    startNodeHeartbeats(kubelets),
    startKubelets({ ...kubelets, runtime }),
    startVirtController({ ...optionsOf("virtController"), evacuationController }),
    startVirtHandlers({ ...optionsOf("virtHandler"), runtime, plan }),
  ];
  return {
    async stop() {
      await Promise.all(actors.map((actor) => actor.stop()));
      await virtApi.stop();
    },
  };
}
