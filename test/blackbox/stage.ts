/**
 * The whole thing as it is shipped: sandbox cluster, shipped manifests, bundled Worker in workerd, reviews over TLS.
 * Owns: setting that up for a test, and what tests ask of the cluster. Does not own: expectations.
 */
import * as z from "zod/mini";
import type { KubeClient } from "../../infra/sandbox/actors/client.ts";
import { events, pods, type Pod, type Resource } from "../../infra/sandbox/actors/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { type Evacuation, evacuations } from "../../infra/tools/evacuations.ts";
import { applyLifeboat, configureLifeboat } from "../../infra/tools/apply.ts";
import { createNode, createVirtualMachineInstance, type VirtualMachine } from "../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { type ClusterEntry, type RunningWorker, startWorker } from "../../infra/tools/worker.ts";
import { startMinutes } from "./minutes.ts";

export const NAMESPACE = "vms";
export const WEBHOOK_TOKEN = "webhook-token-of-the-test";
const CLUSTER = "sandbox";
const BEARER = { authorization: `Bearer ${WEBHOOK_TOKEN}` };

export interface StageOptions extends SandboxOptions {
  readonly nodes?: readonly string[];
  /** Keys of the LifeboatConfiguration. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly onLog?: (line: string) => void;
  /** Further files of infra/kubernetes. */
  readonly optional?: readonly string[];
  /** Further keys of the cluster's entry in CLUSTERS. */
  readonly entry?: Partial<ClusterEntry>;
  /** Whether minutes pass by themselves; they do unless switched off. */
  readonly ticking?: boolean;
}

export interface Stage {
  readonly sandbox: Sandbox;
  readonly client: KubeClient;
  worker(): RunningWorker;
  /** Lifeboat down, and back at the same address. */
  stopWorker(): Promise<void>;
  restartWorker(): Promise<void>;
  /** One more, that knows nothing of the first; whoever asks for it stops it. */
  anotherWorker(): Promise<RunningWorker>;
  /** A minute passes; every tenth one brings a full scan. */
  tick(): Promise<void>;
  configure(configuration: Readonly<Record<string, unknown>>): Promise<void>;
  createVm(
    vm: Omit<VirtualMachine, "namespace"> & { readonly namespace?: string },
  ): Promise<kubevirt.VirtualMachineInstance>;
  /** How many seconds the API server waits for the guard. */
  patience(seconds: number): Promise<void>;
  /** A full scan, as some scheduler asks for it: afterwards every VM has its budget. */
  reconcile(): Promise<Readonly<Record<string, number>>>;
  ask(method: string, path: string): Promise<{ code: number; body: Readonly<Record<string, unknown>> }>;
  stop(): Promise<void>;
}

const WEBHOOK_CONFIGURATIONS: Resource = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

/** A cluster of short times: nothing in a test needs to wait for a default. */
const QUICK = { evacuation: { backoffSeconds: 0.2, maxBackoffSeconds: 60 } };

/** Of KubeVirt nothing acts on evictions and marks: Lifeboat alone does. */
export const ALONE = { evictionWebhook: false, evacuationController: false } as const;

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const {
    nodes = ["node01", "node02", "node03"],
    configuration = QUICK,
    onLog,
    optional = [],
    entry,
    ticking = true,
    ...rest
  } = options;
  const sandbox = await startSandbox({ migrationSeconds: 0.1, terminationSeconds: 0.05, ...rest });
  const { client, authority } = sandbox;
  const site = (url: string) => ({ url, caPem: authority.caPem, optional });
  const { token } = await applyLifeboat(client, site("https://127.0.0.1:1/"));
  const clusters = { [CLUSTER]: { server: sandbox.url, token, webhookToken: WEBHOOK_TOKEN, ...entry } };
  const start = (port: number) => startWorker({ authority, clusters, port, ...(onLog && { onLog }) });
  let worker = await start(0);
  await applyLifeboat(client, site(`${worker.url}/clusters/${CLUSTER}/admission/evictions/${WEBHOOK_TOKEN}`));
  await configureLifeboat(client, configuration);
  for (const name of nodes) await createNode(client, name);

  const minutes = startMinutes((time) => worker.scheduled(time), ticking);

  const ask: Stage["ask"] = async (method, path) => {
    const answer = await worker.fetch(`/clusters/${CLUSTER}${path}`, { method, headers: BEARER });
    return { code: answer.status, body: z.record(z.string(), z.unknown()).parse(await answer.json()) };
  };
  return {
    sandbox,
    client,
    worker: () => worker,
    stopWorker: () => worker.stop(),
    async restartWorker() {
      worker = await start(worker.port);
    },
    anotherWorker: () => start(0),
    tick: () => minutes.tick(),
    configure: (changed) => configureLifeboat(client, changed),
    createVm: (vm) => createVirtualMachineInstance(client, { namespace: NAMESPACE, ...vm }),
    async patience(seconds) {
      const body = [{ op: "replace", path: "/webhooks/0/timeoutSeconds", value: seconds }];
      await client.patch(WEBHOOK_CONFIGURATIONS, { name: "lifeboat-guard" }, { type: "json", body });
    },
    async reconcile() {
      const { code, body } = await ask("POST", "/reconcile");
      if (code !== 200) throw new Error(`reconcile answered ${code}: ${JSON.stringify(body)}`);
      return z.record(z.string(), z.number()).parse(body["done"]);
    },
    ask,
    async stop() {
      await minutes.stop();
      await worker.stop();
      await sandbox.stop();
    },
  };
}

/** The running launcher pods of a VMI, the one on its node first. */
export async function launchersOf(client: KubeClient, vmi: kubevirt.VirtualMachineInstance): Promise<readonly Pod[]> {
  const labelSelector = `kubevirt.io/created-by=${vmi.metadata.uid}`;
  const { items } = await client.list(pods, vmi.metadata.namespace, { labelSelector });
  const running = items.filter((pod) => pod.status?.phase === "Running");
  return running.toSorted((a) => (a.spec?.nodeName === vmi.status?.nodeName ? -1 : 1));
}

/** The pod that a VM runs in. */
export async function launcherOf(client: KubeClient, name: string, namespace = NAMESPACE): Promise<Pod> {
  const [launcher] = await launchersOf(client, await getVmi(client, name, namespace));
  if (launcher === undefined) throw new Error(`${name} has no running launcher`);
  return launcher;
}

/** KubeVirt lets no migration begin. */
export async function closeQueue(client: KubeClient): Promise<void> {
  const body = { spec: { configuration: { migrations: { parallelMigrationsPerCluster: 0 } } } };
  await client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
}

export interface EvictionAnswer {
  readonly code: number;
  readonly message: string;
  readonly warnings: string;
}

/** What any HTTP client gets who evicts a pod; `admission webhook "…" denied the request: ` is part of the message. */
export async function evict(client: KubeClient, pod: Pod, more: Record<string, unknown> = {}): Promise<EvictionAnswer> {
  const { namespace, name } = pod.metadata;
  const { annotations, ...body } = more;
  const {
    code,
    headers,
    body: answer,
  } = await client.raw({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { namespace, name, ...(annotations === undefined ? {} : { annotations }) },
      ...body,
    },
  });
  return { code, message: messageOf(answer), warnings: [headers["warning"] ?? ""].flat().join(", ") };
}

/** Of a Status. An answer that is an object has none. */
export function messageOf(body: unknown): string {
  return z.object({ message: z.prefault(z.string(), "") }).parse(body).message;
}

/** Of a VMI, oldest first. */
export async function evacuationsOf(client: KubeClient, vmi: string): Promise<readonly Evacuation[]> {
  const { items } = await client.list(evacuations, NAMESPACE);
  const own = items.filter(({ spec }) => spec.virtualMachineInstance.name === vmi);
  return own.toSorted((a, b) => ordinalOf(a) - ordinalOf(b));
}

function ordinalOf({ metadata }: Evacuation): number {
  return Number(/-(\d+)$/.exec(metadata.name)?.[1] ?? 0);
}

export async function phasesOf(client: KubeClient, vmi: string): Promise<readonly (string | undefined)[]> {
  return (await evacuationsOf(client, vmi)).map(({ status }) => status?.phase);
}

export async function getVmi(
  client: KubeClient,
  name: string,
  namespace = NAMESPACE,
): Promise<kubevirt.VirtualMachineInstance> {
  const vmi = await client.get(kubevirt.virtualMachineInstances, { namespace, name });
  if (vmi === undefined) throw new Error(`no VMI ${name}`);
  return vmi;
}

export async function untilVmi(
  client: KubeClient,
  name: string,
  what: string,
  until: (vmi: kubevirt.VirtualMachineInstance) => boolean,
): Promise<kubevirt.VirtualMachineInstance> {
  const key = { namespace: NAMESPACE, name };
  return await waitFor(client, { resource: kubevirt.virtualMachineInstances, key, what, until });
}

/** It runs on another node, and nothing of the evacuation is left on it. */
export function hasSettledAwayFrom(node: string) {
  return ({ metadata, status }: kubevirt.VirtualMachineInstance): boolean =>
    status?.phase === "Running" &&
    status.nodeName !== node &&
    status.evacuationNodeName === undefined &&
    metadata.labels?.["lifeboat.dev/evacuation"] === undefined;
}

export async function migrationsOf(
  client: KubeClient,
  vmi: string,
): Promise<readonly kubevirt.VirtualMachineInstanceMigration[]> {
  const { items } = await client.list(kubevirt.migrations, NAMESPACE);
  return items.filter((migration) => migration.spec.vmiName === vmi);
}

/** What Lifeboat has written on the migrations of a VMI, by one of its next looks. */
export async function causesOf(client: KubeClient, vmi: string): Promise<readonly (string | undefined)[]> {
  return (await migrationsOf(client, vmi)).map(({ metadata }) => metadata.annotations?.["lifeboat.dev/cause"]);
}

/** Lifeboat's sentences about a VMI, oldest first. */
export async function storyOf(client: KubeClient, vmi: string): Promise<readonly string[]> {
  const { items } = await client.list(events, NAMESPACE);
  return items
    .filter((event) => event.source?.component === "lifeboat" && event.involvedObject.name === vmi)
    .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map((event) => `${event.type} ${event.reason}`);
}
