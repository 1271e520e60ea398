/** Lists that more than one reader selects in the same way. */
import { END_PHASES, type EvacuationFacts, isUnfinished } from "./evacuation.ts";
import { keyOf, type MigrationFacts, type NamespacedName, type VmiFacts } from "./facts.ts";
import * as names from "./names.ts";
import type { Client, Selection } from "./client.ts";
import { isVmiKey } from "./resources.ts";
import type { KubeVirtFacts } from "./schemas/kubevirt.ts";

/** A label of its launcher pods, migration targets and ended ones included. */
export const LAUNCHER = { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT };
export const OURS = { [names.MANAGED_BY_LABEL]: names.MANAGED_BY };

/** KubeVirt allows one per cluster. One that does not parse is an error: its strategy protects VMs. */
export async function kubeVirt(cluster: Client): Promise<KubeVirtFacts | undefined> {
  return (await cluster.list("kubevirts", { strict: true }))[0];
}

/** Ended ones included. */
export async function evacuationsOf(key: NamespacedName, cluster: Client): Promise<readonly EvacuationFacts[]> {
  if (!isVmiKey(key)) return [];
  const fields = { "spec.virtualMachineInstance.name": key.name };
  return await cluster.list("evacuations", { namespace: key.namespace, fields });
}

/** Those from a node, ended ones included. */
export function evacuationsFrom(node: string, cluster: Client): Promise<readonly EvacuationFacts[]> {
  return cluster.list("evacuations", { fields: { "status.sourceNode": node } });
}

/** Those of the whole cluster that have not ended. */
export function activeEvacuations(cluster: Client): Promise<readonly EvacuationFacts[]> {
  return cluster.list("evacuations", { unlike: { "status.phase": END_PHASES } });
}

/** No field selects by a condition. The full scan finds what is left of those that have moved: there are too many of them. */
const SURELY_FINISHED = END_PHASES.filter((phase) => phase !== "Withdrawn" && phase !== "Abandoned");

/** Also those whose mark or migration is still to be taken back. */
export async function unfinishedEvacuations(cluster: Client): Promise<readonly EvacuationFacts[]> {
  return (await cluster.list("evacuations", { unlike: { "status.phase": SURELY_FINISHED } })).filter(isUnfinished);
}

export function vmisOn(node: string, cluster: Client): Promise<readonly VmiFacts[]> {
  return cluster.list("virtualmachineinstances", { labels: { [names.NODE_NAME_LABEL]: node } });
}

/** Those handed over to a target pod that runs; the target's virt-handler takes the label off in the end. */
export async function migratingVmis(cluster: Client): Promise<readonly VmiFacts[]> {
  const labels = { [names.TARGET_NODE_LABEL]: true } as const;
  return (await cluster.list("virtualmachineinstances", { labels })).filter(({ isMigrating }) => isMigrating);
}

/** KubeVirt shortens longer names in the label: there the namespace is read. */
const LONGEST_LABEL = 63;
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
  if (vmis.some((name) => name.length > LONGEST_LABEL)) return [{}];
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
