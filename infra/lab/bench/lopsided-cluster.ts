/** A lopsided cluster in an API server, and as it was before a cycle of descheduling. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import * as core from "../../sandbox/actors/resources.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { evacuations } from "../stage/evacuations.ts";
import { inParallel, numbered } from "../../tools/in-parallel.ts";
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
  await inParallel(vms, CONCURRENCY, async (vm) => {
    const { metadata } = await createPod(client, launcherOf(vm), "Launcher");
    const body = { status: { activePods: { [metadata.uid]: vm.node } } };
    await client.patch(kubevirt.virtualMachineInstances, vm, { type: "merge", body });
  });
  const others = planned.flatMap((node) => node.pods);
  await inParallel(others, CONCURRENCY, (pod) => createPod(client, podOf(pod), pod.kind));
}

/** As after a while: a pod is created without a status, which its kubelet tells. */
async function createPod(client: KubeClient, draft: core.Draft<core.Pod>, kind: PodKind): Promise<core.Pod> {
  const created = await client.create(core.pods, draft);
  const patch = { type: "merge", body: { status: statusOf(kind) } } as const;
  await client.patch(core.pods, created.metadata, patch, { subresource: "status" });
  return created;
}

const LEASE = { namespace: "lifeboat-system", name: "lifeboat-descheduling" };

/** As if these pods (`namespace/name`) had never been asked to go, and no cycle had ever been. */
export async function undo(client: KubeClient, nodes: number, requested: readonly string[]): Promise<void> {
  const planned = new Map(numbered(nodes).flatMap((index) => planNode(index).pods.map((pod) => [keyOf(pod), pod])));
  await inParallel(requested, CONCURRENCY, async (key) => {
    const pod = planned.get(key);
    await (pod === undefined ? forgetEvacuation(client, core.parseKey(key)) : replace(client, pod));
  });
  await client.delete(core.leases, LEASE);
}

function keyOf({ namespace, name }: PlannedPod): string {
  return `${namespace}/${name}`;
}

/** Only one that has ended can be deleted. */
async function forgetEvacuation(client: KubeClient, { namespace = "", name: pod }: core.Key): Promise<void> {
  const vm = vmNameOf(pod);
  const { items } = await client.list(evacuations, namespace);
  for (const { metadata } of items.filter(({ spec }) => spec.virtualMachineInstance.name === vm)) {
    await client.patch(
      evacuations,
      metadata,
      { type: "merge", body: { status: { phase: "Gone" } } },
      { subresource: "status" },
    );
    await client.delete(evacuations, metadata);
  }
}

/** There is no kubelet that would end it. */
async function replace(client: KubeClient, pod: PlannedPod): Promise<void> {
  await client.delete(core.pods, pod, { gracePeriodSeconds: 0 });
  await createPod(client, podOf(pod), pod.kind);
}
