/** Observing the whole cluster, for the full scan. */
import { ClusterError } from "../kube/failures.ts";
import { Launcher } from "../kube/schemas/kubernetes.ts";
import type { BudgetFacts, NamespacedName } from "../kube/facts.ts";
import { isOpen } from "../kube/node-evacuation.ts";
import { observePressure } from "./observe-nodes.ts";
import { areTaintsConcern, observeTaints, withHold } from "./observe-taints.ts";
import { NO_WORLD, type World } from "./carry-out.ts";
import { LAUNCHER, OURS } from "../kube/requests.ts";
import { deschedulerSupport } from "../annotations/feature.ts";
import { isFeatureOn } from "../settings/feature.ts";
import type { Observer } from "../settings/load-settings.ts";

export interface Scanned {
  readonly world: World;
  /** Namespaces whose budgets could not be read: nothing is decided on them this time. */
  readonly unread: ReadonlySet<string>;
}

export async function observeAll(observer: Observer): Promise<Scanned> {
  const { cluster, settings, now } = observer;
  const evacuations = await cluster.list("evacuations");
  // A VMI that cannot be understood may have a budget all the same.
  let complete = true;
  const onOdd = () => {
    complete = false;
  };
  const reading = cluster.list("virtualmachineinstances", { onOdd });
  const [vmis, nodes, openNodeEvacuations] = await Promise.all([reading, cluster.list("nodes"), readOpen(observer)]);
  const [{ budgets, unread }, launchers, pressure] = await Promise.all([
    // Also where none are wanted: those of before are removed.
    readBudgets(vmis, observer),
    isFeatureOn(deschedulerSupport, settings) ? cluster.list("pods", { labels: LAUNCHER, as: Launcher }) : [],
    observePressure({ vmis, nodes, pods: [], requests: [], evacuations }, { cluster, settings, now }),
  ]);
  const holding = await withHold(settings, cluster);
  // All Evacuations have been read.
  const { pods } = areTaintsConcern(holding) ? await observeTaints(nodes, cluster) : NO_WORLD;
  const areVmisKnown = complete;
  const seen = { vmis, nodes, evacuations, budgets, launchers, vmisAreNewer: true, complete, openNodeEvacuations };
  const world = {
    ...NO_WORLD,
    settings: holding,
    now,
    ...seen,
    ...pressure,
    pods,
    areVmisKnown,
  };
  return { world, unread };
}

/** Undefined: the manifests in the cluster are of an older version. */
async function readOpen({ cluster, onFailure }: Observer): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set((await cluster.list("nodeevacuations")).filter(isOpen).map(({ uid }) => uid));
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("NodeEvacuations", error);
    return undefined;
  }
}

/** Each holds as much as one answer may be, for any tenant may label large budgets as ours. */
const LISTS_AT_A_TIME = 3;
/** A list that hangs must not use up the time of other namespaces'. */
const BUDGETS_MS = 10_000;

/** By namespace, so that a tenant's budgets are at most that namespace's trouble. */
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
