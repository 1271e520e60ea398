/** Observing what the end of a pod concerns: its VMI and the Evacuations that name it; of a hotplug pod those of its launcher. */
import type { Client } from "../kube/client.ts";
import { evacuationsOf } from "../kube/selections.ts";
import type { NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { isOfLiveVm, launcherOfHotplug, vmiNameOf } from "../kube/pod-kind.ts";

export interface Subject {
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
}

/** How the Evacuations of a VMI are listed: a review may do without them. */
type Listing = typeof evacuationsOf;

/** Of a pod that is still being read: VMI and Evacuations are read at the same time, by the pod's name. */
export async function observeSubject(
  key: NamespacedName,
  reading: Promise<PodFacts | undefined>,
  cluster: Client,
  listing?: Listing,
): Promise<Subject & { readonly pod?: PodFacts }> {
  const guess = guessVmiName(key.name);
  const guessed = observeIfNamed({ namespace: key.namespace, name: guess }, cluster, listing);
  // It counts only if the pod turns out to be that VMI's.
  guessed.catch(() => undefined);
  const pod = await reading;
  if (pod === undefined) return { evacuations: [] };
  const isGuessed = guess !== undefined && guess === vmiNameIn(pod);
  return { pod, ...(await (isGuessed ? guessed : observeSubjectOf(pod, cluster, listing))) };
}

/** Of a pod that is known. */
export async function observeSubjectOf(pod: PodFacts, cluster: Client, listing?: Listing): Promise<Subject> {
  const owner = launcherOfHotplug(pod);
  if (owner === undefined) {
    return await observeIfNamed({ namespace: pod.namespace, name: vmiNameIn(pod) }, cluster, listing);
  }
  const key = { namespace: pod.namespace, name: owner.name };
  const { pod: launcher, ...ofLauncher } = await observeSubject(key, cluster.get("pods", key), cluster, listing);
  return { ...(launcher && { launcher }), ...ofLauncher };
}

function vmiNameIn(pod: PodFacts): string | undefined {
  return isOfLiveVm(pod) ? vmiNameOf(pod) : undefined;
}

/** Of the VMI that a launcher pod belongs to, if it does to one. */
export function vmiKeyOf(pod: PodFacts): readonly NamespacedName[] {
  const name = vmiNameOf(pod);
  return name === undefined ? [] : [{ namespace: pod.namespace, name }];
}

export async function observeNamed(
  key: NamespacedName,
  cluster: Client,
  listing: Listing = evacuationsOf,
): Promise<Subject> {
  const [vmi, evacuations] = await Promise.all([cluster.get("virtualmachineinstances", key), listing(key, cluster)]);
  return { ...(vmi && { vmi }), evacuations };
}

async function observeIfNamed(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  cluster: Client,
  listing?: Listing,
): Promise<Subject> {
  return name === undefined ? { evacuations: [] } : await observeNamed({ namespace, name }, cluster, listing);
}

/** `virt-launcher-<vmi>-<five characters>`. */
export function guessVmiName(podName: string): string | undefined {
  return /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(podName)?.[1];
}
