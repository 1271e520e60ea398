/** Requests that more than one decision makes: lists, a pod with its VMI and Evacuations, and an eviction. */
import type { Answer, Client } from "./client.ts";
import { END_PHASES, type EvacuationFacts, isUnfinished } from "./evacuation.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "./facts.ts";
import { ClusterError } from "./failures.ts";
import * as names from "./names.ts";
import { isFinal, isOfLiveVm, keyOf, launcherOfHotplug, vmiNameOf } from "./objects.ts";
import { isVmiKey } from "./read.ts";
import type { KubeVirtFacts } from "./schemas/kubevirt.ts";
import type { Selection } from "./selection.ts";

export const LAUNCHER = { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT };
export const OURS = { [names.MANAGED_BY_LABEL]: names.MANAGED_BY };

/** KubeVirt allows one per cluster. One that does not parse is an error: its strategy protects VMs. */
export async function kubeVirt(cluster: Client): Promise<KubeVirtFacts | undefined> {
  return (await cluster.list("kubevirts", { strict: true }))[0];
}

export async function evacuationsOf(key: NamespacedName, cluster: Client): Promise<readonly EvacuationFacts[]> {
  if (!isVmiKey(key)) return [];
  const fields = { "spec.virtualMachineInstance.name": key.name };
  return await cluster.list("evacuations", { namespace: key.namespace, fields });
}

export function evacuationsFrom(node: string, cluster: Client): Promise<readonly EvacuationFacts[]> {
  return cluster.list("evacuations", { fields: { "status.sourceNode": node } });
}

export function activeEvacuations(cluster: Client): Promise<readonly EvacuationFacts[]> {
  return cluster.list("evacuations", { unlike: { "status.phase": END_PHASES } });
}

/** No field selects by a condition. The full scan finds what is left of those that have moved: there are too many of them. */
const SURELY_FINISHED = END_PHASES.filter((phase) => !["Withdrawn", "Abandoned", "Stopped"].includes(phase));

/** Also those whose mark or migration is still to be taken back, or whose VM is to start again. */
export async function unfinishedEvacuations(cluster: Client): Promise<readonly EvacuationFacts[]> {
  return (await cluster.list("evacuations", { unlike: { "status.phase": SURELY_FINISHED } })).filter(isUnfinished);
}

/** `onOdd` is called for each VMI that cannot be understood and is left out. */
export function vmisOn(node: string, cluster: Client, onOdd?: () => void): Promise<readonly VmiFacts[]> {
  const labels = { [names.NODE_NAME_LABEL]: node };
  return cluster.list("virtualmachineinstances", { labels, ...(onOdd && { onOdd }) });
}

/** Those handed over to a target pod that runs; the target's virt-handler takes the label off in the end. */
export async function migratingVmis(cluster: Client): Promise<readonly VmiFacts[]> {
  const labels = { [names.TARGET_NODE_LABEL]: true } as const;
  return (await cluster.list("virtualmachineinstances", { labels })).filter(({ isMigrating }) => isMigrating);
}

const ENOUGH = 250;

/** Some that have succeeded: KubeVirt keeps five of each VMI, so that there are too many to read. */
export async function finishedMigrations(cluster: Client): Promise<readonly MigrationFacts[]> {
  const some = await cluster.list("virtualmachineinstancemigrations", { limit: ENOUGH });
  return some.filter(({ tookSeconds }) => tookSeconds !== undefined);
}

/** KubeVirt may shorten longer names in the label: there the namespace is read. */
/** Names in a selector, as they are in a URL, a comma after each: there are proxies that take 8 KB. */
const LONGEST_NAMES = 4000;
const COMMA = "%2C".length;

/** Migrations of these VMIs, finished ones included. One request for a namespace, unless their names fill more than a URL. */
export async function migrationsOf(
  vmis: readonly NamespacedName[],
  cluster: Client,
): Promise<readonly MigrationFacts[]> {
  const selections = [...Map.groupBy(vmis.filter(isVmiKey), ({ namespace }) => namespace)].flatMap(([namespace, own]) =>
    selectionsOf(own.map(({ name }) => name)).map((labels) => ({ namespace, labels })),
  );
  const lists = await Promise.all(selections.map((one) => cluster.list("virtualmachineinstancemigrations", one)));
  const wanted = new Set(vmis.map(keyOf));
  return lists.flat().filter(({ namespace, vmiName }) => wanted.has(keyOf({ namespace, name: vmiName })));
}

function selectionsOf(vmis: readonly string[]): readonly NonNullable<Selection["labels"]>[] {
  if (vmis.some((name) => name.length > names.LONGEST_LABEL)) return [{}];
  const [first = "", ...others] = vmis;
  if (others.length === 0) return [{ [names.VMI_NAME_LABEL]: first }];
  const chunks: string[][] = [];
  let room = 0;
  for (const name of vmis) {
    room -= name.length + COMMA;
    if (room >= 0) chunks.at(-1)?.push(name);
    else {
      chunks.push([name]);
      room = LONGEST_NAMES - name.length - COMMA;
    }
  }
  return chunks.map((chunk) => ({ [names.VMI_NAME_LABEL]: chunk }));
}

export interface Subject {
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
}

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

/** Refused by a webhook or a policy, by a budget or a webhook, and where a webhook cannot be asked or two budgets select the pod. */
const REFUSALS = [403, 429, 500];

export interface EvictionOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean;
}

/** The UID protects another pod that was created under the same name. */
export async function requestEviction(
  { namespace, name, uid }: NamespacedName & { readonly uid: string },
  { annotations = {}, gracePeriodSeconds, dryRun = false }: EvictionOptions,
  cluster: Client,
): Promise<Answer> {
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name, annotations },
    deleteOptions: { preconditions: { uid }, gracePeriodSeconds },
  };
  // The dry run is not of the deletion only: each webhook then sees that it is one.
  return await cluster.create("pods", eviction, { subresource: "eviction", dryRun, expect: REFUSALS });
}

/** Unfinished ones. Of a VM that nothing moves none is looked for: it has one pod. */
export async function migrationsUnderWay(
  vmis: readonly VmiFacts[],
  cluster: Client,
): Promise<readonly MigrationFacts[]> {
  const moving = vmis.filter((vmi) => {
    const isAsked = vmi.isMigrating || vmi.evacuationNodeName !== undefined || vmi.decentralized === "Sends";
    return isAsked || Object.keys(vmi.activePods).length > 1;
  });
  return (await migrationsOf(moving, cluster)).filter((migration) => !isFinal(migration));
}

/** In a cluster without Lifeboat a drain can be foretold, too: a list of a kind that is served is never 404. */
export function noneUnlessServed(error: unknown): readonly never[] {
  if (error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 404) return [];
  throw error;
}
