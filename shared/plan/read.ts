/** Reads the facts of a plan: lists, in pages. It writes nothing. */
import type { Client } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import { readKubeVirt, noneUnlessServed } from "../kube/requests.ts";
import type { Resource } from "../kube/resources.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import { PersistentVolume, ResourceQuota } from "../preflight/kinds.ts";
import type { Observer } from "../settings/load-settings.ts";
import type { PlanFacts } from "./facts.ts";
import { MigrationOfPlan, planPodSchema, VmiOfPlan } from "./kinds.ts";

/** For each list that a person may not be allowed to read: the questions that stay open without it. */
const WITHOUT = {
  poddisruptionbudgets: "whether disruption budgets hold pods",
  resourcequotas: "whether quotas refuse target pods",
  persistentvolumes: "which nodes reach the volumes",
  virtualmachines: "the wishes of owners, and whether VMs start again",
  virtualmachineinstancemigrations: "which migrations have succeeded or failed",
  evacuations: "which evacuations have failed",
} as const satisfies Partial<Record<Resource, string>>;

/** Reads the facts of a plan. Calls `say` with the name of each list. */
export async function observePlan(
  { cluster, settings, now }: Observer,
  say: (what: string) => void = () => undefined,
): Promise<PlanFacts> {
  const unread: string[] = [];
  const read = <T>(what: string, list: (onOdd: () => void) => Promise<readonly T[]>) => {
    say(what);
    return counted(what, unread, list);
  };
  const optional = <T>(kind: keyof typeof WITHOUT, list: (onOdd: () => void) => Promise<readonly T[]>) =>
    unlessForbidden(kind, unread, () => read(kind, list));
  const orNone = async <T>(kind: keyof typeof WITHOUT, list: (onOdd: () => void) => Promise<readonly T[]>) =>
    (await optional(kind, list)) ?? [];
  const nodes = await read("nodes", () => cluster.list("nodes", { as: NodeWithResources, strict: true }));
  const pods = await read("pods", (onOdd) =>
    cluster.list("pods", { unlike: { "spec.nodeName": [""] }, as: planPodSchema(), onOdd }),
  );
  const vmis = await read("virtualmachineinstances", (onOdd) =>
    cluster.list("virtualmachineinstances", { as: VmiOfPlan, onOdd }),
  );
  const vms = await optional("virtualmachines", (onOdd) => cluster.list("virtualmachines", { onOdd }));
  const migrations = await orNone("virtualmachineinstancemigrations", (onOdd) =>
    cluster.list("virtualmachineinstancemigrations", { as: MigrationOfPlan, onOdd }),
  );
  const evacuations = await orNone("evacuations", (onOdd) =>
    cluster.list("evacuations", { onOdd }).catch(noneUnlessServed),
  );
  const budgets = await orNone("poddisruptionbudgets", (onOdd) => cluster.list("poddisruptionbudgets", { onOdd }));
  const quotas = await orNone("resourcequotas", (onOdd) =>
    cluster.list("resourcequotas", { as: ResourceQuota, onOdd }),
  );
  const volumes = await orNone("persistentvolumes", (onOdd) =>
    cluster.list("persistentvolumes", { as: PersistentVolume, onOdd }),
  );
  await readRollout(cluster, unread);
  return {
    settings,
    now,
    nodes,
    pods,
    vmis,
    vms: new Map((vms ?? []).map((vm) => [keyOf(vm), vm])),
    migrations,
    evacuations,
    budgets,
    quotas,
    volumes: volumes.filter((volume) => volume !== undefined),
    unread,
  };
}

/** Reads a list, and says how many objects could not be parsed. */
async function counted<T>(
  what: string,
  unread: string[],
  list: (onOdd: () => void) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  let odd = 0;
  const items = await list(() => void (odd += 1));
  if (odd > 0) unread.push(`${odd} ${what} that cannot be understood`);
  return items;
}

async function unlessForbidden<T>(
  kind: keyof typeof WITHOUT,
  unread: string[],
  list: () => Promise<readonly T[]>,
): Promise<readonly T[] | undefined> {
  try {
    return await list();
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const isForbidden = error.failure.reason === "Refused" && error.failure.code === 403;
    unread.push(`${WITHOUT[kind]}: ${isForbidden ? `you may not list ${kind}` : `${kind} could not be read`}`);
    return undefined;
  }
}

/** Reports a rollout of KubeVirt, whose own migrations and restarts may delay the drains. */
async function readRollout(cluster: Client, unread: string[]): Promise<void> {
  if ((await readKubeVirt(cluster))?.isRollingOut === true)
    unread.push("how KubeVirt's rollout ends, which is in progress");
}
