/** Contains questions that several decisions ask. Lists leave out objects that cannot be parsed. */
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
 * Returns the cluster's KubeVirt object. Fails if the object cannot be parsed, because VMs depend on its eviction
 * strategy.
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
 * Lists the NodeEvacuations. Each NodeEvacuation inherits the pause, the withdrawal and the time limit of its
 * RollingMaintenance.
 */
export function nodeEvacuations(facts: Facts): readonly NodeEvacuationFacts[] {
  const all = facts.readable("nodeevacuations").items;
  if (all.every((ne) => ne.owner === undefined || hasEnded(ne))) return all;
  const rolling = facts.readable("rollingmaintenances");
  return all.map((ne) => asPartOf(ne, rolling));
}

export function evacuationsFrom(node: string, facts: Facts): readonly EvacuationFacts[] {
  return facts.readable("evacuations", selectEvacuationsFrom(node)).items;
}

export function vmisOn(node: string, facts: Facts): readonly VmiFacts[] {
  return facts.readable("virtualmachineinstances", selectVmisOn(node)).items;
}

/** Lists the VMIs whose migration has a target pod. */
export function migratingVmis(facts: Facts): readonly VmiFacts[] {
  const found = facts.readable("virtualmachineinstances", MIGRATING_VMIS).items;
  return found.filter(({ isMigrating }) => isMigrating);
}

/** Lists some of the migrations that have succeeded. KubeVirt stores five finished migrations for each VMI. */
export function finishedMigrations(facts: Facts): readonly MigrationFacts[] {
  const some = facts.readable("virtualmachineinstancemigrations", SOME).items;
  return some.filter(({ tookSeconds }) => tookSeconds !== undefined);
}

/** Lists the unfinished migrations of these VMIs. Skips VMIs that cannot have an unfinished migration. */
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
 * Returns an empty list if the cluster does not serve the kind, so that a forecast also works without Lifeboat's CRDs.
 */
export function unlessNotServed<T>(list: () => readonly T[]): readonly T[] {
  return unlessFailed(list, (failed) => {
    if (isNotServed(failed)) return [];
    throw failed;
  });
}

/** Lists all migrations of a VMI, including finished migrations. */
export function migrationsOf(vmi: NamespacedName, facts: Facts): readonly MigrationFacts[] {
  const lists = selectMigrationsOf([vmi]).map((one) => facts.readable("virtualmachineinstancemigrations", one).items);
  return lists.flat().filter(({ namespace, vmiName }) => namespace === vmi.namespace && vmiName === vmi.name);
}

/** Lists the pods with the label of the VMI's launcher pods. Other pods can have the same label. */
export function podsOf(vmi: VmiFacts, facts: Facts): readonly PodFacts[] {
  return facts.readable("pods", selectPodsOf(vmi)).items;
}

/** Returns the fact, or the alternative value if Lifeboat has no permission to read it. */
export function unlessForbidden<T>(ask: () => T, otherwise: T): T {
  return unlessFailed(ask, (failed) => {
    if (isForbidden(failed)) return otherwise;
    throw failed;
  });
}
