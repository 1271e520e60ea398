/** A sandbox whose control plane consists of real programs. Its machines and its network are simulated. */
import type { ActorOptions } from "./actors/actor.ts";
import { createClient } from "./actors/client.ts";
import { systemClock } from "./actors/clock.ts";
import { startKubeProxy } from "./actors/kube-proxy.ts";
import { startRealControlPlane } from "./binaries/control-plane.ts";
import { borrowControlPlane } from "./binaries/reuse.ts";
import { USERS, type Role } from "./identities.ts";
import { kubeconfigOf, kubeconfigText } from "./kubeconfig.ts";
import { createMigrationPlan } from "./kubevirt/migration-plan.ts";
import { machineOptions, startMachines } from "./machines.ts";
import { createNodeKnobs } from "./nodes.ts";
import { PodNetwork } from "./processes/pod-network.ts";
import type { Closers, RealOptions, RealSandbox } from "./sandbox.ts";

export async function startReal(options: RealOptions, closers: Closers): Promise<Omit<RealSandbox, "stop">> {
  const { controlPlane, port = 0, onError } = options;
  const { evacuationController = true, evictionWebhook = true, featureGates = [] } = options;
  const start = controlPlane.reuse === true ? borrowControlPlane : startRealControlPlane;
  const plane = await start({ directory: controlPlane.binaries, port });
  closers.push(() => plane.stop());
  await plane.begin({ evacuationController, evictionWebhook, featureGates });
  const { url, authority, tokenOf, knobs: programs } = plane;
  const { caPem } = authority;
  const credentialsOf = (role: Role) => ({ url, caPem, user: USERS[role].user, token: tokenOf(role) });
  const optionsOf = (role: Role): ActorOptions => {
    const client = createClient(kubeconfigOf(credentialsOf(role)));
    closers.push(() => client.close());
    return { client, clock: systemClock, ...(onError && { onError }) };
  };
  const admin = optionsOf("admin");
  const plan = createMigrationPlan(options.migrationSeconds);
  const network = new PodNetwork();
  const nodeKnobs = createNodeKnobs();
  const proxy = startKubeProxy({ ...admin, network });
  closers.push(() => proxy.stop());
  const machines = startMachines({
    ...nodeKnobs,
    ...machineOptions(options),
    caPem,
    optionsOf,
    plan,
    network,
    apiServer: url,
  });
  closers.push(() => machines.stop());
  return {
    url,
    caPem,
    adminToken: tokenOf("admin"),
    kubeconfig: kubeconfigText(credentialsOf("admin")),
    authority,
    client: admin.client,
    apiServer: {
      suspend: () => programs.kill("kube-apiserver"),
      resume: () => programs.start("kube-apiserver"),
    },
    migrations: plan,
    network,
    processes: machines.processes,
    programs,
    ...nodeKnobs,
  };
}
