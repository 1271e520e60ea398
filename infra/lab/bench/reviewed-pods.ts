/** The pods whose evictions are reviewed: of VMs that are asked for the first time, of VMs that have been asked before, and of no VM. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { pods } from "../../sandbox/actors/resources.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { configureLifeboat } from "../stage/apply.ts";
import { evacuations } from "../stage/evacuations.ts";
import { installLifeboat } from "./api-server.ts";
import { inParallel, numbered } from "../../tools/in-parallel.ts";
import * as population from "./population.ts";
import type { Kind } from "./reviews.ts";

export interface ReviewedPod {
  readonly namespace: string;
  readonly name: string;
}

export type ReviewedPods = Readonly<Record<Kind, readonly ReviewedPod[]>>;

/** Nothing acts in this cluster, and Lifeboat waits for KubeVirt for longer than the benchmark takes. */
const evacuation = { adoptSeconds: 604_800 };

/** Whether VMs have budgets. */
export async function configureBudgets(client: KubeClient, budgeted: boolean): Promise<void> {
  await configureLifeboat(client, { evacuation, disruptionBudgets: budgeted ? "Always" : "Never" });
}

/** So many of each kind, with Lifeboat installed: namespaces of VMs for each kind of eviction, and pods of neither. */
export async function createReviewedPods(client: KubeClient, count: number): Promise<ReviewedPods> {
  await installLifeboat(client, { evacuation });
  const apart = Math.ceil(count / population.VMS_PER_NAMESPACE) * population.VMS_PER_NAMESPACE;
  await population.createPlaces(client, 0, apart + count);
  const launchersOf = async (from: number) => {
    return await createLaunchers(client, await population.createVms(client, from, from + count));
  };
  const first = await launchersOf(0);
  const repeat = await launchersOf(apart);
  const plain = await population.createPlainPods(client, count, 1);
  const ordinary = plain.map(({ metadata: { namespace = "", name } }) => ({ namespace, name }));
  return { ordinary, first, repeat };
}

/** Of so many VMs in one namespace, without budgets. */
export async function createLeavingPods(client: KubeClient, count: number): Promise<readonly ReviewedPod[]> {
  await installLifeboat(client, { evacuation });
  await configureBudgets(client, false);
  await population.createPlaces(client, 0, count);
  const { namespace } = population.planVm(0);
  const planned = numbered(count).map((index) => ({ ...population.planVm(index), namespace }));
  return await createLaunchers(client, await population.createPlannedVms(client, planned));
}

async function createLaunchers(client: KubeClient, vms: readonly population.Vm[]): Promise<readonly ReviewedPod[]> {
  // Budgets grow with the first mark, and growing them again costs the same.
  await population.observeBudgets(client, await population.createBudgets(client, vms, 2));
  const created = await population.createLaunchers(client, vms);
  await inParallel(created, 8, (pod) => client.patch(pods, pod.metadata, READY, { subresource: "status" }));
  return vms.map((vm) => ({ namespace: vm.namespace, name: population.launcherName(vm) }));
}

const READY = {
  type: "merge",
  body: { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
} as const;

/** As before the first review: no mark, no Evacuation. */
export async function forget(client: KubeClient, launchers: readonly ReviewedPod[]): Promise<void> {
  const vms = launchers.map(({ namespace, name }) => ({ namespace, name: population.vmNameOf(name) }));
  const body = { status: { evacuationNodeName: null } };
  await inParallel(vms, 8, (key) => client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body }));
  const { items } = await client.list(evacuations);
  const keys = new Set(vms.map(({ namespace, name }) => `${namespace}/${name}`));
  const theirs = items.filter(({ metadata, spec }) =>
    keys.has(`${metadata.namespace}/${spec.virtualMachineInstance.name}`),
  );
  await inParallel(theirs, 8, ({ metadata }) => client.delete(evacuations, metadata));
}
