/** A cluster for tests: a control plane, simulated machines, and KubeVirt. */
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

export interface SandboxOptions {
  /** The port of the API server. By default, the system chooses a free port. */
  readonly port?: number;
  readonly migrationSeconds?: number;
  /** How many seconds a container runs after it has received SIGTERM. */
  readonly terminationSeconds?: number;
  /** Whether KubeVirt's evacuation controller runs. The default is true. */
  readonly evacuationController?: boolean;
  /** Whether virt-api's webhook reviews evictions. The default is true. */
  readonly evictionWebhook?: boolean;
  readonly deschedulerAnnotations?: true;
  /** Additional feature gates of KubeVirt. The gates that the sandbox's VMs need are always on. */
  readonly featureGates?: readonly string[];
  /** Whether virt-handlers run as pods of a DaemonSet. A taint can evict these pods. The default is false. */
  readonly virtHandlerPods?: boolean;
  /** The eviction thresholds of the kubelets. Missing fields get the kubelet's defaults. */
  readonly eviction?: EvictionConfiguration;
  /**
   * Images that run as processes of this machine. The pods of these images are ready when their readiness probes
   * succeed. The API server can call webhooks in these pods through Services.
   */
  readonly images?: Images;
  /** Whether controllers create the pods of Deployments and ReplicaSets. */
  readonly workloads?: true;
  /** Receives each error after which a controller or kubelet retries. */
  readonly onError?: (error: unknown, key: string) => void;
}

/** Options for a control plane that is simulated in this process. */
export interface SimulatedOptions extends Omit<SandboxOptions, "deschedulerAnnotations" | "workloads"> {
  readonly controlPlane?: undefined;
  /**
   * Whether to run only the API server, the disruption controller, the garbage collector and the token controller. The
   * API server still serves KubeVirt's kinds.
   */
  readonly empty?: boolean;
  /** Whether KubeVirt sets the descheduler's annotations on launcher pods. The default is false. */
  readonly deschedulerAnnotations?: boolean;
  readonly clock?: Clock;
  /**
   * Whether the scheduler prefers the emptiest node (LeastAllocated) or the fullest node. The default is
   * LeastAllocated.
   */
  readonly scoring?: Scoring;
  /**
   * Returns a random number, by which the scheduler chooses between nodes with equal scores. By default, the scheduler
   * chooses the node with the fewest pods. If these numbers are also equal, it chooses the first by name.
   */
  readonly lots?: Lots;
  /** How many seconds a CSI volume stays attached after the last pod has stopped using it. The default is 1. */
  readonly detachSeconds?: number;
  /**
   * Whether controllers create the pods of Deployments and ReplicaSets. The default is true if `images` contains an
   * image.
   */
  readonly workloads?: boolean;
}

export interface RealOptions extends SandboxOptions {
  readonly controlPlane: {
    /** The folder with the programs. README.md describes this folder. */
    readonly binaries: string;
    /** If true, `stop` keeps the control plane for the next sandbox of this process, and reverts all changes. */
    readonly reuse?: boolean;
  };
}

export interface Sandbox {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** The kubeconfig of the user kubernetes-admin in the group system:masters. */
  readonly kubeconfig: string;
  /** The sandbox's certificate authority. The API server trusts this authority. */
  readonly authority: Authority;
  readonly client: KubeClient;
  /** Stops and restarts the API server. All objects survive. */
  readonly apiServer: Pick<ApiServer, "suspend" | "resume">;
  readonly migrations: { configure(options: MigrationOptions): void };
  /**
   * Stops and starts the kubelet of a node. `shutDown` shuts the machine down gracefully, until `start` is called.
   * `failLivenessProbe` makes the liveness probe of the pod `namespace/name` fail.
   */
  readonly kubelets: Pick<NodeKnobs["kubelets"], "stop" | "start" | "shutDown" | "failLivenessProbe">;
  readonly processes: ProcessKnobs;
  /** Sets which program the API server calls for a webhook behind a Service. */
  readonly network: Pick<PodNetwork, "lead">;
  /** Sets the memory usage of pods, and the free resources of nodes. */
  readonly stats: Pick<NodeKnobs["stats"], "useMemory" | "setAvailable">;
  stop(): Promise<void>;
}

/** A real control plane does not let a test set virt-controller's back-off. */
type MigrationOptions = Omit<Parameters<MigrationPlan["configure"]>[0], "backoffSeconds">;

export interface SimulatedSandbox extends Sandbox {
  readonly apiServer: Pick<ApiServer, "faults" | "suspend" | "resume" | "compact" | "aggregate">;
  readonly migrations: Pick<MigrationPlan, "configure">;
  /** KubeVirt's evacuation controller. It is enabled by default. */
  readonly evacuationController: { enabled: boolean };
  /** KubeVirt's annotations on launcher pods for the descheduler. They are disabled by default. */
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

/** Functions that stop the parts of a sandbox. They are called in reverse order. */
export type Closers = (() => Promise<void> | void)[];

/** Starts a sandbox. If an error occurs, stops all parts that have started. */
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
