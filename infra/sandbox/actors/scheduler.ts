/**
 * The scheduler: of the nodes that fit, a pending pod goes to the one it prefers, else to the one with the fewest pods;
 * if none fits it waits and says why.
 * Owns: bindings, PodScheduled. Does not own: which nodes fit (node-fit.ts), preemption (a pod that fits nowhere waits).
 */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { timestamp } from "./clock.ts";
import { findCondition, withCondition } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { createEventRecorder } from "./event-recorder.ts";
import { startInformer } from "./informer.ts";
import { preferenceFor, whyNot } from "./node-fit.ts";
import { keyOf, nodes, pods, type Node, type Pod } from "./resources.ts";

const NAME = "default-scheduler";

export function startScheduler(options: ActorOptions): Actor {
  const { client, clock } = options;
  const recorder = createEventRecorder(client, clock, NAME);
  const known = startInformer({ client, clock, resource: nodes });
  const all = startInformer({
    client,
    clock,
    resource: pods,
    indexes: { node: (pod: Pod) => (isFinished(pod) ? [] : [nodeOf(pod) ?? ""]) },
  });
  /** Bound by us, not yet seen as bound. */
  const assumed = new Map<string, Pod>();

  const podsOn = (node: string): Pod[] => {
    const seen = all.byIndex("node", node);
    const expected = [...assumed.values()].filter((pod) => nodeOf(pod) === node);
    return [...seen, ...expected.filter(({ metadata }) => !seen.some((pod) => pod.metadata.uid === metadata.uid))];
  };

  const reconcile = async (key: string): Promise<Result> => {
    const pod = all.get(key);
    if (pod === undefined || !isOurs(pod) || assumed.has(pod.metadata.uid)) return undefined;
    await known.synced;
    const reasons: string[] = [];
    const feasible: Candidate[] = [];
    for (const node of known.list()) {
      const neighbours = podsOn(node.metadata.name);
      const reason = whyNot(pod, node, neighbours);
      if (reason === undefined) feasible.push({ node, preference: preferenceFor(pod, node), pods: neighbours.length });
      else reasons.push(reason);
    }
    const [best] = feasible.toSorted(byPreference);
    if (best === undefined) await explain(pod, unschedulable(reasons));
    else await bind(pod, best.node.metadata.name);
    return undefined;
  };

  const bind = async (pod: Pod, node: string) => {
    const { name, namespace, uid } = pod.metadata;
    assumed.set(uid, { ...pod, spec: { ...(pod.spec ?? { containers: [] }), nodeName: node } });
    try {
      const binding = { apiVersion: "v1", kind: "Binding", metadata: { name, namespace, uid } };
      const target = { apiVersion: "v1", kind: "Node", name: node };
      await client.post(pods, pod.metadata, "binding", { ...binding, target });
    } catch (error) {
      assumed.delete(uid);
      throw error;
    }
    const message = `Successfully assigned ${keyOf(pod)} to ${node}`;
    await recorder.record(pod, pods, { type: "Normal", reason: "Scheduled", message });
  };

  const explain = async (pod: Pod, message: string) => {
    const before = findCondition(pod.status?.conditions, "PodScheduled");
    if (before?.status === "False" && before.message === message) return;
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    const conditions = withCondition(pod.status?.conditions, condition, timestamp(clock));
    await recorder.record(pod, pods, { type: "Warning", reason: "FailedScheduling", message });
    await client.update(pods, { ...pod, status: { ...pod.status, conditions } }, { subresource: "status" });
  };

  // One at a time: each placement must see the one before.
  const controller = startController({ name: NAME, reconcile, ...options, workers: 1 });
  const retryPending = () => all.byIndex("node", "").forEach((pod) => controller.enqueue(keyOf(pod)));
  all.onChange((pod, previous) => {
    const uid = (pod ?? previous)?.metadata.uid ?? "";
    if (pod === undefined || nodeOf(pod) !== undefined) assumed.delete(uid);
    if (pod === undefined || isFinished(pod)) retryPending();
  });
  controller.watch(all, (pod) => [keyOf(pod)]);
  known.onChange(retryPending);
  return actorOf([controller], [all, known]);
}

interface Candidate {
  readonly node: Node;
  readonly preference: number;
  readonly pods: number;
}

function byPreference(a: Candidate, b: Candidate): number {
  return b.preference - a.preference || a.pods - b.pods || a.node.metadata.name.localeCompare(b.node.metadata.name);
}

function nodeOf(pod: Pod): string | undefined {
  return pod.spec?.nodeName;
}

function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

function isOurs(pod: Pod): boolean {
  const { nodeName, schedulerName = NAME } = pod.spec ?? {};
  return nodeName === undefined && schedulerName === NAME && pod.metadata.deletionTimestamp === undefined;
}

/** `0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) …`, as kube-scheduler words it. */
function unschedulable(reasons: readonly string[]): string {
  if (reasons.length === 0) return "no nodes available to schedule pods";
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return `0/${reasons.length} nodes are available: ${parts.join(", ")}.`;
}
