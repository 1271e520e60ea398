/** Contains requests that several decisions need, for example for a pod with its VMI and Evacuations. */
import type { WriteAnswer, Client } from "./client.ts";
import { END_PHASES, type EvacuationFacts, isUnfinished } from "./evacuation.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "./facts.ts";
import { ClusterError } from "./failures.ts";
import * as names from "./names.ts";
import { isOfLiveVm, isVmiKey, keyOf, launcherOfHotplug, vmiNameOf } from "./objects.ts";
import type { KubeVirtFacts } from "./schemas/kubevirt.ts";
import {
  ACTIVE_EVACUATIONS,
  MIGRATING_VMIS,
  SOME,
  selectEvacuationsFrom,
  selectEvacuationsOf,
  selectMigrationsOf,
  selectVmisOn,
} from "./selections.ts";

export const LAUNCHER = { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT };
export const OURS = { [names.MANAGED_BY_LABEL]: names.MANAGED_BY };

/**
 * Reads the cluster's KubeVirt object. Throws if the object cannot be parsed, because VMs depend on its eviction
 * strategy.
 */
export async function readKubeVirt(cluster: Client): Promise<KubeVirtFacts | undefined> {
  return (await cluster.list("kubevirts", { strict: true }))[0];
}

/** Lists the Evacuations of a VMI. Calls `onOdd` for each Evacuation that cannot be parsed. */
export async function readEvacuationsOf(
  key: NamespacedName,
  cluster: Client,
  onOdd?: (issue: string) => void,
): Promise<readonly EvacuationFacts[]> {
  if (!isVmiKey(key)) return [];
  return await cluster.list("evacuations", { ...selectEvacuationsOf(key), ...(onOdd && { onOdd }) });
}

export function readEvacuationsFrom(node: string, cluster: Client): Promise<readonly EvacuationFacts[]> {
  return cluster.list("evacuations", selectEvacuationsFrom(node));
}

export function readActiveEvacuations(cluster: Client): Promise<readonly EvacuationFacts[]> {
  return cluster.list("evacuations", ACTIVE_EVACUATIONS);
}

const SURELY_FINISHED = END_PHASES.filter((phase) => !["Withdrawn", "Abandoned", "Stopped"].includes(phase));

/** Selects the Evacuations that can be unfinished. */
export const NOT_SURELY_FINISHED = { unlike: { "status.phase": SURELY_FINISHED } };

/** Lists the unfinished Evacuations. An ended Evacuation is listed until its cleanup is complete. */
export async function unfinishedEvacuations(cluster: Client): Promise<readonly EvacuationFacts[]> {
  return (await cluster.list("evacuations", NOT_SURELY_FINISHED)).filter(isUnfinished);
}

/** Lists the VMIs on a node. Calls `onOdd` for each VMI that cannot be parsed. */
export function readVmisOn(node: string, cluster: Client, onOdd?: () => void): Promise<readonly VmiFacts[]> {
  return cluster.list("virtualmachineinstances", { ...selectVmisOn(node), ...(onOdd && { onOdd }) });
}

/** Lists the VMIs whose migration has a running target pod. */
export async function readMigratingVmis(cluster: Client): Promise<readonly VmiFacts[]> {
  return (await cluster.list("virtualmachineinstances", MIGRATING_VMIS)).filter(({ isMigrating }) => isMigrating);
}

/** Lists the successful migrations among the first 250 migrations. */
export async function readFinishedMigrations(cluster: Client): Promise<readonly MigrationFacts[]> {
  const some = await cluster.list("virtualmachineinstancemigrations", SOME);
  return some.filter(({ tookSeconds }) => tookSeconds !== undefined);
}

/**
 * Lists all migrations of these VMIs, including finished migrations. Sends one request for each namespace, or more if
 * the names are too long for a URL. Calls `onOdd` for each migration that cannot be parsed.
 */
export async function readMigrationsOf(
  vmis: readonly NamespacedName[],
  cluster: Client,
  onOdd?: (issue: string) => void,
): Promise<readonly MigrationFacts[]> {
  const selections = selectMigrationsOf(vmis).map((one) => ({ ...one, ...(onOdd && { onOdd }) }));
  const lists = await Promise.all(selections.map((one) => cluster.list("virtualmachineinstancemigrations", one)));
  const wanted = new Set(vmis.map(keyOf));
  return lists.flat().filter(({ namespace, vmiName }) => wanted.has(keyOf({ namespace, name: vmiName })));
}

export interface NamedVmi {
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** All Evacuations of the VMI, read at the same time as the VMI. */
  readonly evacuations: readonly EvacuationFacts[];
}

type Listing = typeof readEvacuationsOf;

/**
 * Reads a pod and, at the same time, its VMI and Evacuations. To save one round trip, guesses the VMI's name from the
 * pod's name.
 */
export async function observeSubject(
  key: NamespacedName,
  reading: Promise<PodFacts | undefined>,
  cluster: Client,
  listing?: Listing,
): Promise<NamedVmi & { readonly pod?: PodFacts }> {
  const guess = guessVmiName(key.name);
  const guessed = observeIfNamed({ namespace: key.namespace, name: guess }, cluster, listing);
  guessed.catch(() => undefined);
  const pod = await reading;
  if (pod === undefined) return { evacuations: [] };
  const isGuessed = guess !== undefined && guess === vmiNameIn(pod);
  return { pod, ...(await (isGuessed ? guessed : observeSubjectOf(pod, cluster, listing))) };
}

export async function observeSubjectOf(pod: PodFacts, cluster: Client, listing?: Listing): Promise<NamedVmi> {
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
  listing: Listing = readEvacuationsOf,
): Promise<NamedVmi> {
  const [vmi, evacuations] = await Promise.all([cluster.get("virtualmachineinstances", key), listing(key, cluster)]);
  return { ...(vmi && { vmi }), evacuations };
}

async function observeIfNamed(
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  cluster: Client,
  listing?: Listing,
): Promise<NamedVmi> {
  return name === undefined ? { evacuations: [] } : await observeNamed({ namespace, name }, cluster, listing);
}

/** Guesses the VMI's name from `virt-launcher-<vmi>-<five characters>`. */
export function guessVmiName(podName: string): string | undefined {
  return /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(podName)?.[1];
}

/**
 * The codes of a refused eviction. 403: a webhook or a policy refused it. 429: a PodDisruptionBudget or a webhook
 * refused it. 500: a webhook did not respond, or two PodDisruptionBudgets select the pod.
 */
const REFUSALS = [403, 429, 500];

export interface EvictionOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean;
}

/** Evicts the pod with this UID. */
export async function requestEviction(
  { namespace, name, uid }: NamespacedName & { readonly uid: string },
  { annotations = {}, gracePeriodSeconds, dryRun = false }: EvictionOptions,
  cluster: Client,
): Promise<WriteAnswer> {
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name, annotations },
    deleteOptions: { preconditions: { uid }, gracePeriodSeconds },
  };
  return await cluster.create("pods", eviction, { subresource: "eviction", dryRun, expect: REFUSALS });
}

/**
 * Returns an empty list if the cluster does not serve the kind, so that a forecast also works without Lifeboat's CRDs.
 */
export function noneUnlessServed(error: unknown): readonly never[] {
  if (error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 404) return [];
  throw error;
}
