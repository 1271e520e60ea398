/** The kubelets' eviction managers. Each manager measures its node's resources, reports pressure, and evicts pods. */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { timestamp } from "./clock.ts";
import { findCondition, isTrue, withCondition, type Condition } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { createKubeletRecorder, tellKilling } from "./kubelet-events.ts";
import type { KubeletEvictions } from "./kubelet-evictions.ts";
import { asNode } from "./kubelet.ts";
import type { NodeStats, Observation } from "./node-stats.ts";
import type { Outages } from "./outages.ts";
import { pressureConditions } from "./pressure-conditions.ts";
import { messageFor, rank, RESOURCE } from "./pressure-ranking.ts";
import * as limits from "./pressure-thresholds.ts";
import { keyOf, nodes, pods, type Node, type Pod } from "./resources.ts";
import type { ContainerRuntime } from "./runtime.ts";

export interface EvictionManagerOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly stats: NodeStats;
  readonly evictions: KubeletEvictions;
  readonly outages: Outages;
  readonly configuration?: limits.EvictionConfiguration;
}

const MONITOR_MS = 10_000;
/** The grace period of a hard eviction, in seconds. It replaces the pod's own grace period. */
const HARD_GRACE_SECONDS = 1;

interface NodeState {
  readonly firstMet: Map<limits.Threshold, number>;
  readonly lastMet: Map<string, number>;
  /** The time of the planned report of the node's status. Undefined if the status has not changed. */
  reportsAt?: number | undefined;
  /** The UID of the pod that is being evicted. A kubelet evicts one pod at a time. */
  evicting?: string;
  evictedAt?: number;
}

export function startEvictionManagers(options: EvictionManagerOptions): Actor {
  const { client, clock, runtime, stats, evictions, outages } = options;
  const configuration = { ...limits.DEFAULT_EVICTION, ...options.configuration };
  const thresholds = limits.thresholdsOf(configuration);
  const statusMs = limits.durationMs(configuration.nodeStatusUpdateFrequency);
  const transitionMs = limits.durationMs(configuration.evictionPressureTransitionPeriod);
  const known = startInformer({ ...options, resource: nodes });
  const bound = startInformer({
    ...options,
    resource: pods,
    selectors: { fieldSelector: "spec.nodeName!=" },
    indexes: { node: (pod: Pod) => [pod.spec?.nodeName ?? ""], uid: (pod: Pod) => [pod.metadata.uid] },
  });
  const states = new Map<string, NodeState>();

  const reconcile = async (name: string): Promise<Result> => {
    await Promise.all([known.synced, bound.synced]);
    const node = known.get(name);
    if (node === undefined) {
      states.delete(name);
      return undefined;
    }
    if (outages.isDown(name) || !isTrue(node.status?.conditions, "Ready")) return { requeueAfterMs: MONITOR_MS };
    const state = stateOf(name);
    const running = bound.byIndex("node", name).filter(({ metadata }) => runtime.isRunning(metadata.uid));
    const observations = stats.observe(node, running);
    const met = thresholds.filter((threshold) => limits.isMet(threshold, observations));
    remember(state, met);
    const reportLeft = await report(node, state);
    const [due] = met.filter((threshold) => graceLeft(state, threshold) <= 0);
    if (due !== undefined && !isEvicting(state)) await evict(node, { due, running, of: observations[due.signal] });
    const waits = [reportLeft, ...met.map((threshold) => graceLeft(state, threshold))].filter((left) => left > 0);
    return { requeueAfterMs: Math.min(MONITOR_MS, ...waits) };
  };

  const stateOf = (name: string): NodeState => {
    const state = states.get(name) ?? { firstMet: new Map(), lastMet: new Map() };
    states.set(name, state);
    return state;
  };

  const remember = ({ firstMet, lastMet }: NodeState, met: readonly limits.Threshold[]): void => {
    const now = clock.now().getTime();
    for (const threshold of thresholds)
      if (!met.includes(threshold)) firstMet.delete(threshold);
      else {
        firstMet.set(threshold, firstMet.get(threshold) ?? now);
        lastMet.set(limits.PRESSURE[threshold.signal], now);
      }
  };

  /**
   * Returns the milliseconds until the kubelet may evict a pod. After an eviction under disk pressure, the kubelet
   * first measures the disk again.
   */
  const graceLeft = ({ firstMet, evictedAt = 0 }: NodeState, threshold: limits.Threshold): number => {
    const measuredAt = threshold.signal === "nodefs.available" ? evictedAt + MONITOR_MS : 0;
    return Math.max((firstMet.get(threshold) ?? 0) + threshold.graceMs, measuredAt) - clock.now().getTime();
  };

  const isEvicting = ({ evicting }: NodeState): boolean => evicting !== undefined && runtime.isRunning(evicting);

  /**
   * Reports changed pressure conditions after `nodeStatusUpdateFrequency`. Returns the milliseconds until the report.
   * Returns 0 if no report is planned.
   */
  const report = async (node: Node, state: NodeState): Promise<number> => {
    const now = clock.now().getTime();
    const isUnder = (type: string) => now - (state.lastMet.get(type) ?? -Infinity) < transitionMs;
    const changed = pressureConditions(isUnder).filter(
      ({ type, status }) => findCondition(node.status?.conditions, type)?.status !== status,
    );
    state.reportsAt = changed.length === 0 ? undefined : (state.reportsAt ?? now + statusMs);
    if (state.reportsAt === undefined || state.reportsAt > now) return (state.reportsAt ?? now) - now;
    state.reportsAt = undefined;
    const time = timestamp(clock);
    const conditions = changed.map((wanted) =>
      findCondition(withCondition<Condition>(node.status?.conditions, wanted, time), wanted.type),
    );
    const kubelet = asNode(client, node.metadata.name);
    const body = { metadata: { uid: node.metadata.uid }, status: { conditions } };
    await kubelet.patch(nodes, node.metadata, { type: "strategic", body }, { subresource: "status" });
    for (const { reason = "" } of changed) {
      const message = `Node ${node.metadata.name} status is now: ${reason.replace("Kubelet", "Node")}`;
      const recorder = createKubeletRecorder(kubelet, clock, node.metadata.name);
      await recorder.record(node, nodes, { type: "Normal", reason: reason.replace("Kubelet", "Node"), message });
    }
    return 0;
  };

  const evict = async (node: Node, { due, running, of }: Shortage): Promise<void> => {
    const { name } = node.metadata;
    const recorder = createKubeletRecorder(asNode(client, name), clock, name);
    const reclaim = `Attempting to reclaim ${RESOURCE[due.signal]}`;
    await recorder.record(node, nodes, { type: "Warning", reason: "EvictionThresholdMet", message: reclaim });
    const [victim] = rank(running, due.signal, (pod) => stats.memoryOf(pod));
    if (victim === undefined) return;
    const { uid } = victim.metadata;
    Object.assign(stateOf(name), { evicting: uid, evictedAt: clock.now().getTime() });
    const message = messageFor(victim, due, of, (pod) => stats.memoryOf(pod));
    await recorder.record(victim, pods, { type: "Warning", reason: "Evicted", message });
    evictions.begin(uid, { reason: "Evicted", message });
    runtime.terminate(uid, graceSeconds(victim, due) * 1000);
    await tellKilling(recorder, victim);
  };

  const graceSeconds = ({ spec }: Pod, { isHard }: limits.Threshold): number =>
    isHard
      ? HARD_GRACE_SECONDS
      : Math.min(configuration.evictionMaxPodGracePeriod, spec?.terminationGracePeriodSeconds ?? 30);

  const controller = startController({ name: "eviction-manager", reconcile, ...options });
  controller.watch(known, (node) => [keyOf(node)]);
  const enqueueAll = () => [...known.list()].forEach((node) => controller.enqueue(keyOf(node)));
  stats.onChange(enqueueAll);
  outages.onStart((node) => controller.enqueue(node));
  runtime.onExit((uid) => bound.byIndex("uid", uid).forEach(({ spec }) => controller.enqueue(spec?.nodeName ?? "")));
  return actorOf([controller], [known, bound]);
}

interface Shortage {
  readonly due: limits.Threshold;
  readonly running: readonly Pod[];
  readonly of: Observation;
}
