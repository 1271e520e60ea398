/** Reads the facts of a plan from the API server, in pages. Writes nothing. */
import type { Client } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import { readKubeVirt, noneUnlessServed } from "../kube/requests.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import { ResourceQuota } from "../preflight/kinds.ts";
import { PREFLIGHT_MESSAGES } from "../preflight/messages.ts";
import type { Observer } from "../settings/load-settings.ts";
import type { PlanFacts } from "./facts.ts";
import { MigrationOfPlan, planPodSchema, VmiOfPlan, VolumeOfPlan } from "./kinds.ts";
import { type OPEN_WITHOUT, PLAN_MESSAGES } from "./messages.ts";

/** Reads the facts of a plan. Calls `say` with the name of each list before reading it. */
export async function observePlan(
  { cluster, settings, now }: Observer,
  say: (what: string) => void = () => undefined,
): Promise<PlanFacts> {
  const [drains, afterwards] = [newReads(say), newReads(say)];
  const { read, optional } = drains;
  const orNone = async <T>(kind: Optional, list: List<T>) => (await optional(kind, list)) ?? [];
  // Reads the VolumeAttachments before the pods, so that no attachment belongs to a pod that was created after the pods
  // were listed.
  const attachments = await afterwards.optional("volumeattachments", (onOdd) =>
    cluster.list("volumeattachments", { onOdd }).catch(noneUnlessServed),
  );
  const nodes = await read("nodes", () => cluster.list("nodes", { as: NodeWithResources, strict: true }));
  const pods = await read("pods", (onOdd) =>
    cluster.list("pods", { unlike: { "spec.nodeName": [""] }, as: planPodSchema(), onOdd }),
  );
  const unreadVmis = new Set<string>();
  const vmis = await read("virtualmachineinstances", (countOdd) => {
    const onOdd = (issue: string) => {
      countOdd();
      unreadVmis.add(issue.slice(0, issue.indexOf(": ")));
    };
    return cluster.list("virtualmachineinstances", { as: VmiOfPlan, onOdd });
  });
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
  const volumes = await optional("persistentvolumes", (onOdd) =>
    cluster.list("persistentvolumes", { as: VolumeOfPlan, onOdd }),
  );
  await readRollout(cluster, drains.unread);
  const isAttachedKnown = attachments && volumes && !drains.odd.has("pods") && !drains.odd.has("persistentvolumes");
  return {
    settings,
    now,
    nodes,
    pods,
    vmis,
    unreadVmis,
    vms: new Map((vms ?? []).map((vm) => [keyOf(vm), vm])),
    migrations,
    evacuations,
    budgets,
    quotas,
    volumes: (volumes ?? []).flatMap(({ bound }) => bound ?? []),
    ...(isAttachedKnown && { attached: { attachments, volumes } }),
    unread: drains.unread,
    unreadAfterwards: afterwards.unread,
  };
}

type Optional = keyof typeof OPEN_WITHOUT;
type List<T> = (onOdd: () => void) => Promise<readonly T[]>;

function newReads(say: (what: string) => void) {
  const unread: string[] = [];
  const odd = new Set<string>();
  const read = async <T>(what: string, list: List<T>): Promise<readonly T[]> => {
    say(what);
    let count = 0;
    const items = await list(() => void (count += 1));
    if (count === 0) return items;
    unread.push(PLAN_MESSAGES.odd(count, what));
    odd.add(what);
    return items;
  };
  /** Reads a list that is not essential for the plan. Returns undefined if the list could not be read. */
  const optional = async <T>(kind: Optional, list: List<T>): Promise<readonly T[] | undefined> => {
    try {
      return await read(kind, list);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      const isForbidden = error.failure.reason === "Refused" && error.failure.code === 403;
      unread.push(isForbidden ? PLAN_MESSAGES.forbidden(kind) : PLAN_MESSAGES.unread(kind));
      return undefined;
    }
  };
  return { unread, odd, read, optional };
}

/**
 * Adds a note if KubeVirt is being updated. During the update, KubeVirt itself migrates and restarts VMs, which can
 * delay the drains.
 */
async function readRollout(cluster: Client, unread: string[]): Promise<void> {
  if ((await readKubeVirt(cluster))?.isRollingOut === true) unread.push(PREFLIGHT_MESSAGES.rollout);
}
