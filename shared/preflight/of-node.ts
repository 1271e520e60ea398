/**
 * Reads the facts of a preflight: the pods and VMs of the node, and the free resources of other nodes. The number of
 * requests grows with the number of namespaces that have moving VMs. It also grows with the number of launcher pods
 * whose VMI is missing in the list of the node's VMIs.
 */
import { budgetOf } from "../budget/refusal.ts";
import { each, type Facts, together, unlessFailed, type Readable } from "../facts/facts.ts";
import * as ask from "../facts/questions.ts";
import { ROOMY_NODES } from "../facts/views.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { isOddObject } from "../kube/failures.ts";
import { isOfLiveVm, keyOf, vmiNameOf } from "../kube/objects.ts";
import { selectEvacuationsFrom, selectPodsOn, selectVmisOn } from "../kube/selections.ts";
import type { Deciding } from "../settings/time.ts";
import { leavingElsewhere, type Listed } from "./elsewhere.ts";
import type { DrainFlags, Leaving, PreflightFacts, PreflightPod } from "./facts.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { NEIGHBOUR_PODS, PREFLIGHT_PODS, QUOTAS, VOLUMES } from "./views.ts";

type Elsewhere =
  "node" | "otherNodes" | "otherPods" | "volumes" | "migratingElsewhere" | "leavingElsewhere" | "finished";
type PodsOfNode = Omit<PreflightFacts, Elsewhere>;

/** Returns the facts of the preflight. Returns undefined if the node does not exist. */
export function preflightOf(name: string, flags: DrainFlags, deciding: Deciding): PreflightFacts | undefined {
  const { facts } = deciding;
  const unlike = { "spec.nodeName": ["", name], "status.phase": ["Succeeded", "Failed"] };
  const [nodes, here, otherPods, migrating] = together(
    () => facts.readable(ROOMY_NODES).items,
    () => podsOfNode(name, flags, deciding),
    () => unlessUnread("pods of other nodes", () => facts.readable(NEIGHBOUR_PODS, { unlike })),
    () => ask.migratingVmis(facts),
  );
  const node = nodes.find((one) => one.name === name);
  // `list` throws if a node cannot be parsed, because this node may be the node to drain.
  if (node === undefined) return facts.list(ROOMY_NODES) && undefined;
  const hasVms = here.vmis.length > 0;
  const [volumes, leaving, finished, rollout] = together(
    () => volumesOf(here, facts),
    () => (hasVms ? elsewhere({ name, nodes, evacuations: here.evacuations }, deciding) : NOTHING),
    () => (hasVms ? unlessUnread("finished migrations", () => wholly(ask.finishedMigrations(facts))) : NOTHING),
    () => (hasVms ? rolloutIn(facts) : []),
  );
  return {
    ...here,
    node,
    otherNodes: nodes.filter((one) => one !== node),
    otherPods: otherPods.items,
    migratingElsewhere: migrating.filter(({ nodeName }) => nodeName !== name),
    leavingElsewhere: leaving.items,
    volumes: volumes.items,
    // Unread migrations are not reported, because an estimate is possible without them.
    finished: finished.items,
    unread: [...here.unread, ...otherPods.unread, ...volumes.unread, ...leaving.unread, ...rollout],
  };
}

export function podsOfNode(name: string, flags: DrainFlags, { facts, settings, now }: Deciding): PodsOfNode {
  const [pods, here, evacuations, budgets] = together(
    () => listed("pods of the node", facts.readable(PREFLIGHT_PODS, selectPodsOn(name))),
    () => listed("VMIs of the node", facts.readable("virtualmachineinstances", selectVmisOn(name))),
    () => evacuationsSeen(name, facts),
    () => unlessUnread("disruption budgets", () => facts.readable("poddisruptionbudgets")),
  );
  const [vmsSeen, quotas] = together(
    () => vmsOf(here.items, pods.items, facts),
    () => (pods.items.some(isOfLiveVm) ? unlessUnread("resource quotas", () => facts.readable(QUOTAS)) : NOTHING),
  );
  const { vmis } = vmsSeen;
  const migrations = unlessUnread("migrations", () => wholly(ask.migrationsUnderWay(vmis, facts)));
  const unread = [pods, here, vmsSeen, evacuations, budgets, quotas, migrations].flatMap((one) => one.unread);
  const isPartlySeen = [pods, here, vmsSeen].some((one) => one.unread.length > 0);
  return {
    settings,
    now,
    flags,
    pods: vmsSeen.pods,
    vmis,
    evacuations: evacuations.items,
    budgets: budgets.items,
    quotas: quotas.items,
    migrations: migrations.items,
    unread,
    ...(isPartlySeen && { isPartlySeen }),
    ...(evacuations.unread.length > 0 && { areEvacuationsPartlySeen: true }),
  };
}

const NOTHING = { items: [], unread: [] } as const;

const wholly = <T>(items: readonly T[]): Readable<T> => ({ items, odd: [] });

function listed<T>(what: string, { items, odd }: Readable<T>): Listed<T> {
  return { items, unread: odd.length > 0 ? [`${odd.length} ${what}`] : [] };
}

function unlessUnread<T>(what: string, list: () => Readable<T>): Listed<T> {
  return unlessFailed(
    () => listed(what, list()),
    () => ({ items: [], unread: [what] }),
  );
}

function elsewhere(around: Parameters<typeof leavingElsewhere>[0], deciding: Deciding): Listed<Leaving> {
  return unlessFailed(
    () => leavingElsewhere(around, deciding),
    () => ({ items: [], unread: [MESSAGES.leavingElsewhere(undefined)] }),
  );
}

/**
 * Returns a note if KubeVirt is being updated. During the update, KubeVirt itself migrates and restarts VMs, which can
 * delay the drain.
 */
function rolloutIn(facts: Facts): readonly string[] {
  const isRollingOut = () => ask.kubeVirt(facts)?.isRollingOut === true;
  return unlessFailed(
    () => (isRollingOut() ? [MESSAGES.rollout] : []),
    () => [MESSAGES.unreadKubeVirt],
  );
}

/**
 * Returns the volumes that only some nodes can access. Each volume contains the name of its claim, so Lifeboat does not
 * have to read claims.
 */
function volumesOf({ pods, budgets }: PodsOfNode, facts: Facts) {
  const isPlaced = (pod: PreflightPod) => isOfLiveVm(pod) || budgetOf(pod, budgets) !== undefined;
  if (!pods.some((pod) => pod.claims.length > 0 && isPlaced(pod))) return NOTHING;
  const { items, unread } = unlessUnread("persistent volumes", () => facts.readable(VOLUMES));
  return { items: items.filter((volume) => volume !== undefined), unread };
}

/**
 * Returns all active Evacuations, because some do not contain the name of their node yet. Also returns ended
 * Evacuations from this node. An Evacuation that cannot be parsed counts only if it names this node.
 */
function evacuationsSeen(node: string, facts: Facts) {
  const [active, fromHere] = together(
    () => ask.unlessNotServed(() => ask.activeEvacuations(facts)),
    () => ask.unlessNotServed(() => [facts.readable("evacuations", selectEvacuationsFrom(node))]),
  );
  const all = [...fromHere.flatMap(({ items }) => items), ...active];
  const found = new Map(all.map((evacuation) => [evacuation.uid, evacuation]));
  return listed("Evacuations", { items: [...found.values()], odd: fromHere.flatMap(({ odd }) => odd) });
}

interface OddVmi {
  readonly pod: PreflightPod;
  readonly key: NamespacedName;
  readonly issue: string;
}

/**
 * Returns the VMIs of the node and of the launcher pods on it. Omits a launcher pod if its VMI cannot be parsed.
 */
export function vmsOf(here: readonly VmiFacts[], pods: readonly PreflightPod[], facts: Facts) {
  const known = new Set(here.map(keyOf));
  const seen = each(pods, (pod) => {
    const key = { namespace: pod.namespace, name: vmiNameOf(pod) ?? "" };
    if (!isOfLiveVm(pod) || key.name === "" || known.has(keyOf(key))) return { pod, vmi: undefined };
    return unlessFailed(
      () => ({ pod, vmi: facts.get("virtualmachineinstances", key) }),
      (failed): OddVmi => {
        if (!isOddObject(failed.failure)) throw failed;
        return { pod, key, issue: failed.failure.issue };
      },
    );
  });
  const found = seen.filter((one) => "vmi" in one);
  const odd = seen.filter((one) => "issue" in one);
  const more = new Map(found.flatMap(({ vmi }) => (vmi === undefined ? [] : [[vmi.uid, vmi] as const])));
  return {
    vmis: [...here, ...more.values()],
    pods: found.map(({ pod }) => pod),
    odd,
    unread: odd.map(({ pod }) => MESSAGES.unreadVmi(pod)),
  };
}
