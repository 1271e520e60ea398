/**
 * A stage with the complete setup: sandbox cluster, shipped manifests, bundled Worker in workerd, and reviews over TLS.
 */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import {
  createNode,
  createVirtualMachineInstance,
  type KubeClient,
  kubevirt,
  type Resource,
  type Sandbox,
  type SandboxOptions,
  type SimulatedOptions,
  type SimulatedSandbox,
  startSandbox,
  type VirtualMachine,
} from "../../infra/sandbox/index.ts";
import { configureLifeboat } from "../../infra/lab/stage/apply.ts";
import { startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import { serverImages } from "../../infra/lab/stage/in-cluster.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { IS_IN_CLUSTER, type RunningForm, startWorkerForm } from "./form.ts";
import { startInClusterForm } from "./in-cluster-form.ts";
import { keepLogsOfFailure } from "../support/setup/keep-logs.ts";
import { startMinutes } from "./minutes.ts";

export const NAMESPACE = "vms";
export const WEBHOOK_TOKEN = "webhook-token-of-the-test";
const CLUSTER = "sandbox";
const BEARER = { authorization: `Bearer ${WEBHOOK_TOKEN}` };

export interface StageOptions extends SandboxOptions, LifeboatOptions {}

/** Options of tests with a tag from test/support/setup/simulated-only.ts. */
export interface SimulatedStageOptions extends Omit<SimulatedOptions, "controlPlane">, LifeboatOptions {}

interface LifeboatOptions {
  readonly nodes?: readonly string[];
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly onLog?: (line: string) => void;
  /** Paths of more manifests in infra/kubernetes. */
  readonly optional?: readonly string[];
  /** Starts the relay beside the Worker. In the cluster, the relay always runs. */
  readonly relay?: boolean;
  /** If true, minutes pass without a call of `tick`. True by default. */
  readonly ticking?: boolean;
}

export interface Stage<S extends Sandbox = Sandbox> {
  readonly sandbox: S;
  readonly client: KubeClient;
  stopWorker(): Promise<void>;
  restartWorker(): Promise<void>;
  /** Starts a second Worker without the state of the first Worker. The test must stop the second Worker. */
  anotherWorker(): Promise<RunningForm>;
  /** Runs the scheduled work of one minute. Every tenth minute includes a full scan. */
  tick(): Promise<void>;
  /** Applies Lifeboat's manifests again. */
  reinstall(optional?: readonly string[]): Promise<void>;
  createVm(
    vm: Omit<VirtualMachine, "namespace"> & { readonly namespace?: string },
  ): Promise<kubevirt.VirtualMachineInstance>;
  /** Requests a full scan. Afterwards every VM has its PodDisruptionBudget. */
  reconcile(): Promise<Readonly<Record<string, number>>>;
  ask(method: string, path: string): Promise<{ code: number; body: Readonly<Record<string, unknown>> }>;
  stop(): Promise<void>;
}

export type SimulatedStage = Stage<SimulatedSandbox>;

export const WEBHOOK_CONFIGURATIONS: Resource = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

export const QUICK = { evacuation: { backoffSeconds: 0.2, maxBackoffSeconds: 60 } };

export const SHORT = { migrationSeconds: 0.1, terminationSeconds: 0.05 };

/** Makes KubeVirt ignore evictions and evacuationNodeName. */
export const ALONE = { evictionWebhook: false, evacuationController: false } as const;

/** Starts the stage on the control plane that is set in the environment. */
export const startStage = (options: StageOptions = {}): Promise<Stage> => start(options, startSandboxAsChosen);

export const startSimulatedStage = (options: SimulatedStageOptions = {}): Promise<SimulatedStage> =>
  start(options, (own: Omit<SimulatedOptions, "controlPlane">) => startSandbox(own));

async function start<O extends LifeboatOptions, S extends Sandbox>(
  options: O,
  startCluster: (
    options: Omit<O, keyof LifeboatOptions> & Pick<SandboxOptions, keyof typeof SHORT | "images">,
  ) => Promise<S>,
): Promise<Stage<S>> {
  const {
    nodes = ["node01", "node02", "node03"],
    ticking = true,
    configuration = QUICK,
    onLog = () => undefined,
    optional = [],
    relay,
    ...rest
  } = options;
  const images = IS_IN_CLUSTER ? serverImages({ onOutput: onLog }) : new Map();
  const sandbox = await startCluster({ ...SHORT, images, ...rest });
  const { client } = sandbox;
  const form = await (IS_IN_CLUSTER ? startInClusterForm : startWorkerForm)(sandbox, {
    cluster: CLUSTER,
    webhookToken: WEBHOOK_TOKEN,
    optional,
    onLog,
    relay,
    configure: () => configureLifeboat(client, configuration),
  });
  await untilServed(client);
  for (const name of nodes) await createNode(client, name);
  const minutes = startMinutes((time) => form.current().scheduled(time), ticking);
  const ask: Stage["ask"] = async (method, path) => {
    const answer = await form.current().fetch(`/clusters/${CLUSTER}${path}`, { method, headers: BEARER });
    return { code: answer.status, body: z.record(z.string(), z.unknown()).parse(await answer.json()) };
  };
  return {
    sandbox,
    client,
    stopWorker: () => form.current().stop(),
    restartWorker: () => form.restart(),
    anotherWorker: () => form.another(),
    tick: () => minutes.tick(),
    reinstall: (files = []) => form.reinstall(files),
    createVm: (vm) => createVirtualMachineInstance(client, { namespace: NAMESPACE, ...vm }),
    async reconcile() {
      const { code, body } = await ask("POST", "/reconcile");
      if (code !== 200) throw new Error(`reconcile answered ${code}: ${JSON.stringify(body)}`);
      return z.record(z.string(), z.number()).parse(body["done"]);
    },
    ask,
    async stop() {
      await keepLogsOfFailure(sandbox);
      await minutes.stop();
      await form.stop();
      await sandbox.stop();
    },
  };
}

/**
 * Waits until the API server serves Lifeboat's kinds. A real API server answers 429 for a moment after a kind is
 * created.
 */
async function untilServed(client: KubeClient): Promise<void> {
  const { apiVersion, plural } = evacuations;
  const path = `/apis/${apiVersion}/${plural}`;
  while ((await client.raw({ method: "GET", path, query: { resourceVersion: "0" } })).code !== 200) await delay(50);
}

export async function closeQueue(client: KubeClient): Promise<void> {
  await setQueue(client, 0);
}

export async function openQueue(client: KubeClient): Promise<void> {
  await setQueue(client, 5);
}

async function setQueue(client: KubeClient, parallelMigrationsPerCluster: number): Promise<void> {
  const body = { spec: { configuration: { migrations: { parallelMigrationsPerCluster } } } };
  await client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
}
