/** What Lifeboat has written on objects that are not its own, and taking it off. */
import * as z from "zod/mini";
import { Budget } from "../../../shared/cluster/kinds/kubernetes.ts";
import { Vmi } from "../../../shared/cluster/kinds/kubevirt.ts";
import { object, type Resource } from "../../../shared/cluster/paths.ts";
import { readAll } from "../../../shared/cluster/read.ts";
import type { Send } from "../../../shared/cluster/transport.ts";
import { isMarked } from "../../../shared/policy/evacuation/mark.ts";
import { isFinal, type NamespacedName } from "../../../shared/policy/facts.ts";
import * as names from "../../../shared/policy/names.ts";

const LABELS = [names.EVACUATION_LABEL, names.SHIELD_LABEL] as const;
const POD_ANNOTATIONS = [
  names.REQUEST_EVICT_ONLY_ANNOTATION,
  names.EVICTION_IN_PROGRESS_ANNOTATION,
  names.EVACUATION_REQUESTED_ANNOTATION,
] as const;
const MIGRATION_ANNOTATIONS = [names.CAUSE_ANNOTATION, names.EVACUATION_ANNOTATION] as const;

const Keys = z._default(z.record(z.string(), z.string()), {});
const Meta = z.object({ namespace: z.string(), name: z.string(), labels: Keys, annotations: Keys });
const Item = z.object({ metadata: Meta });
const LAUNCHERS = `${names.COMPONENT_LABEL}=${names.LAUNCHER_COMPONENT}`;

/** How many objects were cleaned, by what they are. */
export async function cleanObjects(send: () => Send): Promise<Readonly<Record<string, number>>> {
  return {
    "virtual machines": await clean(send, "virtualmachineinstances", { labels: LABELS }),
    pods: await clean(send, "pods", { labels: LABELS, annotations: POD_ANNOTATIONS, labelSelector: LAUNCHERS }),
    migrations: await clean(send, "virtualmachineinstancemigrations", { annotations: MIGRATION_ANNOTATIONS }),
    "disruption budgets": await deleteBudgets(send),
  };
}

interface Cleaning {
  readonly labels?: readonly string[];
  readonly annotations?: readonly string[];
  readonly labelSelector?: string;
}

async function clean(send: () => Send, resource: Resource, cleaning: Cleaning): Promise<number> {
  const { labels = [], annotations = [], labelSelector } = cleaning;
  const selection = labelSelector === undefined ? {} : { labelSelector };
  const found = await readAll(send(), { resource, schema: Item, onOddItem: () => undefined, ...selection });
  let count = 0;
  for (const { metadata } of found) {
    const ours = {
      labels: removals(metadata.labels, labels),
      annotations: removals(metadata.annotations, annotations),
    };
    if (Object.keys(ours.labels).length + Object.keys(ours.annotations).length === 0) continue;
    await send()({ method: "PATCH", path: object(resource, metadata), body: { metadata: ours }, expect: [404] });
    count++;
  }
  return count;
}

/** In a merge patch null takes a key off. */
function removals(present: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, null> {
  return Object.fromEntries(keys.flatMap((key) => (key in present ? [[key, null]] : [])));
}

/** The label alone may be another product's. */
async function deleteBudgets(send: () => Send): Promise<number> {
  const resource = "poddisruptionbudgets";
  const labelSelector = `${names.MANAGED_BY_LABEL}=${names.MANAGED_BY}`;
  const found = await readAll(send(), { resource, schema: Budget, onOddItem: () => undefined, labelSelector });
  const ours = found.filter(({ managedByUs }) => managedByUs);
  for (const budget of ours) await send()({ method: "DELETE", path: object(resource, budget), expect: [404] });
  return ours.length;
}

export interface MarkedVm extends NamespacedName {
  /** The node that it is to leave. */
  readonly node: string;
  /** False: it has left that node. */
  readonly isMarkedHere: boolean;
}

/** VMs that run and are still marked. */
export async function markedVms(send: () => Send): Promise<readonly MarkedVm[]> {
  const resource = "virtualmachineinstances";
  const found = await readAll(send(), { resource, schema: Vmi, onOddItem: () => undefined });
  return found.flatMap((vmi) => {
    const { namespace, name, evacuationNodeName: node } = vmi;
    return node === undefined || isFinal(vmi) ? [] : [{ namespace, name, node, isMarkedHere: isMarked(vmi) }];
  });
}
