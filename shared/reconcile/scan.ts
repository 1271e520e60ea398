/** The full scan. It reads each list once and decides about all objects in the lists. */
import { deschedulerSupport } from "../annotations/feature.ts";
import { planBudgets } from "../budget/budget.ts";
import { planNewEvacuations, planHistory } from "../evacuation/plan.ts";
import { factsOfNodes } from "../facts/lists.ts";
import { guard } from "../guard/feature.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { ClusterError } from "../kube/failures.ts";
import type { BudgetFacts, NamespacedName, NodeFacts } from "../kube/facts.ts";
import { isOpen, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { LAUNCHER, OURS } from "../kube/requests.ts";
import type { RollingMaintenanceFacts } from "../kube/rolling-maintenance.ts";
import { Launcher } from "../kube/schemas/kubernetes.ts";
import { planMaintenanceHistory } from "../maintenance/history.ts";
import { planSteering } from "../maintenance/rolling/steering.ts";
import { pressure } from "../pressure/feature.ts";
import { isFeatureOn } from "../settings/feature.ts";
import type { Observer } from "../settings/load-settings.ts";
import { shield } from "../shield/feature.ts";
import type { Plans } from "../kube/action.ts";
import { readPressure } from "./pressure.ts";
import { areTaintsConcern, ofThese, readTaints, withHold } from "./taints.ts";

export interface Scanned {
  readonly plans: Plans;
  readonly evacuations: readonly EvacuationFacts[];
  readonly nodes: readonly NodeFacts[];
  readonly isRolling: boolean;
}

export async function scan(observer: Observer): Promise<Scanned> {
  const { cluster, now } = observer;
  // Reads the Evacuations before the VMIs. If an Evacuation has the condition Marked and the VMI has no
  // evacuationNodeName, somebody has therefore removed the evacuationNodeName.
  const evacuations = await cluster.list("evacuations");
  let complete = true;
  const onOdd = () => {
    complete = false;
  };
  const reading = cluster.list("virtualmachineinstances", { onOdd });
  const [vmis, nodes, maintenance] = await Promise.all([reading, cluster.list("nodes"), readMaintenance(observer)]);
  const { nodeEvacuations, rolling } = maintenance ?? { nodeEvacuations: [], rolling: [] };
  const openNodeEvacuations = maintenance && new Set(nodeEvacuations.filter(isOpen).map(({ uid }) => uid));
  const [{ budgets, unread }, launchers, around] = await Promise.all([
    // Reads PodDisruptionBudgets even if Lifeboat needs none. Lifeboat then deletes the PodDisruptionBudgets that it
    // created before.
    readBudgets(vmis, observer),
    isFeatureOn(deschedulerSupport, observer.settings) ? cluster.list("pods", { labels: LAUNCHER, as: Launcher }) : [],
    readPressure({ vmis, nodes, pods: [], requests: [], evacuations }, observer),
  ]);
  const settings = await withHold(observer.settings, cluster);
  const tainted = areTaintsConcern(settings) ? (await readTaints(nodes, cluster)).launchers : [];
  const pods = complete ? tainted : ofThese(vmis, tainted);
  const seen = { settings, now, facts: factsOfNodes(nodes), vmis, evacuations };
  const budgeted = vmis.filter(({ namespace }) => !unread.has(namespace));
  const { pressured } = around;
  const plans = [
    { name: guard.name, ...guard.plan({ ...seen, pods }) },
    { name: shield.name, ...shield.plan({ ...seen, pressured, shielded: [] }) },
    { name: pressure.name, ...pressure.plan({ ...seen, ...around }) },
    { name: deschedulerSupport.name, ...deschedulerSupport.plan({ ...seen, launchers }) },
    { name: "budget", ...planBudgets({ ...seen, vmis: budgeted, migrations: [], budgets, complete }) },
    { name: "new evacuations", ...planNewEvacuations(seen) },
    { name: "history", ...planHistory({ ...seen, openNodeEvacuations }) },
    { name: "history of maintenance", ...planMaintenanceHistory({ ...seen, nodeEvacuations, rolling }) },
    { name: "steering", ...(maintenance === undefined ? { chains: [] } : planSteering(nodes, rolling, now)) },
  ];
  return { plans, evacuations, nodes, isRolling: maintenance === undefined || rolling.length > 0 };
}

interface Maintenance {
  readonly nodeEvacuations: readonly NodeEvacuationFacts[];
  readonly rolling: readonly RollingMaintenanceFacts[];
}

/**
 * Reads the objects of node maintenance. Returns undefined if a read fails or an object cannot be parsed, for example
 * because the cluster has the CRDs of an older version.
 */
async function readMaintenance({ cluster, onFailure }: Observer): Promise<Maintenance | undefined> {
  try {
    const [nodeEvacuations, rolling] = await Promise.all([
      cluster.list("nodeevacuations", { strict: true }),
      cluster.list("rollingmaintenances", { strict: true }),
    ]);
    return { nodeEvacuations, rolling };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("node maintenance", error);
    return undefined;
  }
}

/**
 * The maximum number of lists that are read at the same time. A tenant's large PodDisruptionBudgets could fill the
 * memory.
 */
const LISTS_AT_A_TIME = 3;
/** The time limit for each list, so that one slow list does not use up the time for other namespaces. */
const BUDGETS_MS = 10_000;

/**
 * Reads PodDisruptionBudgets namespace by namespace, so that the objects of one tenant affect only this tenant's
 * namespace.
 */
async function readBudgets(vmis: readonly NamespacedName[], { cluster, onFailure }: Observer) {
  const namespaces = new Set(vmis.map(({ namespace }) => namespace)).values();
  const unread = new Set<string>();
  const budgets: BudgetFacts[] = [];
  const worker = async () => {
    for (const namespace of namespaces) {
      try {
        budgets.push(
          ...(await cluster.list("poddisruptionbudgets", { namespace, labels: OURS, withinMs: BUDGETS_MS })),
        );
      } catch (error) {
        if (!(error instanceof ClusterError)) throw error;
        onFailure?.("budgets", error);
        unread.add(namespace);
      }
    }
  };
  await Promise.all(Array.from({ length: LISTS_AT_A_TIME }, worker));
  return { budgets, unread };
}
