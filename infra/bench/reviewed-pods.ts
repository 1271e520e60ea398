/**
 * The pods whose evictions are reviewed: of VMs that nobody has asked to go, of VMs that somebody has, and of none.
 * Owns: them, and taking marks back. Does not own: the reviews (reviews.ts), who sends them (parts/admission.ts).
 */
import type { KubeClient } from "../sandbox/actors/client.ts";
import { pods } from "../sandbox/actors/resources.ts";
import * as kubevirt from "../sandbox/kubevirt/resources.ts";
import { installLifeboat } from "./api-server.ts";
import { inParallel } from "./in-parallel.ts";
import * as population from "./population.ts";
import type { Kind } from "./reviews.ts";

export interface ReviewedPod {
  readonly namespace: string;
  readonly name: string;
}

export type ReviewedPods = Readonly<Record<Kind, readonly ReviewedPod[]>>;

/** Nothing is moved: every review finds the cluster as the one before did. */
const CONFIGURATION = { reconcilers: { evacuation: false } };

/** So many of each kind, with Lifeboat installed: one namespace of VMs for each kind of eviction, and pods of neither. */
export async function createReviewedPods(client: KubeClient, count: number): Promise<ReviewedPods> {
  await installLifeboat(client, CONFIGURATION);
  await population.createPlaces(client, 0, population.VMS_PER_NAMESPACE + count);
  const launchersOf = async (from: number, minAvailable: 1 | 2) => {
    const vms = await population.createVms(client, from, from + count);
    await population.observeBudgets(client, await population.createBudgets(client, vms, minAvailable));
    const created = await population.createLaunchers(client, vms);
    await inParallel(created, 8, (pod) => client.patch(pods, pod.metadata, READY, { subresource: "status" }));
    return vms.map((vm) => ({ namespace: vm.namespace, name: population.launcherName(vm) }));
  };
  // Budgets grow with the first mark, and growing them again costs the same.
  const first = await launchersOf(0, 2);
  const repeat = await launchersOf(population.VMS_PER_NAMESPACE, 2);
  const plain = await population.createPlainPods(client, count, 1);
  const ordinary = plain.map(({ metadata: { namespace = "", name } }) => ({ namespace, name }));
  return { ordinary, first, repeat };
}

const READY = {
  type: "merge",
  body: { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
} as const;

/** As if nobody had ever asked. */
export async function unmark(client: KubeClient, launchers: readonly ReviewedPod[]): Promise<void> {
  const gone = { "lifeboat.dev/evacuation": null };
  const body = { metadata: { annotations: gone, labels: gone }, status: { evacuationNodeName: null } };
  await inParallel(launchers, 8, ({ namespace, name }) => {
    const key = { namespace, name: population.vmNameOf(name) };
    return client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body });
  });
}
