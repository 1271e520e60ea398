/** Creates VMs on a stage, evicts their pods, and reads their state. */
import { expect } from "vitest";
import * as z from "zod/mini";
import { events, type KubeClient, kubevirt, type Pod, pods, waitFor } from "../../infra/sandbox/index.ts";
import { type Evacuation, evacuations } from "../../infra/lab/stage/evacuations.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { closeQueue, NAMESPACE, openQueue, type Stage } from "./stage.ts";

export type Vmi = kubevirt.VirtualMachineInstance;
export type Vm = ReturnType<typeof vmOf>;

/** Returns functions that read the current state of the VM, so that tests can poll them. */
export function vmOf({ client }: Stage, { metadata: { name, uid }, status }: Vmi) {
  const node = status?.nodeName ?? "";
  const until = (what: string, is: (vmi: Vmi) => boolean) => untilVmi(client, name, what, is);
  return {
    name,
    uid,
    node,
    vmi: () => getVmi(client, name),
    pod: () => launcherOf(client, name),
    evict: async (more?: Record<string, unknown>) => await evict(client, await launcherOf(client, name), more),
    until,
    untilMoved: () => until("moved", hasSettledAwayFrom(node)),
    untilUnmarked: () => until("unmarked", isUnmarked),
    evacuations: () => evacuationsOf(client, name),
    phases: () => phasesOf(client, name),
    migrations: () => migrationsOf(client, name),
    events: () => eventsOf(client, name, uid),
  };
}

/** Creates a VM, and lets Lifeboat create the VM's PodDisruptionBudget. By default, the VM can migrate. */
export async function createVm(stage: Stage, name: string, tweak: Partial<Parameters<Stage["createVm"]>[0]> = {}) {
  const vmi = await stage.createVm({ name, evictionStrategy: "LiveMigrate", ...tweak });
  await stage.reconcile();
  return vmOf(stage, vmi);
}

/** Returns the running launcher pods of a VMI. The pod on the VMI's node comes first. */
export async function launchersOf(client: KubeClient, vmi: Vmi): Promise<readonly Pod[]> {
  const labelSelector = `kubevirt.io/created-by=${vmi.metadata.uid}`;
  const { items } = await client.list(pods, vmi.metadata.namespace, { labelSelector });
  const running = items.filter((pod) => pod.status?.phase === "Running");
  return running.toSorted((a) => (a.spec?.nodeName === vmi.status?.nodeName ? -1 : 1));
}

export async function launcherOf(client: KubeClient, name: string, namespace = NAMESPACE): Promise<Pod> {
  const [launcher] = await launchersOf(client, await getVmi(client, name, namespace));
  if (launcher === undefined) throw new Error(`${name} has no running launcher`);
  return launcher;
}

/** Sets the pod's DisruptionTarget condition, as a controller does before it deletes the pod. */
export async function setDisrupted(client: KubeClient, pod: Pod, reason: string, since = new Date()): Promise<void> {
  const lastTransitionTime = since.toISOString().replace(/\.\d+Z$/, "Z");
  const body = { status: { conditions: [{ type: "DisruptionTarget", status: "True", reason, lastTransitionTime }] } };
  await client.patch(pods, pod.metadata, { type: "strategic", body }, { subresource: "status" });
}

export interface EvictionAnswer {
  readonly code: number;
  readonly message: string;
  readonly warnings: string;
}

/** Evicts a pod and returns the HTTP answer. The message includes `admission webhook "…" denied the request: `. */
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

export function messageOf(body: unknown): string {
  return z.object({ message: z.prefault(z.string(), "") }).parse(body).message;
}

/** Returns the Evacuations of a VMI, oldest first. */
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

export async function getVmi(client: KubeClient, name: string, namespace = NAMESPACE): Promise<Vmi> {
  const vmi = await client.get(kubevirt.virtualMachineInstances, { namespace, name });
  if (vmi === undefined) throw new Error(`no VMI ${name}`);
  return vmi;
}

export async function untilVmi(
  client: KubeClient,
  name: string,
  what: string,
  until: (vmi: Vmi) => boolean,
): Promise<Vmi> {
  const key = { namespace: NAMESPACE, name };
  const timeoutMs = 30_000 * PATIENCE;
  return await waitFor(client, { resource: kubevirt.virtualMachineInstances, key, what, until, timeoutMs });
}

/**
 * Returns a condition. It is true if the VM runs on another node, and evacuationNodeName and Lifeboat's label are
 * removed.
 */
export function hasSettledAwayFrom(node: string) {
  return ({ metadata, status }: Vmi): boolean =>
    status?.phase === "Running" &&
    status.nodeName !== node &&
    status.evacuationNodeName === undefined &&
    metadata.labels?.["lifeboat.dev/evacuation"] === undefined;
}

function isUnmarked({ metadata, status }: Vmi): boolean {
  return status?.evacuationNodeName === undefined && metadata.labels?.["lifeboat.dev/evacuation"] === undefined;
}

export async function migrationsOf(
  client: KubeClient,
  vmi: string,
): Promise<readonly kubevirt.VirtualMachineInstanceMigration[]> {
  const { items } = await client.list(kubevirt.migrations, NAMESPACE);
  return items.filter((migration) => migration.spec.vmiName === vmi);
}

/**
 * Starts a drain or an eviction while KubeVirt's queue is closed: KubeVirt starts no migration. Opens the queue when
 * each VM has an Evacuation. Without the closed queue, a VM might leave before Lifeboat has reviewed its eviction.
 */
export async function startQueued<T extends object>(
  client: KubeClient,
  names: readonly string[],
  start: () => T,
): Promise<T> {
  await closeQueue(client);
  const started = start();
  for (const name of names) {
    const found = expect.poll(() => evacuationsOf(client, name), {
      message: `Evacuations of ${name}`,
      timeout: 60_000,
    });
    await found.not.toEqual([]);
  }
  await openQueue(client);
  return started;
}

export function watchMigrations(client: KubeClient): { most: () => number; stop: () => void } {
  const started = new Set<string>();
  let most = 0;
  const stopped = new AbortController();
  const watching = (async () => {
    for await (const { type, object } of client.watch(kubevirt.migrations, {}, stopped.signal)) {
      const { phase = "" } = object.status ?? {};
      if (type === "DELETED" || ["", "Pending", "Succeeded", "Failed"].includes(phase))
        started.delete(object.metadata.uid);
      else started.add(object.metadata.uid);
      most = Math.max(most, started.size);
    }
  })();
  watching.catch(() => undefined);
  return { most: () => most, stop: () => stopped.abort() };
}

/**
 * Returns Lifeboat's Events about all VMIs with this name, oldest first. With `uid`, returns only the Events about the
 * VMI with this UID.
 */
async function eventsOf(client: KubeClient, vmi: string, uid?: string): Promise<readonly string[]> {
  const { items } = await client.list(events, NAMESPACE);
  return items
    .filter((event) => event.source?.component === "lifeboat" && event.involvedObject.name === vmi)
    .filter(({ involvedObject }) => uid === undefined || involvedObject.uid === uid)
    .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map((event) => `${event.type} ${event.reason}`);
}
