/** A cluster for tests: a control plane, the actors that play its machines, and KubeVirt. */
import type { ApiServer } from "./apiserver/server.ts";
import type { KubeClient } from "./actors/client.ts";
import type { Clock } from "./actors/clock.ts";
import type { Lots, Scoring } from "./actors/node-score.ts";
import type { EvictionConfiguration } from "./actors/pressure-thresholds.ts";
import type { ProgramKnobs } from "./binaries/control-plane.ts";
import type { Authority } from "./certificates.ts";
import type { MigrationPlan } from "./kubevirt/migration-plan.ts";
import type { NodeKnobs } from "./nodes.ts";
import type { Images } from "./processes/images.ts";
import type { PodNetwork } from "./processes/pod-network.ts";
import type { ProcessKnobs } from "./processes/processes.ts";
import { startReal } from "./real.ts";
import { startSimulated } from "./simulated.ts";

/** Options of both control planes. */
export interface SandboxOptions {
  /** The API server's port. 0 or absent: a free port. */
  readonly port?: number;
  readonly migrationSeconds?: number;
  /** The seconds that a container takes to end after SIGTERM. */
  readonly terminationSeconds?: number;
  /** KubeVirt's evacuation controller, which migrates marked VMIs. On by default. */
  readonly evacuationController?: boolean;
  /** Whether virt-api reviews evictions. On by default. */
  readonly evictionWebhook?: boolean;
  /** Whether KubeVirt annotates launcher pods for the descheduler. */
  readonly deschedulerAnnotations?: true;
  /** Further feature gates of KubeVirt, besides those that the sandbox's VMs need. */
  readonly featureGates?: readonly string[];
  /**
   * Runs virt-handlers as pods of a DaemonSet, which a taint can end. Otherwise each node has a virt-handler that
   * nothing ends.
   */
  readonly virtHandlerPods?: boolean;
  /** The kubelets' eviction thresholds. Missing fields have the kubelet's defaults. */
  readonly eviction?: EvictionConfiguration;
  /**
   * Images that run as processes of this machine. Their probes decide when pods are ready, and webhooks reach them
   * through Services.
   */
  readonly images?: Images;
  /** Whether Deployments and ReplicaSets get their pods. */
  readonly workloads?: true;
  /** Called with each error after which an actor tries again. */
  readonly onError?: (error: unknown, key: string) => void;
}

/** Options of a control plane that is simulated in this process. */
export interface SimulatedOptions extends Omit<SandboxOptions, "deschedulerAnnotations" | "workloads"> {
  readonly controlPlane?: undefined;
  /**
   * Runs only the API server, disruption controller, garbage collector and token controller. KubeVirt's kinds are
   * served all the same.
   */
  readonly empty?: boolean;
  /** Whether KubeVirt annotates launcher pods for the descheduler. Off by default. */
  readonly deschedulerAnnotations?: boolean;
  readonly clock?: Clock;
  /** Which nodes the scheduler prefers by their free resources. The default is LeastAllocated, as in kube-scheduler. */
  readonly scoring?: Scoring;
  /**
   * Draws between nodes of the same score, as kube-scheduler does. Absent: the node with the fewest pods is taken, then
   * the first by name.
   */
  readonly lots?: Lots;
  /** How long a CSI volume stays attached after the last pod on the node that uses it, in seconds. The default is 1. */
  readonly detachSeconds?: number;
  /** Whether Deployments and ReplicaSets get their pods. Off by default, unless there are images. */
  readonly workloads?: boolean;
}

/** Options of a control plane that consists of real programs of this machine. */
export interface RealOptions extends SandboxOptions {
  readonly controlPlane: {
    /** The folder with `bin/` and `gen/`, as README.md describes. */
    readonly binaries: string;
    /** Whether `stop` only reverts all changes, and the next sandbox of this process uses the control plane again. */
    readonly reuse?: boolean;
  };
}

export interface Sandbox {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** The kubeconfig of user kubernetes-admin, group system:masters. */
  readonly kubeconfig: string;
  /** The certificate authority that the sandbox trusts. It issues the webhooks' certificates. */
  readonly authority: Authority;
  readonly client: KubeClient;
  /** Stops the API server for a while, as when it is killed. All state is kept. */
  readonly apiServer: Pick<ApiServer, "suspend" | "resume">;
  readonly migrations: { configure(options: MigrationOptions): void };
  /**
   * Stops and starts a node's kubelet, as when the machine is off. `shutDown`: the machine shuts down in order, until
   * the next start. `failLivenessProbe`: the probe of the pod `namespace/name` fails.
   */
  readonly kubelets: Pick<NodeKnobs["kubelets"], "stop" | "start" | "shutDown" | "failLivenessProbe">;
  /** Controls of pods whose images run as processes. */
  readonly processes: ProcessKnobs;
  /** Sets which program gets calls to a webhook behind a Service. */
  readonly network: Pick<PodNetwork, "lead">;
  /** Sets how much memory pods use, and how much of each resource a node has free. */
  readonly stats: Pick<NodeKnobs["stats"], "useMemory" | "setAvailable">;
  stop(): Promise<void>;
}

/** Options of migrations with a real control plane. virt-controller has its own back-off. */
type MigrationOptions = Omit<Parameters<MigrationPlan["configure"]>[0], "backoffSeconds">;

export interface SimulatedSandbox extends Sandbox {
  /** Controls of the API server, for tests. */
  readonly apiServer: Pick<ApiServer, "faults" | "suspend" | "resume" | "compact" | "aggregate">;
  readonly migrations: Pick<MigrationPlan, "configure">;
  /** KubeVirt's evacuation controller, which migrates marked VMIs. On by default. */
  readonly evacuationController: { enabled: boolean };
  /** KubeVirt's annotations on launcher pods. Off by default. */
  readonly deschedulerAnnotations: { enabled: boolean };
}

export interface RealSandbox extends Sandbox {
  readonly programs: ProgramKnobs;
}

export function isSimulated(sandbox: Sandbox): sandbox is SimulatedSandbox {
  return "evacuationController" in sandbox;
}

export function isReal(sandbox: Sandbox): sandbox is RealSandbox {
  return "programs" in sandbox;
}

/** Collects the parts to stop, in reverse order of their starts. */
export type Closers = (() => Promise<void> | void)[];

/** Starts a sandbox. If the start fails, stops everything that has already started. */
export async function startSandbox(options?: SimulatedOptions): Promise<SimulatedSandbox>;
export async function startSandbox(options: RealOptions): Promise<RealSandbox>;
export async function startSandbox(options: SimulatedOptions | RealOptions): Promise<Sandbox>;
export async function startSandbox(options: SimulatedOptions | RealOptions = {}): Promise<Sandbox> {
  const closers: Closers = [];
  const stop = async () => {
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
  };
  try {
    const started =
      options.controlPlane === undefined ? await startSimulated(options, closers) : await startReal(options, closers);
    return { ...started, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
