/**
 * kube-controller-manager's disruption controller. It updates the status of every PodDisruptionBudget. It also resets
 * DisruptionTarget conditions of pods that were not deleted.
 */
import { matchesSelector } from "../labels.ts";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { timestamp } from "./clock.ts";
import type { KubeClient } from "./client.ts";
import { findCondition } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import * as budget from "./disruption-status.ts";
import { createEventRecorder } from "./event-recorder.ts";
import { startInformer } from "./informer.ts";
import { isFinished } from "./pod-status.ts";
import { keyOf, podDisruptionBudgets, pods, type Pod, type PodDisruptionBudget } from "./resources.ts";
import { scaleOf, UncountableError } from "./scale.ts";

export interface DisruptionOptions extends ActorOptions {
  /**
   * A client with kube-controller-manager's account. All controllers of kube-controller-manager read with this account.
   */
  readonly reader: KubeClient;
}

/** If the pod still exists after this time, its DisruptionTarget condition is stale. */
const STALE_CONDITION_MS = 120_000;
const UNCOUNTABLE_RETRY_MS = 10_000;

export function startDisruptionController(options: DisruptionOptions): Actor {
  const { client, clock, reader } = options;
  const recorder = createEventRecorder(client, clock, "controllermanager");
  const byNamespace = { namespace: (object: Pod | PodDisruptionBudget) => [object.metadata.namespace ?? ""] };
  const allPods = startInformer({ ...options, client: reader, resource: pods, indexes: byNamespace });
  const budgets = startInformer({ ...options, client: reader, resource: podDisruptionBudgets, indexes: byNamespace });

  const reconcileBudget = async (key: string): Promise<Result> => {
    const pdb = budgets.get(key);
    if (pdb === undefined || pdb.metadata.deletionTimestamp !== undefined) return undefined;
    await allPods.synced;
    const selected = allPods.byIndex("namespace", pdb.metadata.namespace ?? "").filter((pod) => selects(pdb, pod));
    if (selected.length === 0) await tell(pdb, "Normal", "NoPods", "No matching pods found");
    try {
      return await sync(pdb, selected);
    } catch (error) {
      if (!(error instanceof UncountableError)) throw error;
      await write(pdb, budget.failedStatus(pdb, error.message, timestamp(clock)));
      return { requeueAfterMs: UNCOUNTABLE_RETRY_MS };
    }
  };

  const sync = async (pdb: PodDisruptionBudget, selected: readonly Pod[]): Promise<Result> => {
    const spec = pdb.spec ?? {};
    const scale = budget.needsScale(spec) ? await expectedScale(pdb, selected) : 0;
    const now = clock.now().getTime();
    const { disruptedPods, overdue, recheckAt } = budget.stillDisrupted(pdb, selected, now);
    const overdueMessage = `Pod was expected by PDB ${keyOf(pdb)} to be deleted but it wasn't`;
    for (const pod of overdue)
      await recorder.record(pod, pods, { type: "Warning", reason: "NotDeleted", message: overdueMessage });
    const expectation = budget.expectationOf(spec, selected.length, scale);
    await write(pdb, budget.statusOf(pdb, { ...expectation, pods: selected, disruptedPods }, timestamp(clock)));
    return recheckAt === undefined ? undefined : { requeueAfterMs: recheckAt - now + 1 };
  };

  const expectedScale = async (pdb: PodDisruptionBudget, selected: readonly Pod[]): Promise<number> => {
    try {
      const { expected, unmanaged } = await scaleOf(client, selected);
      if (unmanaged.length > 0) {
        const names = unmanaged.map((pod) => pod.metadata.name).join(", ");
        await tell(
          pdb,
          "Warning",
          "UnmanagedPods",
          `Pods selected by this PodDisruptionBudget were found to be unmanaged: ${names}`,
        );
      }
      return expected;
    } catch (error) {
      if (!(error instanceof UncountableError)) throw error;
      const text = `Failed to calculate the number of expected pods: ${error.message}`;
      await tell(pdb, "Warning", "CalculateExpectedPodCountFailed", text);
      throw error;
    }
  };

  const write = async (pdb: PodDisruptionBudget, status: NonNullable<PodDisruptionBudget["status"]>) => {
    if (budget.sameStatus(pdb.status, status)) return;
    await client.update(podDisruptionBudgets, { ...pdb, status }, { subresource: "status" });
  };

  const tell = (pdb: PodDisruptionBudget, type: "Normal" | "Warning", reason: string, message: string) =>
    recorder.record(pdb, podDisruptionBudgets, { type, reason, message });

  const reconcileCondition = async (key: string): Promise<Result> => {
    const pod = allPods.get(key);
    const condition = pod && findCondition(pod.status?.conditions, "DisruptionTarget");
    if (pod === undefined || condition?.status !== "True" || isOnItsWay(pod)) return undefined;
    const since = Date.parse(condition.lastTransitionTime ?? pod.metadata.creationTimestamp);
    const left = since + STALE_CONDITION_MS - clock.now().getTime();
    if (left > 0) return { requeueAfterMs: left };
    const { generation: observedGeneration } = pod.metadata;
    const { name, namespace, uid, resourceVersion } = pod.metadata;
    const stale = { type: "DisruptionTarget", status: "False", observedGeneration, reason: null, message: null };
    const conditions = [{ ...stale, lastTransitionTime: timestamp(clock) }];
    const body = { metadata: { uid, resourceVersion }, status: { conditions } };
    await client.patch(pods, { namespace, name }, { type: "strategic", body }, { subresource: "status" });
  };

  const budgetController = startController({ name: "disruption", reconcile: reconcileBudget, ...options });
  const conditionController = startController({ name: "stale-disruption", reconcile: reconcileCondition, ...options });
  budgetController.watch(budgets, (pdb) => [keyOf(pdb)]);
  budgetController.watch(allPods, (pod) =>
    budgets
      .byIndex("namespace", pod.metadata.namespace ?? "")
      .filter((pdb) => selects(pdb, pod))
      .map(keyOf),
  );
  conditionController.watch(allPods, (pod) => [keyOf(pod)]);
  return actorOf([budgetController, conditionController], [allPods, budgets]);
}

/**
 * Returns whether the PodDisruptionBudget selects the pod. A missing selector selects no pod. An empty selector selects
 * every pod.
 */
function selects(pdb: PodDisruptionBudget, pod: Pod): boolean {
  const selector = pdb.spec?.selector;
  return selector !== undefined && matchesSelector(selector, pod.metadata.labels ?? {});
}

function isOnItsWay(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined || isFinished(pod);
}
