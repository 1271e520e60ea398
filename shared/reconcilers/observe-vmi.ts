/**
 * Observing one VMI and what is around it: what one reconcile of it decides on.
 * Owns: which requests that takes, and their order. Does not own: what follows from the facts (shared/policy).
 *
 * The order matters: Evacuations before the VMI, so that a missing mark means that it was removed. Nothing is read that no
 * rule needs, and nothing whose size depends on other VMs.
 */
import { type MigrationQueue, mayBeStuck } from "../policy/attempt.ts";
import { areBudgetsWanted } from "../policy/budget-mode.ts";
import { budgetName } from "../policy/budget-name.ts";
import { isAnnotating } from "../policy/descheduler-annotations.ts";
import { inheritedAttempts, needsNode, needsPods } from "../policy/evacuation-world.ts";
import type {
  EvacuationFacts,
  MigrationFacts,
  NamespacedName,
  NodeFacts,
  PodFacts,
  VmiFacts,
} from "../policy/facts.ts";
import { isFinal } from "../policy/facts.ts";
import { isActive } from "../policy/phase.ts";
import type { Observer } from "./observer.ts";
import { NO_WORLD, type World } from "./world.ts";

/** What the caller has read, or pods that it was pointed at. */
export interface Known {
  /** Absent: read now. */
  readonly evacuations?: readonly EvacuationFacts[];
  /** As it was read at the same time as the Evacuations. */
  readonly vmi?: VmiFacts;
  readonly pods?: readonly PodFacts[];
}

export async function observeVmi(key: NamespacedName, observer: Observer, known: Known = {}): Promise<World> {
  const { cluster, settings, now } = observer;
  const evacuations = known.evacuations ?? (await cluster.listEvacuations(key));
  const active = evacuations.filter(isActive);
  const [vmi, migrations] = await Promise.all([
    known.vmi ?? cluster.getVmi(key),
    active.length === 0 ? [] : cluster.listMigrations(key),
  ]);
  const world = { ...NO_WORLD, settings, now, evacuations, migrations, vmisAreNewer: known.vmi === undefined };
  if (vmi === undefined) return { ...world, pods: known.pods ?? [] };
  const around = await observeAround(vmi, { active, migrations, pods: known.pods ?? [] }, observer);
  return { ...world, ...around, vmis: [vmi] };
}

interface Found {
  readonly active: readonly EvacuationFacts[];
  readonly migrations: readonly MigrationFacts[];
  readonly pods: readonly PodFacts[];
}

async function observeAround(vmi: VmiFacts, found: Found, { cluster, settings, now }: Observer) {
  const { active, migrations, pods } = found;
  const { nodeName } = vmi;
  const isNodeNeeded = active.some(needsNode) || pods.length > 0;
  const arePodsNeeded = active.some((e) => needsPods(e, migrations));
  const attempts = Math.max(0, ...active.map(inheritedAttempts));
  const isQueueNeeded = migrations.some((m) => !isFinal(m) && mayBeStuck(m, { attempts, settings, now }));
  const [node, own, budget, launchers, queue] = await Promise.all([
    isNodeNeeded && nodeName !== undefined ? cluster.getNode(nodeName) : undefined,
    arePodsNeeded ? cluster.listPodsOf(vmi) : [],
    areBudgetsWanted(settings) ? cluster.getBudget({ namespace: vmi.namespace, name: budgetName(vmi) }) : undefined,
    isAnnotating(settings) ? cluster.listLaunchers([vmi]) : [],
    isQueueNeeded ? cluster.listVmis("Migrating") : undefined,
  ]);
  return {
    nodes: nodeOr(node),
    // What was read later comes first.
    pods: [...own, ...pods],
    budgets: budget === undefined ? [] : [budget],
    launchers,
    ...(queue === undefined ? {} : { queues: new Map([[nodeName ?? "", queueOf(queue, nodeName)]]) }),
  };
}

function nodeOr(node: NodeFacts | undefined): readonly NodeFacts[] {
  return node === undefined ? [] : [node];
}

/** As KubeVirt counts: what runs, in the cluster and from the node. */
function queueOf(labelled: readonly VmiFacts[], nodeName: string | undefined): MigrationQueue {
  const running = labelled.filter((vmi) => vmi.isMigrating);
  return { running: running.length, leaving: running.filter((vmi) => vmi.nodeName === nodeName).length };
}
