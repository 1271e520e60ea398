/** What Lifeboat has written on objects that are not its own, and taking it off. */
import * as z from "zod/mini";
import { Budget } from "../../../shared/cluster/kinds/kubernetes.ts";
import { Vmi } from "../../../shared/cluster/kinds/kubevirt.ts";
import { object, type Resource } from "../../../shared/cluster/paths.ts";
import { readAll } from "../../../shared/cluster/read.ts";
import type { Send } from "../../../shared/cluster/transport.ts";
import { isMarked } from "../../../shared/policy/evacuation/mark.ts";
import { isFinal } from "../../../shared/policy/facts.ts";
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
    "virtual machines": await clean(send, "virtualmachineinstances", LABELS),
    pods: await clean(send, "pods", [...LABELS, ...POD_ANNOTATIONS], LAUNCHERS),
    migrations: await clean(send, "virtualmachineinstancemigrations", MIGRATION_ANNOTATIONS),
    "disruption budgets": await deleteBudgets(send),
  };
}

/** No key is both a label of Lifeboat's and an annotation of another's. */
async function clean(send: () => Send, resource: Resource, keys: readonly string[], labelSelector?: string) {
  const selection = labelSelector === undefined ? {} : { labelSelector };
  const found = await readAll(send(), { resource, schema: Item, onOddItem: () => undefined, ...selection });
  let count = 0;
  for (const { metadata } of found) {
    const [labels, annotations] = [removals(metadata.labels, keys), removals(metadata.annotations, keys)];
    if (Object.keys({ ...labels, ...annotations }).length === 0) continue;
    const body = { metadata: { labels, annotations } };
    await send()({ method: "PATCH", path: object(resource, metadata), body, expect: [404] });
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

/** VMs that run and are still marked, each with what keeps it where it is. */
export async function markedLines(send: () => Send): Promise<readonly string[]> {
  const resource = "virtualmachineinstances";
  const found = await readAll(send(), { resource, schema: Vmi, onOddItem: () => undefined });
  return found.flatMap((vmi) => {
    const { namespace, name, evacuationNodeName } = vmi;
    if (evacuationNodeName === undefined || isFinal(vmi)) return [];
    const what = isMarked(vmi)
      ? `: KubeVirt moves it. To keep it on ${evacuationNodeName}:`
      : ", for a node that it has left:";
    // `virtctl evacuate-cancel` of 1.7.0 to 1.8.4 and of 1.9.0 sends no node's name, and fails.
    const path = `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/${resource}/${name}/evacuate/cancel`;
    const command = `echo '${JSON.stringify({ evacuationNodeName })}' | kubectl replace --raw ${path} -f -`;
    return [`‼ VM ${namespace}/${name} is still marked${what}`, `    ${command}`];
  });
}
