/** Determines whether a pod fits a node. The checks have the same order and messages as in kube-scheduler. */
import { matchesSelector } from "../labels.ts";
import { isTrue } from "./conditions.ts";
import { whatIsNear } from "./pod-affinity.ts";
import { whatIsShort } from "./resource-fit.ts";
import type { Node, Pod } from "./resources.ts";
import { type Placed, whatIsUneven } from "./topology-spread.ts";
import { reachOf, type Storage } from "./volume-fit.ts";

type PodSpec = NonNullable<Pod["spec"]>;
export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];
export type Toleration = NonNullable<PodSpec["tolerations"]>[number];

type Filter = (pod: Pod, node: Node, neighbours: readonly Pod[]) => string | undefined;

const UNSCHEDULABLE: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

const when = (isSo: boolean, reason: string): string | undefined => (isSo ? reason : undefined);

const FILTERS: readonly Filter[] = [
  (pod, { spec }) =>
    when(spec?.unschedulable === true && !isTolerated(UNSCHEDULABLE, pod), "node(s) were unschedulable"),
  (_, { status }) => when(!isTrue(status?.conditions, "Ready"), "node(s) were not ready"),
  (pod, { spec }) =>
    when(
      (spec?.taints ?? []).some((taint) => bars(taint, pod)),
      "node(s) had untolerated taint(s)",
    ),
  (pod, node) =>
    when(!matchesNode(pod.spec ?? { containers: [] }, node), "node(s) didn't match Pod's node affinity/selector"),
  whatIsShort,
];

export interface Around {
  /** Every node of the cluster. If absent, topology spread is not checked. */
  readonly nodes?: readonly Node[];
  /** The pods on all nodes except the checked node. Affinity and topology spread can count all pods in a zone. */
  readonly elsewhere?: readonly Placed[];
  readonly storage?: Storage;
}

export function whyNot(
  pod: Pod,
  node: Node,
  neighbours: readonly Pod[],
  { nodes, elsewhere = [], storage = { claims: [], volumes: [] } }: Around = {},
): string | undefined {
  for (const filter of FILTERS) {
    const reason = filter(pod, node, neighbours);
    if (reason !== undefined) return reason;
  }
  const { labels = {}, name } = node.metadata;
  const isReached = reachOf(pod, storage).every((terms) => terms.some((term) => matchesTerm(term, labels, name)));
  if (!isReached) return "node(s) didn't match PersistentVolume's node affinity";
  const placed = [...neighbours.map((other) => ({ pod: other, node })), ...elsewhere];
  const near = whatIsNear(pod, node, placed);
  if (near !== undefined || nodes === undefined) return near;
  const admits = {
    byAffinity: (one: Node) => matchesNode(pod.spec ?? { containers: [] }, one),
    byTaints: ({ spec }: Node) => !(spec?.taints ?? []).some((taint) => bars(taint, pod)),
  };
  return whatIsUneven(pod, node, { nodes, placed }, admits);
}

/**
 * Formats the reasons why no node fits. `reasons` has one reason for each node, and the message has the number of nodes
 * for each reason: `0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) …`.
 */
export function noneAvailable(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return `0/${reasons.length} nodes are available: ${parts.join(", ")}.`;
}

export function isTolerated(taint: Taint, pod: Pod): boolean {
  return (pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}

function bars(taint: Taint, pod: Pod): boolean {
  return taint.effect !== "PreferNoSchedule" && !isTolerated(taint, pod);
}

/**
 * Returns whether the toleration tolerates the taint. A toleration without an effect matches every effect. A toleration
 * without a key, with the operator Exists, matches every taint.
 */
export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  const { value: taintValue = "" } = taint;
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return Boolean(key) && matchesValue(operator ?? "Equal", taintValue, value ?? "");
}

function matchesValue(operator: string, taintValue: string, value: string): boolean {
  if (operator === "Equal") return value === taintValue;
  const areIntegers = [taintValue, value].every((text) => /^-?\d{1,19}$/.test(text));
  if (!areIntegers) return false;
  return operator === "Gt"
    ? BigInt(taintValue) > BigInt(value)
    : operator === "Lt" && BigInt(taintValue) < BigInt(value);
}

function matchesNode(spec: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return selected && (terms === undefined || terms.some((term) => matchesTerm(term, labels, node.metadata.name)));
}

export function matchesTerm(
  term: {
    readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
    readonly matchFields?: readonly { key: string; operator: string; values?: readonly string[] }[];
  },
  labels: Record<string, string>,
  name: string,
): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchesSelector({ matchExpressions }, labels) &&
    matchesSelector({ matchExpressions: matchFields }, { "metadata.name": name })
  );
}
