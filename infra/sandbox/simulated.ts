/** The simulated control plane: an API server in memory, and simulated controllers. */
import { createAuthority } from "./certificates.ts";
import { startApiServer, type ApiServer } from "./apiserver/server.ts";
import { actorOf, type Actor, type ActorOptions } from "./actors/actor.ts";
import { createClient } from "./actors/client.ts";
import { systemClock } from "./actors/clock.ts";
import { startDeployments } from "./actors/deployments.ts";
import { startReplicaSets } from "./actors/replica-sets.ts";
import type { Authority } from "./certificates.ts";
import { startControlPlane } from "./control-plane.ts";
import { createIdentities, USERS, type Role } from "./identities.ts";
import { kubeconfigOf, kubeconfigText } from "./kubeconfig.ts";
import { KUBEVIRT_DEFINITIONS } from "./kubevirt/kinds.ts";
import { DEPLOYED, KUBEVIRT, KUBEVIRT_RBAC, withGates } from "./kubevirt/manifests.ts";
import { createMigrationPlan } from "./kubevirt/migration-plan.ts";
import { kubeVirts } from "./kubevirt/resources.ts";
import { SUBRESOURCES } from "./kubevirt/subresources.ts";
import { createSwitch, type Switches } from "./kubevirt/switch.ts";
import { startVirtApi } from "./kubevirt/virt-api.ts";
import { startVirtController } from "./kubevirt/virt-controller.ts";
import { webhookConfigurations } from "./kubevirt/webhooks/configurations.ts";
import { machineOptions, startMachines, type MachinesOptions } from "./machines.ts";
import { applyManifests } from "./manifests.ts";
import { createNodeKnobs, type NodeControllersOptions, startNodeControllers } from "./nodes.ts";
import { PodNetwork } from "./processes/pod-network.ts";
import { NO_PROCESSES, type ProcessKnobs } from "./processes/processes.ts";
import type { Closers, SimulatedOptions, SimulatedSandbox } from "./sandbox.ts";

export async function startSimulated(
  options: SimulatedOptions,
  closers: Closers,
): Promise<Omit<SimulatedSandbox, "stop">> {
  const { port = 0, clock = systemClock, empty = false, onError } = options;
  const authority = await createAuthority("kubevirt-sandbox");
  const { caPem } = authority;
  const { tokens, tokenOf } = createIdentities();
  const network = new PodNetwork();
  const server = await startApiServer({
    authority,
    network,
    port,
    tokens,
    definitions: KUBEVIRT_DEFINITIONS,
    now: () => clock.now(),
  });
  closers.push(() => server.stop());
  const credentialsOf = (role: Role) => ({ url: server.url, caPem, user: USERS[role].user, token: tokenOf(role) });
  const optionsOf = (role: Role): ActorOptions => {
    const client = createClient(kubeconfigOf(credentialsOf(role)));
    closers.push(() => client.close());
    return { client, clock, ...(onError && { onError }) };
  };

  const admin = optionsOf("admin").client;
  const plan = createMigrationPlan(options.migrationSeconds);
  const switches = switchesOf(options);
  const nodeKnobs = createNodeKnobs();
  const controlPlane = startControlPlane(optionsOf, { caPem, issueToken: (of) => server.issueSecretToken(of) });
  closers.push(() => controlPlane.stop());
  const machines = { ...nodeKnobs, ...machineOptions(options), caPem, optionsOf, plan, network, apiServer: server.url };
  const {
    evictionWebhook = true,
    featureGates = [],
    images,
    workloads = images !== undefined && images.size > 0,
  } = options;
  const parts = {
    ...machines,
    switches,
    authority,
    server,
    evictionWebhook,
    featureGates,
    workloads,
    scoring: options.scoring,
    lots: options.lots,
    detachSeconds: options.detachSeconds,
  };
  const processes = empty ? NO_PROCESSES : await startParts(parts, closers);
  return {
    url: server.url,
    caPem,
    adminToken: tokenOf("admin"),
    kubeconfig: kubeconfigText(credentialsOf("admin")),
    authority,
    client: admin,
    apiServer: server,
    migrations: plan,
    network,
    processes,
    ...switches,
    ...nodeKnobs,
  };
}

function switchesOf(options: SimulatedOptions): Switches {
  const { evacuationController = true, deschedulerAnnotations = false } = options;
  return {
    evacuationController: createSwitch(evacuationController),
    deschedulerAnnotations: createSwitch(deschedulerAnnotations),
  };
}

interface Parts extends MachinesOptions, NodeControllersOptions {
  readonly switches: Switches;
  readonly authority: Authority;
  readonly server: ApiServer;
  readonly evictionWebhook: boolean;
  readonly featureGates: readonly string[];
  readonly workloads: boolean;
}

async function startParts(options: Parts, closers: Closers): Promise<ProcessKnobs> {
  const { optionsOf, server } = options;
  const virtApi = await installKubeVirt(options, server);
  closers.push(() => virtApi.stop());
  const machines = startMachines(options);
  const controllers = actorOf([
    startNodeControllers(optionsOf, options),
    startVirtController({ ...options.switches, plan: options.plan, ...optionsOf("virtController") }),
    ...(options.workloads ? [startDeployments, startReplicaSets].map((start) => start(optionsOf("admin"))) : []),
  ]);
  closers.push(async () => void (await Promise.all([machines.stop(), controllers.stop()])));
  return machines.processes;
}

async function installKubeVirt(parts: Parts, server: ApiServer): Promise<Actor> {
  const { optionsOf, authority, evictionWebhook, featureGates } = parts;
  const { client } = optionsOf("admin");
  const { caPem } = authority;
  await applyManifests(client, [...KUBEVIRT_RBAC, KUBEVIRT]);
  const virtApi = await startVirtApi(optionsOf("virtApi").client, authority);
  server.aggregate(SUBRESOURCES, { url: virtApi.url, caPem });
  await applyManifests(client, webhookConfigurations({ url: virtApi.url, caPem }, { evictionWebhook }));
  await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: { spec: withGates(featureGates) } });
  const deployed = { status: DEPLOYED };
  await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: deployed }, { subresource: "status" });
  return virtApi;
}
