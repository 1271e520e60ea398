/** Questions that more than one decision asks. Lists leave out objects that cannot be understood. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import { isForbidden, isNotServed } from "../kube/failures.ts";
import { isFinal, isVmiKey, keyOf } from "../kube/objects.ts";
import type { FactsOf } from "../kube/resources.ts";
import * as select from "../kube/selections.ts";
import { each, type Facts, unlessFailed } from "./facts.ts";

/** KubeVirt allows one KubeVirt object per cluster. If it cannot be understood, the read has failed: its strategy protects VMs. */
export function kubeVirt(facts: Facts): FactsOf<"kubevirts"> | undefined {
  return facts.list("kubevirts")[0];
}

export function evacuationsOf(key: NamespacedName, facts: Facts): readonly EvacuationFacts[] {
  return isVmiKey(key) ? facts.readable("evacuations", select.selectEvacuationsOf(key)).items : [];
}

export function activeEvacuations(facts: Facts): readonly EvacuationFacts[] {
  return facts.readable("evacuations", select.ACTIVE_EVACUATIONS).items;
}

export function evacuationsFrom(node: string, facts: Facts): readonly EvacuationFacts[] {
  return facts.readable("evacuations", select.selectEvacuationsFrom(node)).items;
}

export function vmisOn(node: string, facts: Facts): readonly VmiFacts[] {
  return facts.readable("virtualmachineinstances", select.selectVmisOn(node)).items;
}

/** VMIs that have been handed over to a target pod that runs. */
export function migratingVmis(facts: Facts): readonly VmiFacts[] {
  const found = facts.readable("virtualmachineinstances", select.MIGRATING_VMIS).items;
  return found.filter(({ isMigrating }) => isMigrating);
}

/** Some migrations that have succeeded: KubeVirt keeps five of each VMI, so that there are too many to read. */
export function finishedMigrations(facts: Facts): readonly MigrationFacts[] {
  const some = facts.readable("virtualmachineinstancemigrations", select.SOME).items;
  return some.filter(({ tookSeconds }) => tookSeconds !== undefined);
}

/** Unfinished migrations of these VMIs. A VM that nothing moves has one pod: no migration of it is looked for. */
export function migrationsUnderWay(vmis: readonly VmiFacts[], facts: Facts): readonly MigrationFacts[] {
  const moving = vmis.filter((vmi) => {
    const isAsked = vmi.isMigrating || vmi.evacuationNodeName !== undefined || vmi.decentralized === "Sends";
    return isAsked || Object.keys(vmi.activePods).length > 1;
  });
  const wanted = new Set(moving.map(keyOf));
  const lists = each(
    select.selectMigrationsOf(moving),
    (one) => facts.readable("virtualmachineinstancemigrations", one).items,
  );
  const isWanted = (m: MigrationFacts) => wanted.has(keyOf({ ...m, name: m.vmiName })) && !isFinal(m);
  return lists.flat().filter(isWanted);
}

/** Returns the list, or an empty one if the cluster does not serve the kind: a drain can be forecast without Lifeboat, too. */
export function unlessNotServed<T>(list: () => readonly T[]): readonly T[] {
  return unlessFailed(list, (failed) => {
    if (isNotServed(failed)) return [];
    throw failed;
  });
}

/** Migrations of a VMI, finished ones included. */
export function migrationsOf(vmi: NamespacedName, facts: Facts): readonly MigrationFacts[] {
  const lists = select
    .selectMigrationsOf([vmi])
    .map((one) => facts.readable("virtualmachineinstancemigrations", one).items);
  return lists.flat().filter(({ namespace, vmiName }) => namespace === vmi.namespace && vmiName === vmi.name);
}

/** Pods that are labelled as created for a VMI: launcher pods, or a tenant's. */
export function podsOf(vmi: VmiFacts, facts: Facts): readonly PodFacts[] {
  return facts.readable("pods", select.selectPodsOf(vmi)).items;
}

/** Leaves out what Lifeboat may not read. */
export function unlessForbidden<T>(ask: () => T, otherwise: T): T {
  return unlessFailed(ask, (failed) => {
    if (isForbidden(failed)) return otherwise;
    throw failed;
  });
}
