/**
 * The scheduler. It binds a pending pod to the best node that the pod fits. If the pod fits no node, the scheduler sets
 * a condition that says why, and may preempt other pods.
 */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import { createEventRecorder } from "./event-recorder.ts";
import { startInformer } from "./informer.ts";
import { whyNot } from "./node-fit.ts";
import { bestOf, type Candidate, type Lots, type Scoring } from "./node-score.ts";
import { isFinished } from "./pod-status.ts";
import { createPreemption } from "./preemption.ts";
import { priorityOf } from "./preemption-victims.ts";
import { keyOf, nodes, persistentVolumeClaims, persistentVolumes, pods, type Pod } from "./resources.ts";
import { tellUnschedulable } from "./unschedulable.ts";

const NAME = "default-scheduler";

export interface SchedulerOptions extends ActorOptions {
  readonly scoring?: Scoring | undefined;
  readonly lots?: Lots | undefined;
}

export function startScheduler(options: SchedulerOptions): Actor {
  const { client, clock, scoring = "LeastAllocated", lots } = options;
  const recorder = createEventRecorder(client, clock, NAME);
  const teller = { client, clock, recorder };
  const known = startInformer({ client, clock, resource: nodes });
  const claims = startInformer({ client, clock, resource: persistentVolumeClaims });
  const volumes = startInformer({ client, clock, resource: persistentVolumes });
  const storage = () => ({ claims: [...claims.list()], volumes: [...volumes.list()] });
  const all = startInformer({
    client,
    clock,
    resource: pods,
    indexes: {
      node: (pod: Pod) => (isFinished(pod) ? [] : [nodeOf(pod) ?? ""]),
      nominated: (pod: Pod) => (isOurs(pod) ? [pod.status?.nominatedNodeName ?? ""] : []),
    },
  });
  /** Pods that this scheduler has bound, but that the watch still shows without a node. */
  const assumed = new Map<string, Pod>();

  const podsOn = (node: string): Pod[] => {
    const seen = all.byIndex("node", node);
    const expected = [...assumed.values()].filter((pod) => nodeOf(pod) === node);
    return [...seen, ...expected.filter(({ metadata }) => !seen.some((pod) => pod.metadata.uid === metadata.uid))];
  };

  const nominatedTo = (node: string): readonly Pod[] => all.byIndex("nominated", node);

  /** Returns the pods that use a node's resources. Includes nominated pods whose priority is at least that of `pod`. */
  const neighboursOn = (node: string, pod: Pod): readonly Pod[] => {
    const isExpected = ({ metadata }: Pod) => metadata.uid !== pod.metadata.uid && !assumed.has(metadata.uid);
    const expected = nominatedTo(node).filter(isExpected);
    return [...podsOn(node), ...expected.filter((other) => priorityOf(other) >= priorityOf(pod))];
  };

  const preemption = createPreemption({
    ...options,
    recorder,
    nodes: () => known.list(),
    storage,
    neighboursOn,
    nominatedTo,
    groupOf: (pod) => {
      const group = groupOf(pod);
      if (group === undefined) return undefined;
      const isWith = (other: Pod) => isOurs(other) && !assumed.has(other.metadata.uid) && groupOf(other) === group;
      return all.byIndex("node", "").filter(isWith).toSorted(byName);
    },
    activate: (pod) => controller.enqueue(keyOf(pod)),
  });

  const reconcile = async (key: string): Promise<Result> => {
    await Promise.all([known.synced, claims.synced, volumes.synced, preemption.synced]);
    const pod = all.get(key);
    if (pod === undefined || !isOurs(pod) || assumed.has(pod.metadata.uid) || preemption.isRunning(pod))
      return undefined;
    const reasons: string[] = [];
    const feasible: Candidate[] = [];
    const cluster = { nodes: [...known.list()], storage: storage() };
    const placed = cluster.nodes.flatMap((node) => podsOn(node.metadata.name).map((other) => ({ pod: other, node })));
    for (const node of cluster.nodes) {
      const neighbours = neighboursOn(node.metadata.name, pod);
      const elsewhere = placed.filter((other) => other.node !== node);
      const reason = whyNot(pod, node, neighbours, { ...cluster, elsewhere });
      if (reason === undefined) feasible.push({ node, neighbours });
      else reasons.push(reason);
    }
    const { nominatedNodeName } = pod.status ?? {};
    const promised = feasible.find(({ node }) => node.metadata.name === nominatedNodeName);
    const best = promised ?? bestOf({ pod, candidates: feasible, placed, scoring, lots });
    if (best === undefined) await tellUnschedulable(teller, pod, { reasons, attempt: preemption.attempt(pod) });
    else await bind(pod, best.node.metadata.name);
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

  // Uses one worker, because each placement depends on the earlier placements.
  const controller = startController({ name: NAME, reconcile, ...options, workers: 1 });
  const retryPending = () =>
    all
      .byIndex("node", "")
      .toSorted((a, b) => priorityOf(b) - priorityOf(a))
      .forEach((pod) => controller.enqueue(keyOf(pod)));
  all.onChange((pod, previous) => {
    const uid = (pod ?? previous)?.metadata.uid ?? "";
    if (pod === undefined || nodeOf(pod) !== undefined) assumed.delete(uid);
    if (pod === undefined && previous !== undefined) preemption.forget(previous);
    if (pod === undefined || isFinished(pod)) retryPending();
  });
  controller.watch(all, (pod) => [keyOf(pod)]);
  for (const informer of [known, claims, volumes]) informer.onChange(retryPending);
  return actorOf([controller, preemption], [all, known, claims, volumes]);
}

function byName(a: Pod, b: Pod): number {
  return keyOf(a).localeCompare(keyOf(b));
}

/** Returns the pod's PodGroup. Upstream: `spec.schedulingGroup.podGroupName` (1.36 and later). */
function groupOf({ metadata, spec }: Pod): string | undefined {
  const name = spec?.schedulingGroup?.podGroupName;
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}

function nodeOf(pod: Pod): string | undefined {
  return pod.spec?.nodeName;
}

/** Returns true if this scheduler can place the pod now. A pod with scheduling gates must wait. */
function isOurs(pod: Pod): boolean {
  const { nodeName, schedulerName = NAME, schedulingGates = [] } = pod.spec ?? {};
  const isOpen = nodeName === undefined && schedulingGates.length === 0;
  return isOpen && schedulerName === NAME && pod.metadata.deletionTimestamp === undefined;
}
