/**
 * Creates nodes, pods and clusters as in the tests of kubernetes-sigs/descheduler, and runs a plugin for descheduling.
 */
import { defaultEvictor, EvictorArguments } from "../../../shared/descheduling/plugins/default-evictor.ts";
import type { Arguments as LowNodeUtilizationArguments } from "../../../shared/descheduling/plugins/low-node-utilization.ts";
import type {
  EvictorWorld,
  Nomination,
  Plugin,
  PluginWorld,
  Verdict,
} from "../../../shared/descheduling/plugins/plugin.ts";
import type { LabelSelector, Taint, Toleration } from "../../../shared/kube/facts.ts";
import type {
  NodeRequirement,
  NodeSelectorTerm,
  NodeRequirements,
  ScheduledNode,
  ScheduledPod,
} from "../../../shared/kube/scheduled-pod.ts";
import { NOW, owner } from "../fixtures.ts";

export const ANYWHERE: NodeRequirements = { nodeSelector: {} };

/** Returns a node with 2 CPUs and 3000 bytes of memory that can run 10 pods. */
export function node(name: string, tweak: Partial<ScheduledNode> = {}): ScheduledNode {
  const allocatable = { cpu: 2000, memory: 3000, pods: 10 };
  const base = { ready: true, unschedulable: false, taints: [], pressures: [] };
  return { name, ...base, labels: {}, ...tweak, allocatable: { ...allocatable, ...tweak.allocatable } };
}

/** Returns a pod of a ReplicaSet on the node n1. The pod requests only 100m CPU. */
export function pod(name: string, tweak: Partial<ScheduledPod> = {}): ScheduledPod {
  return {
    namespace: "default",
    name,
    uid: `${tweak.namespace ?? "default"}-${name}`,
    phase: "Running",
    nodeName: "n1",
    ready: true,
    deleting: false,
    labels: {},
    annotations: {},
    owners: [owner({ kind: "ReplicaSet", name: "replicaset", uid: "replicaset-uid" })],
    createdAt: NOW.getTime(),
    qosClass: "Burstable",
    requests: { cpu: 100, memory: 0 },
    placement: ANYWHERE,
    antiAffinity: [],
    localStorage: false,
    claims: [],
    hasResourceClaims: false,
    ...tweak,
  };
}

export const UNEVICTABLE = {
  daemonSet: { owners: [owner({ kind: "DaemonSet" })] },
  mirror: { localStorage: true, annotations: { "kubernetes.io/config.mirror": "hash" } },
  critical: { namespace: "kube-system", priority: 2_000_000_000 },
} as const satisfies Record<string, Partial<ScheduledPod>>;

export function taint(key: string, tweak: Partial<Taint> = {}): Taint {
  return { key, effect: "NoSchedule", ...tweak };
}

export function toleration(key: string, tweak: Partial<Toleration> = {}): Toleration {
  return { key, effect: "NoSchedule", ...tweak };
}

export function labelled(matchLabels: Readonly<Record<string, string>>): LabelSelector {
  return { matchLabels, matchExpressions: [] };
}

export function requirement(key: string, operator: string, ...values: readonly string[]): NodeRequirement {
  return { key, operator, values };
}

export function term(...matchExpressions: readonly NodeRequirement[]): NodeSelectorTerm {
  return { matchExpressions, matchFields: [] };
}

export function evictorArguments(tweak: Partial<EvictorArguments> = {}): EvictorArguments {
  return { ...EvictorArguments.parse({}), ...tweak };
}

/** Returns thresholds for CPU and pods: underutilized below 30%, overutilized above 50%. */
export function utilizationArguments(tweak: Partial<LowNodeUtilizationArguments> = {}): LowNodeUtilizationArguments {
  return {
    thresholds: { cpu: 30, pods: 30 },
    targetThresholds: { cpu: 50, pods: 50 },
    ...tweak,
  };
}

interface Cluster {
  readonly nodes: readonly ScheduledNode[];
  readonly pods: readonly ScheduledPod[];
}

export function evictorWorld({ nodes, pods }: Cluster, tweak: Partial<EvictorWorld> = {}): EvictorWorld {
  const byNode = Map.groupBy(pods, ({ nodeName }) => nodeName);
  return {
    nodes,
    podsOn: (name) => byNode.get(name) ?? [],
    nextPod: (pod) => ({ pod, cpu: {} }),
    isInProgress: () => false,
    now: NOW,
    replicasOf: (namespace, uid) =>
      pods.filter((one) => one.namespace === namespace && one.owners.some((o) => o.uid === uid)).length,
    ...tweak,
  };
}

/**
 * Returns the facts about a cluster that a plugin reads. `evictor` contains the arguments of DefaultEvictor.
 * `inProgress` contains the names of pods that are being evacuated.
 */
export function world(cluster: Cluster, evictor: Partial<EvictorArguments> = {}, inProgress: string[] = []) {
  const seen = evictorWorld(cluster, { isInProgress: ({ name }) => inProgress.includes(name) });
  return { ...seen, evictor: defaultEvictor(evictorArguments(evictor))(seen) } satisfies PluginWorld;
}

export type Judge = (nomination: Nomination) => Verdict;

export const accept: Judge = () => "Accepted";

/** Returns a function that returns `verdict` for the pod `to`, and accepts all other pods. */
export function saying(verdict: Verdict, to: string): Judge {
  return ({ pod: { name } }) => (name === to ? verdict : "Accepted");
}

/** Returns a function that accepts pods up to these limits. An absent limit does not apply. */
export function limits({ perNode = Infinity, perNamespace = Infinity, total = Infinity }): Judge {
  const counts = new Map<string, number>();
  const countOf = (key: string) => counts.get(key) ?? 0;
  return ({ pod: { nodeName, namespace } }) => {
    if (countOf("") >= total) return "TotalLimit";
    if (countOf(`node ${nodeName}`) >= perNode) return "NodeLimit";
    if (countOf(`namespace ${namespace}`) >= perNamespace) return "Skipped";
    for (const key of ["", `node ${nodeName}`, `namespace ${namespace}`]) counts.set(key, countOf(key) + 1);
    return "Accepted";
  };
}

export interface Outcome {
  readonly nomination: Nomination;
  readonly verdict: Verdict;
}

export function drive<A>(plugin: Plugin<A>, args: A, seen: PluginWorld, judge: Judge = accept): readonly Outcome[] {
  const outcomes: Outcome[] = [];
  const nominations = plugin.nominate(args, seen);
  for (let next = nominations.next(); !next.done;) {
    const verdict = judge(next.value);
    outcomes.push({ nomination: next.value, verdict });
    next = nominations.next(verdict);
  }
  return outcomes;
}

export function evicted<A>(plugin: Plugin<A>, args: A, seen: PluginWorld, judge?: Judge): readonly string[] {
  const accepted = drive(plugin, args, seen, judge).filter(({ verdict }) => verdict === "Accepted");
  return accepted.map(({ nomination }) => nomination.pod.name);
}

export function nominated<A>(plugin: Plugin<A>, args: A, seen: PluginWorld, judge?: Judge): readonly string[] {
  return drive(plugin, args, seen, judge).map(({ nomination }) => nomination.pod.name);
}
