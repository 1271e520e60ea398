/** Questions that several decisions ask. Answered lists leave out objects that cannot be parsed. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import { isForbidden, isNotServed } from "../kube/failures.ts";
import { hasEnded, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { isFinal, isVmiKey, keyOf } from "../kube/objects.ts";
import type { FactsOf } from "../kube/resources.ts";
import { asPartOf } from "../kube/rolling-maintenance.ts";
import {
  ACTIVE_EVACUATIONS,
  MIGRATING_VMIS,
  SOME,
  selectEvacuationsFrom,
  selectEvacuationsOf,
  selectMigrationsOf,
  selectPodsOf,
  selectVmisOn,
} from "../kube/selections.ts";
import { each, type Facts, unlessFailed } from "./facts.ts";

/**
 * Returns the KubeVirt object. A cluster has at most one KubeVirt object. If the object cannot be parsed, the read
 * fails, because the object's eviction strategy protects VMs.
 */
export function kubeVirt(facts: Facts): FactsOf<"kubevirts"> | undefined {
  return facts.list("kubevirts")[0];
}

export function evacuationsOf(key: NamespacedName, facts: Facts): readonly EvacuationFacts[] {
  return isVmiKey(key) ? facts.readable("evacuations", selectEvacuationsOf(key)).items : [];
}

export function activeEvacuations(facts: Facts): readonly EvacuationFacts[] {
  return facts.readable("evacuations", ACTIVE_EVACUATIONS).items;
}

/**
 * Lists NodeEvacuations. A NodeEvacuation of a RollingMaintenance has the pause, the withdrawal and the time limit of
 * the RollingMaintenance.
 */
export function nodeEvacuations(facts: Facts): readonly NodeEvacuationFacts[] {
  const all = facts.readable("nodeevacuations").items;
  if (all.every((ne) => ne.owner === undefined || hasEnded(ne))) return all;
  const rolling = facts.readable("rollingmaintenances").items;
  return all.map((ne) => asPartOf(ne, rolling));
}

export function evacuationsFrom(node: string, facts: Facts): readonly EvacuationFacts[] {
  return facts.readable("evacuations", selectEvacuationsFrom(node)).items;
}

export function vmisOn(node: string, facts: Facts): readonly VmiFacts[] {
  return facts.readable("virtualmachineinstances", selectVmisOn(node)).items;
}

/** Lists VMIs whose migration already has a target pod. */
export function migratingVmis(facts: Facts): readonly VmiFacts[] {
  const found = facts.readable("virtualmachineinstances", MIGRATING_VMIS).items;
  return found.filter(({ isMigrating }) => isMigrating);
}

/**
 * Lists the migrations that have just succeeded. Reads only some migrations, because KubeVirt keeps five finished
 * migrations for each VMI.
 */
export function finishedMigrations(facts: Facts): readonly MigrationFacts[] {
  const some = facts.readable("virtualmachineinstancemigrations", SOME).items;
  return some.filter(({ tookSeconds }) => tookSeconds !== undefined);
}

/**
 * Lists unfinished migrations of these VMIs. Reads nothing for a VMI with one pod and without a mark or a migration
 * label, because such a VMI has no unfinished migration.
 */
export function migrationsUnderWay(vmis: readonly VmiFacts[], facts: Facts): readonly MigrationFacts[] {
  const moving = vmis.filter((vmi) => {
    const isAsked = vmi.isMigrating || vmi.evacuationNodeName !== undefined || vmi.decentralized === "Sends";
    return isAsked || Object.keys(vmi.activePods).length > 1;
  });
  const wanted = new Set(moving.map(keyOf));
  const lists = each(
    selectMigrationsOf(moving),
    (one) => facts.readable("virtualmachineinstancemigrations", one).items,
  );
  const isWanted = (m: MigrationFacts) => wanted.has(keyOf({ ...m, name: m.vmiName })) && !isFinal(m);
  return lists.flat().filter(isWanted);
}

/**
 * Returns the list, or an empty list if the cluster does not serve the kind. A forecast works in a cluster without
 * Lifeboat.
 */
export function unlessNotServed<T>(list: () => readonly T[]): readonly T[] {
  return unlessFailed(list, (failed) => {
    if (isNotServed(failed)) return [];
    throw failed;
  });
}

/** Lists migrations of a VMI, including finished ones. */
export function migrationsOf(vmi: NamespacedName, facts: Facts): readonly MigrationFacts[] {
  const lists = selectMigrationsOf([vmi]).map((one) => facts.readable("virtualmachineinstancemigrations", one).items);
  return lists.flat().filter(({ namespace, vmiName }) => namespace === vmi.namespace && vmiName === vmi.name);
}

/** Lists pods with the label of the VMI's launcher pods. A tenant may give other pods the same label. */
export function podsOf(vmi: VmiFacts, facts: Facts): readonly PodFacts[] {
  return facts.readable("pods", selectPodsOf(vmi)).items;
}

/** Returns a fact, or the alternative if Lifeboat may not read the fact. */
export function unlessForbidden<T>(ask: () => T, otherwise: T): T {
  return unlessFailed(ask, (failed) => {
    if (isForbidden(failed)) return otherwise;
    throw failed;
  });
}
