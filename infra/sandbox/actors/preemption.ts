/**
 * kube-scheduler's preemption. It deletes pods of lower priority, so that a pod fits. The deletions run in the
 * background. Upstream: kubernetes 1.36 `pkg/scheduler/framework/preemption/executor.go` (`prepareCandidateAsync`).
 * Upstream for a group of pods: `podgrouppreemption.go`, and `actuatePodGroupPreemption` of 1.37.
 */
import type { ActorOptions } from "./actor.ts";
import { isTrue, findCondition } from "./conditions.ts";
import { DISRUPTION_TARGET, markDisruptionTarget, type Disruption } from "./disruption-target.ts";
import type { KubeClient } from "./client.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { startInformer } from "./informer.ts";
import { noneAvailable } from "./node-fit.ts";
import { inChunks } from "./parallelize.ts";
import { cheapest, findGroupVictims, findVictims, mayHelp, priorityOf, type Candidate } from "./preemption-victims.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import { podDisruptionBudgets, pods, type Node, type Pod } from "./resources.ts";
import { isNotFound, StatusError } from "./status-error.ts";
import type { Storage } from "./volume-fit.ts";

export interface PreemptionOptions extends ActorOptions {
  readonly recorder: EventRecorder;
  readonly nodes: () => Iterable<Node>;
  readonly storage: () => Storage;
  /** Returns the pods whose requests reduce the free capacity for `pod` on a node. */
  readonly neighboursOn: (node: string, pod: Pod) => readonly Pod[];
  readonly nominatedTo: (node: string) => readonly Pod[];
  /** Returns all waiting pods of the pod's group. Returns undefined if the pod has no group. */
  readonly groupOf: (pod: Pod) => readonly Pod[] | undefined;
  readonly activate: (pod: Pod) => void;
}

export type Attempt =
  | { readonly outcome: "Nominated"; readonly node: string }
  /** The pod may not preempt, or victims of an earlier attempt are still terminating. No pod is deleted. */
  | { readonly outcome: "NotEligible"; readonly message: string }
  | { readonly outcome: "Futile"; readonly message: string };

export interface Preemption {
  /**
   * Returns whether victims of the pod are being deleted. The scheduler tries the pod again after the last deletion.
   */
  isRunning(pod: Pod): boolean;
  attempt(pod: Pod): Attempt;
  forget(pod: Pod): void;
  readonly synced: Promise<void>;
  stop(): Promise<void>;
}

/**
 * The rate limit of kube-scheduler's client. A refused preemption is retried at once, and only this limit delays the
 * retry. In the sandbox, the limit does not apply to the bindings of pods.
 */
const CLIENT_LIMIT = { perSecond: 50, burst: 100 };

/** kube-scheduler uses this node name if a group of pods preempts. */
const WHOLE_CLUSTER = "cluster";

export function createPreemption(options: PreemptionOptions): Preemption {
  const { client, clock, recorder } = options;
  const limiter = createRateLimiter(clock, CLIENT_LIMIT);
  const budgets = startInformer({ ...options, resource: podDisruptionBudgets });
  const running = new Set<string>();
  /** UIDs of pods that preemption has deleted. The watch might not have reported these deletions yet. */
  const deleted = new Set<string>();
  const stopped = new AbortController();

  const attempt = (pod: Pod): Attempt => {
    if (pod.spec?.preemptionPolicy === "Never") return notEligible("due to preemptionPolicy=Never");
    if (isWaitedFor(pod)) return notEligible("due to a terminating pod on the nominated node");
    const group = options.groupOf(pod);
    if (group !== undefined) return attemptOf(group, pod);
    const reasons: string[] = [];
    const candidates: Candidate[] = [];
    const storage = options.storage();
    for (const node of options.nodes()) {
      const neighbours = options.neighboursOn(node.metadata.name, pod);
      const helps = mayHelp(pod, node, storage);
      const found = helps ? findVictims(pod, { node, neighbours, budgets: [...budgets.list()] }) : undefined;
      if (found !== undefined) candidates.push(found);
      else
        reasons.push(
          helps ? "No preemption victims found for incoming pod" : "Preemption is not helpful for scheduling",
        );
    }
    const best = cheapest(candidates);
    if (best === undefined) return { outcome: "Futile", message: noneAvailable(reasons) };
    void preempt([pod], best);
    return { outcome: "Nominated", node: best.node };
  };

  /** Preempts for all pods of the group at once. A group of one pod may not preempt. */
  const attemptOf = (group: readonly Pod[], { metadata }: Pod): Attempt => {
    if (group.length < 2) return notEligible("as a group of one pod");
    const storage = options.storage();
    const nodesFor = (pod: Pod) => [...options.nodes()].filter((node) => mayHelp(pod, node, storage));
    const { neighboursOn } = options;
    const found = findGroupVictims({ pods: group, nodesFor, neighboursOn, budgets: [...budgets.list()] });
    const node = found?.nodes.get(metadata.uid);
    if (found === undefined || node === undefined || found.victims.length === 0) {
      return { outcome: "Futile", message: "No preemption victims found for incoming preemptor" };
    }
    void preempt(group, { node: WHOLE_CLUSTER, victims: found.victims });
    return { outcome: "Nominated", node };
  };

  const isWaitedFor = (pod: Pod): boolean => {
    const { nominatedNodeName } = pod.status ?? {};
    if (nominatedNodeName === undefined) return false;
    return options
      .neighboursOn(nominatedNodeName, pod)
      .some((other) => priorityOf(other) < priorityOf(pod) && isGoing(other) && isPreempted(other));
  };

  const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined || deleted.has(metadata.uid);

  const isPreempted = ({ metadata, status }: Pod): boolean =>
    deleted.has(metadata.uid) ||
    (isTrue(status?.conditions, DISRUPTION_TARGET) &&
      findCondition(status?.conditions, DISRUPTION_TARGET)?.reason === "PreemptionByScheduler");

  /**
   * Deletes all victims except the last in parallel, and then deletes the last victim. The first error cancels the
   * remaining deletions. After the last deletion or an error, the scheduler tries the pod again.
   */
  const preempt = async (
    preemptors: readonly Pod[],
    { node, victims }: Omit<Candidate, "violations">,
  ): Promise<void> => {
    const present = victims.filter((victim) => !isGoing(victim));
    const last = present.pop();
    const [pod] = preemptors;
    if (last === undefined || pod === undefined) return;
    for (const { metadata } of preemptors) running.add(metadata.uid);
    const round = new AbortController();
    const signal = AbortSignal.any([stopped.signal, round.signal]);
    const retrying = client.withRetryAfter({ clock, signal, before: () => limiter.take() });
    const remove = (victim: Pod): Promise<void> =>
      removeWith(retrying, victim, { preemptor: pod, node }).catch((error: unknown) => round.abort(error));
    const report = (error: unknown): void => {
      if (!stopped.signal.aborted && !(error instanceof StatusError)) options.onError?.(error, pod.metadata.name);
    };
    await releaseOthers(pod, node).catch(report);
    await inChunks(present, remove, signal);
    if (!signal.aborted) await remove(last);
    if (round.signal.aborted) report(round.signal.reason);
    for (const { metadata } of preemptors) running.delete(metadata.uid);
    if (!stopped.signal.aborted) preemptors.forEach(options.activate);
  };

  const releaseOthers = async (pod: Pod, node: string): Promise<void> => {
    const others = options.nominatedTo(node).filter((other) => priorityOf(other) < priorityOf(pod));
    const body = { status: { nominatedNodeName: null } };
    for (const { metadata } of others)
      await client.patch(pods, metadata, { type: "merge", body }, { subresource: "status" });
  };

  const removeWith = async (
    retrying: KubeClient,
    victim: Pod,
    { preemptor, node }: { readonly preemptor: Pod; readonly node: string },
  ): Promise<void> => {
    const { schedulerName = "default-scheduler" } = preemptor.spec ?? {};
    const kind = node === WHOLE_CLUSTER ? "podgroup" : "pod";
    const message = `${schedulerName}: preempting to accommodate a higher priority ${kind}`;
    const disruption: Disruption = { reason: "PreemptionByScheduler", message };
    try {
      await markDisruptionTarget(retrying, clock, victim, disruption);
      await retrying.delete(pods, victim.metadata);
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
    deleted.add(victim.metadata.uid);
    const text = `Preempted by ${kind} ${preemptor.metadata.uid} on node ${node}`;
    await recorder.record(victim, pods, { type: "Normal", reason: "Preempted", message: text });
  };

  return {
    isRunning: ({ metadata }) => running.has(metadata.uid),
    attempt,
    forget: ({ metadata }) => void deleted.delete(metadata.uid),
    synced: budgets.synced,
    async stop() {
      stopped.abort();
      await budgets.stop();
    },
  };
}

function notEligible(why: string): Attempt {
  return { outcome: "NotEligible", message: `not eligible ${why}.` };
}
