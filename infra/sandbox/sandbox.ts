/**
 * A cluster in one process: an API server, the actors that bring it to life, and KubeVirt.
 * Owns: starting everything in order, each part with its account, and stopping it. Does not own: any behaviour.
 */
import { createAuthority, type Authority } from "./certificates.ts";
import { FaultPlan, startApiServer, type ApiServer } from "./apiserver/server.ts";
import type { ActorOptions } from "./actors/actor.ts";
import { createClient, type KubeClient } from "./actors/client.ts";
import { systemClock, type Clock } from "./actors/clock.ts";
import type { EvictionConfiguration } from "./actors/pressure-thresholds.ts";
import { createIdentities, USERS, type Role } from "./identities.ts";
import { kubeconfigOf, kubeconfigText } from "./kubeconfig.ts";
import { KUBEVIRT_DEFINITIONS } from "./kubevirt/kinds.ts";
import { createMigrationPlan, type MigrationPlan } from "./kubevirt/migration-plan.ts";
import { createSwitch } from "./kubevirt/switch.ts";
import { startControlPlane } from "./control-plane.ts";
import { startMachines, type MachinesOptions } from "./machines.ts";
import type { Images } from "./processes/images.ts";
import { PodNetwork } from "./processes/pod-network.ts";
import { NO_PROCESSES, type ProcessKnobs } from "./processes/processes.ts";
import { createNodeKnobs, type NodeKnobs } from "./nodes.ts";

export interface SandboxOptions {
  /** 0 or missing: any free port. */
  readonly port?: number;
  /**
   * Only the API server, disruption controller, garbage collector and token controller. KubeVirt's kinds are served.
   */
  readonly empty?: boolean;
  readonly migrationSeconds?: number;
  /** How long a container takes to end after SIGTERM. */
  readonly terminationSeconds?: number;
  /** KubeVirt's evacuation controller, which migrates marked VMIs; on by default. */
  readonly evacuationController?: boolean;
  readonly deschedulerAnnotations?: boolean;
  /** KubeVirt deletes budgets whose controller is a VMI; on by default. */
  readonly budgetDeletion?: boolean;
  /** virt-api reviews evictions; on by default. */
  readonly evictionWebhook?: boolean;
  /** The kubelets' eviction thresholds; missing fields have the kubelet's defaults. */
  readonly eviction?: EvictionConfiguration;
  readonly clock?: Clock;
  /**
   * Images that run as processes of this machine; their pods are ready when their probes say so, and webhooks reach them
   * through Services.
   */
  readonly images?: Images;
  /** Deployments and ReplicaSets get their pods; off by default, unless there are images. */
  readonly workloads?: boolean;
  /** Repeats the faults of an earlier run. */
  readonly faultSeed?: number;
  /** Gets each error that an actor will retry. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Sandbox {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** For user kubernetes-admin, group system:masters. */
  readonly kubeconfig: string;
  /** The CA that the sandbox trusts; webhooks get their serving certificates from it. */
  readonly authority: Authority;
  readonly client: KubeClient;
  /** What a test can do to the API server while it runs. */
  readonly apiServer: Pick<ApiServer, "faults" | "suspend" | "resume" | "compact" | "closeIdleAfter">;
  readonly migrations: Pick<MigrationPlan, "configure">;
  /** KubeVirt's evacuation controller, which migrates marked VMIs; on by default. */
  readonly evacuationController: { enabled: boolean };
  /** KubeVirt's annotations on launcher pods; off by default. */
  readonly deschedulerAnnotations: { enabled: boolean };
  readonly budgetDeletion: { enabled: boolean };
  /** Stops a node's kubelet, as when the machine is off, and starts it again. */
  readonly kubelets: Pick<NodeKnobs["kubelets"], "stop" | "start">;
  /** Of pods whose images run as processes. */
  readonly processes: ProcessKnobs;
  /** Where calls to webhooks behind Services end. */
  readonly network: Pick<PodNetwork, "lead">;
  /** Sets how much memory pods use, and how much of each resource a node has left. */
  readonly stats: Pick<NodeKnobs["stats"], "useMemory" | "setAvailable">;
  stop(): Promise<void>;
}

type Close = () => Promise<void> | void;

/** If the start fails, everything already started is stopped. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const closers: Close[] = [];
  const stop = async () => {
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
  };
  try {
    return { ...(await start(options, closers)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function machineOptions(options: SandboxOptions) {
  const { terminationSeconds = 1, evictionWebhook = true, eviction, images = new Map<never, never>() } = options;
  const { workloads = images.size > 0 } = options;
  return { terminationSeconds, evictionWebhook, eviction, images, workloads };
}

async function start(options: SandboxOptions, closers: Close[]): Promise<Omit<Sandbox, "stop">> {
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
    faults: new FaultPlan(options.faultSeed),
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
  const { evacuationController = true, deschedulerAnnotations = false, budgetDeletion = true } = options;
  const knobs = {
    evacuationController: createSwitch(evacuationController),
    deschedulerAnnotations: createSwitch(deschedulerAnnotations),
    budgetDeletion: createSwitch(budgetDeletion),
    ...createNodeKnobs(),
  };
  const controlPlane = startControlPlane(optionsOf, caPem);
  closers.push(() => controlPlane.stop());
  const aggregate: typeof server.aggregate = (groupVersion, api) => server.aggregate(groupVersion, api);
  const own = { admin, authority, optionsOf, plan, aggregate, network, apiServer: new URL(server.url) };
  const machines = { ...own, ...knobs, ...machineOptions(options) };
  const processes = empty ? NO_PROCESSES : await processesOf(machines, closers);
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
    ...knobs,
  };
}

async function processesOf(options: MachinesOptions, closers: Close[]): Promise<ProcessKnobs> {
  const machines = await startMachines(options);
  closers.push(() => machines.stop());
  return machines.processes;
}
