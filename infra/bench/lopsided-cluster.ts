/**
 * A lopsided cluster in an API server, and as it was before a cycle of descheduling.
 * Owns: creating what is planned, who answers evictions of VMs there, undoing what was requested. Does not own: the plan
 * (lopsided-plan.ts), cycles (pass.ts).
 */
import { createAuthority } from "../sandbox/certificates.ts";
import type { KubeClient } from "../sandbox/actors/client.ts";
import * as core from "../sandbox/actors/resources.ts";
import { startVirtApi } from "../sandbox/kubevirt/virt-api.ts";
import * as kubevirt from "../sandbox/kubevirt/resources.ts";
import { webhookConfigurations } from "../sandbox/kubevirt/webhooks/configurations.ts";
import { applyManifests } from "../sandbox/manifests.ts";
import { inParallel, numbered } from "../tools/in-parallel.ts";
import { launcherOf, nodeOf, podOf, statusOf } from "./lopsided-objects.ts";
import { planNode, type PlannedPod, type PodKind } from "./lopsided-plan.ts";
import { createPlannedVms, vmNameOf } from "./population.ts";

/** Requests under way at a time: the API server is the bottleneck. */
const CONCURRENCY = 32;

/** Nodes `from` up to `to`, with everything on them. */
export async function createNodes(client: KubeClient, from: number, to: number): Promise<void> {
  const planned = numbered(to).slice(from).map(planNode);
  const before = new Set(numbered(from).map((index) => planNode(index).namespace));
  const namespaces = [...new Set(planned.map(({ namespace }) => namespace))].filter((name) => !before.has(name));
  await inParallel(namespaces, CONCURRENCY, (name) => client.create(core.namespaces, { metadata: { name } }));
  await inParallel(planned, CONCURRENCY, (node) => client.create(core.nodes, nodeOf(node)));
  const vms = await createPlannedVms(
    client,
    planned.flatMap((node) => node.vms),
  );
  await inParallel(vms, CONCURRENCY, (vm) => createPod(client, launcherOf(vm), "Launcher"));
  const others = planned.flatMap((node) => node.pods);
  await inParallel(others, CONCURRENCY, (pod) => createPod(client, podOf(pod), pod.kind));
}

/** As after a while: a pod is created without a status, which its kubelet tells. */
async function createPod(client: KubeClient, draft: core.Draft<core.Pod>, kind: PodKind): Promise<void> {
  const { metadata } = await client.create(core.pods, draft);
  const patch = { type: "merge", body: { status: statusOf(kind) } } as const;
  await client.patch(core.pods, metadata, patch, { subresource: "status" });
}

/**
 * KubeVirt's own webhook for evictions, which marks the VMI and says so in a 429. Its others stay out: no VMI is created
 * or changed here by clients that they would refuse. Resolves to what stops it.
 */
export async function answerEvictions(client: KubeClient): Promise<() => Promise<void>> {
  const authority = await createAuthority("lifeboat-bench-virt-api");
  const virtApi = await startVirtApi(client, authority);
  const address = { url: virtApi.url, caPem: authority.caPem };
  const all = webhookConfigurations(address, { evictionWebhook: true });
  await applyManifests(
    client,
    all.filter(({ kind }) => kind === "ValidatingWebhookConfiguration"),
  );
  return () => virtApi.stop();
}

const REGISTER = { namespace: "lifeboat-system", name: "lifeboat-descheduling" };

/** As if these pods (`namespace/name`) had never been asked to go, and no cycle had ever been. */
export async function undo(client: KubeClient, nodes: number, requested: readonly string[]): Promise<void> {
  const planned = new Map(numbered(nodes).flatMap((index) => planNode(index).pods.map((pod) => [keyOf(pod), pod])));
  await inParallel(requested, CONCURRENCY, async (key) => {
    const pod = planned.get(key);
    await (pod === undefined ? forgetEvacuation(client, core.parseKey(key)) : replace(client, pod));
  });
  await client.delete(core.configMaps, REGISTER);
}

function keyOf({ namespace, name }: PlannedPod): string {
  return `${namespace}/${name}`;
}

async function forgetEvacuation(client: KubeClient, { namespace, name }: core.Key): Promise<void> {
  const annotations = { "lifeboat.dev/evacuation-requested": null };
  await client.patch(core.pods, { namespace, name }, { type: "merge", body: { metadata: { annotations } } });
  const unmarked = {
    metadata: { annotations: { "kubevirt.io/eviction-source": null } },
    status: { evacuationNodeName: null },
  };
  const vmi = { namespace, name: vmNameOf(name) };
  await client.patch(kubevirt.virtualMachineInstances, vmi, { type: "merge", body: unmarked });
}

/** There is no kubelet that would end it. */
async function replace(client: KubeClient, pod: PlannedPod): Promise<void> {
  await client.delete(core.pods, pod, { gracePeriodSeconds: 0 });
  await createPod(client, podOf(pod), pod.kind);
}
