/** What the page of a virtual machine shows: the VMI, what an eviction of it would get, and its past. */
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { guestPodUID } from "../../shared/policy/evacuation/identity.ts";
import { decideEviction, type EvictionDecision } from "../../shared/policy/eviction/eviction.ts";
import {
  type EvacuationFacts,
  type MigrationFacts,
  type NamespacedName,
  type PodFacts,
  type VmiFacts,
} from "../../shared/policy/facts.ts";
import type { Settings } from "../../shared/policy/settings.ts";
import { RejectionError } from "../rejection.ts";
import type { Target } from "../target.ts";

export interface VmView {
  readonly key: NamespacedName;
  /** Absent: it does not run any more. */
  readonly vmi?: VmiFacts;
  /** That the guest runs in. */
  readonly pod?: PodFacts;
  readonly evacuations: readonly EvacuationFacts[];
  /** Undefined: they may not be read. */
  readonly migrations: readonly MigrationFacts[] | undefined;
  /** What an eviction of the pod would get now. */
  readonly decision?: EvictionDecision;
  readonly settings: Settings;
}

const READ_SECONDS = 10;
const REQUEST = { username: "explain", cause: "ApiEviction" } as const;

export async function readVm(key: NamespacedName, target: Target): Promise<VmView> {
  const cluster = target.connect(READ_SECONDS);
  const [vmi, evacuations, migrations, { settings }] = await Promise.all([
    cluster.getVmi(key),
    cluster.listEvacuations(key),
    migrationsOf(key, cluster),
    target.settings(cluster),
  ]);
  const past = { key, evacuations, migrations, settings };
  if (vmi === undefined) {
    if (evacuations.length === 0 && (migrations ?? []).length === 0) throw new RejectionError("VmNotFound");
    return past;
  }
  const pod = await guestPod(vmi, cluster);
  if (pod === undefined) return { ...past, vmi };
  const facts = { pod, vmi, evacuations, settings, now: target.platform.now(), request: REQUEST };
  return { ...past, vmi, pod, decision: decideEviction({ ...facts, migrations: migrations ?? [] }) };
}

async function guestPod(vmi: VmiFacts, cluster: Cluster): Promise<PodFacts | undefined> {
  const uid = guestPodUID(vmi);
  return (await cluster.listPodsOf(vmi)).find((pod) => pod.uid === uid);
}

/** They tell more, but the rest does not rest on them. */
async function migrationsOf(key: NamespacedName, cluster: Cluster): Promise<readonly MigrationFacts[] | undefined> {
  try {
    return await cluster.listMigrations(key);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return undefined;
  }
}
