/** Observing what the end of a pod concerns: its VMI and the Evacuations that name it; of a hotplug pod those of its launcher. */
import type { Cluster } from "../cluster/cluster.ts";
import type { EvacuationFacts, NamespacedName, PodFacts, VmiFacts } from "../policy/facts.ts";
import { isOfLiveVm, launcherOfHotplug, vmiNameOf } from "../policy/kube/pod-kind.ts";

export interface Subject {
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
}

/** Of a pod that is still being read: VMI and Evacuations are read at the same time, by the pod's name. */
export async function observeSubject(
  key: NamespacedName,
  reading: Promise<PodFacts | undefined>,
  cluster: Cluster,
): Promise<Subject & { readonly pod?: PodFacts }> {
  const guess = guessVmiName(key.name);
  const guessed = observeIfNamed(key.namespace, guess, cluster);
  // It counts only if the pod turns out to be that VMI's.
  guessed.catch(() => undefined);
  const pod = await reading;
  if (pod === undefined) return { evacuations: [] };
  const isGuessed = guess !== undefined && guess === vmiNameIn(pod);
  return { pod, ...(await (isGuessed ? guessed : observeSubjectOf(pod, cluster))) };
}

/** Of a pod that is known. */
export async function observeSubjectOf(pod: PodFacts, cluster: Cluster): Promise<Subject> {
  const owner = launcherOfHotplug(pod);
  if (owner === undefined) return await observeIfNamed(pod.namespace, vmiNameIn(pod), cluster);
  const key = { namespace: pod.namespace, name: owner.name };
  const { pod: launcher, ...ofLauncher } = await observeSubject(key, cluster.getPod(key), cluster);
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

export async function observeNamed(key: NamespacedName, cluster: Cluster): Promise<Subject> {
  const [vmi, evacuations] = await Promise.all([cluster.getVmi(key), cluster.listEvacuations(key)]);
  return { ...(vmi && { vmi }), evacuations };
}

async function observeIfNamed(namespace: string, name: string | undefined, cluster: Cluster): Promise<Subject> {
  return name === undefined ? { evacuations: [] } : await observeNamed({ namespace, name }, cluster);
}

/** `virt-launcher-<vmi>-<five characters>`. */
export function guessVmiName(podName: string): string | undefined {
  return /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(podName)?.[1];
}
