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

/** Options for both kinds of control plane: simulated and real. */
export interface SandboxOptions {
  /** The API server's port. By default, or with 0, the system chooses a free port. */
  readonly port?: number;
  readonly migrationSeconds?: number;
  /** The seconds that a container takes to end after SIGTERM. */
  readonly terminationSeconds?: number;
  /** Whether KubeVirt's evacuation controller migrates VMIs that are marked for evacuation. On by default. */
  readonly evacuationController?: boolean;
  /** Whether virt-api's webhook reviews evictions. On by default. */
  readonly evictionWebhook?: boolean;
  /** Whether KubeVirt sets the descheduler's annotations on launcher pods. */
  readonly deschedulerAnnotations?: true;
  /** More feature gates of KubeVirt. The gates that the sandbox's VMs need are always on. */
  readonly featureGates?: readonly string[];
  /**
   * Whether virt-handlers run as pods of a DaemonSet, which a taint can evict. By default, each node has a virt-handler
   * that no taint ends.
   */
  readonly virtHandlerPods?: boolean;
  /** The kubelets' eviction thresholds. Missing fields get the kubelet's defaults. */
  readonly eviction?: EvictionConfiguration;
  /**
   * Images that run as processes of this machine. The pods of these images are ready when their readiness probes
   * succeed. The API server can call webhooks in these pods through Services.
   */
  readonly images?: Images;
  /** Whether controllers create the pods of Deployments and ReplicaSets. */
  readonly workloads?: true;
  /** Called with each error that makes an actor retry. */
  readonly onError?: (error: unknown, key: string) => void;
}

/** Options for a control plane that is simulated in this process. */
export interface SimulatedOptions extends Omit<SandboxOptions, "deschedulerAnnotations" | "workloads"> {
  readonly controlPlane?: undefined;
  /**
   * Whether to run only the API server, disruption controller, garbage collector and token controller. The API server
   * still serves KubeVirt's kinds.
   */
  readonly empty?: boolean;
  /** Whether KubeVirt sets the descheduler's annotations on launcher pods. Off by default. */
  readonly deschedulerAnnotations?: boolean;
  readonly clock?: Clock;
  /**
   * Whether the scheduler prefers the emptiest or the fullest node. The default is LeastAllocated (the emptiest), as in
   * kube-scheduler.
   */
  readonly scoring?: Scoring;
  /**
   * Returns a random number that decides between nodes with equal scores. By default, the node with the fewest pods
   * wins. Among nodes with equally many pods, the first by name wins.
   */
  readonly lots?: Lots;
  /** How many seconds a CSI volume stays attached after its last pod on the node has ended. The default is 1. */
  readonly detachSeconds?: number;
  /**
   * Whether controllers create the pods of Deployments and ReplicaSets. The default is true if `images` contains an
   * image, and false otherwise.
   */
  readonly workloads?: boolean;
}

/** Options for a control plane of real programs of this machine. */
export interface RealOptions extends SandboxOptions {
  readonly controlPlane: {
    /** The folder that contains `bin/` and `gen/`, as README.md describes. */
    readonly binaries: string;
    /** Whether the next sandbox of this process uses the same control plane. `stop` then only reverts all changes. */
    readonly reuse?: boolean;
  };
}

export interface Sandbox {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** The kubeconfig of the user kubernetes-admin in the group system:masters. */
  readonly kubeconfig: string;
  /**
   * The sandbox's certificate authority, which the API server trusts. This authority issues the webhooks' certificates.
   */
  readonly authority: Authority;
  readonly client: KubeClient;
  /** Stops the API server for a while, as a crash would do. All objects are kept. */
  readonly apiServer: Pick<ApiServer, "suspend" | "resume">;
  readonly migrations: { configure(options: MigrationOptions): void };
  /**
   * Stops and starts the kubelet of a node, as when the machine is off. `shutDown`: shuts the machine down gracefully,
   * until `start`. `failLivenessProbe`: makes the liveness probe of the pod `namespace/name` fail.
   */
  readonly kubelets: Pick<NodeKnobs["kubelets"], "stop" | "start" | "shutDown" | "failLivenessProbe">;
  /** Controls the pods whose images run as processes. */
  readonly processes: ProcessKnobs;
  /** Sets which program the API server calls for a webhook behind a Service. */
  readonly network: Pick<PodNetwork, "lead">;
  /** Sets how much memory each pod uses, and how much of each resource is free on a node. */
  readonly stats: Pick<NodeKnobs["stats"], "useMemory" | "setAvailable">;
  stop(): Promise<void>;
}

/** Options of migrations. A real control plane does not let a test set virt-controller's back-off. */
type MigrationOptions = Omit<Parameters<MigrationPlan["configure"]>[0], "backoffSeconds">;

export interface SimulatedSandbox extends Sandbox {
  /** Functions that control the API server, for tests. */
  readonly apiServer: Pick<ApiServer, "faults" | "suspend" | "resume" | "compact" | "aggregate">;
  readonly migrations: Pick<MigrationPlan, "configure">;
  /**
   * KubeVirt's evacuation controller, which migrates VMIs that are marked for evacuation. The controller is on by
   * default.
   */
  readonly evacuationController: { enabled: boolean };
  /** KubeVirt's annotations on launcher pods for the descheduler. The annotations are off by default. */
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

/** Functions that stop the parts of a sandbox, in reverse order of their start. */
export type Closers = (() => Promise<void> | void)[];

/** Starts a sandbox. If the start fails, stops the parts that have started. */
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
