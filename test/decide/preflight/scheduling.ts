/** Computes on which nodes a pod fits, with the preflight and with the sandbox's scheduler. The two share no code. */
import { type Node, type PersistentVolume as Volume, type Pod, whyNot } from "../../../infra/sandbox/index.ts";
import { PersistentVolume } from "../../../shared/preflight/kinds.ts";
import { preflightPodSchema } from "../../../shared/preflight/preflight-pod.ts";
import { NodeWithResources } from "../../../shared/kube/schemas/scheduled-pod.ts";
import type { PreflightPod } from "../../../shared/preflight/facts.ts";
import { obstacleTo, repelling, roomOn } from "../../../shared/preflight/fit.ts";
import { isFinal } from "../../../shared/kube/objects.ts";

export type Spec = Partial<NonNullable<Pod["spec"]>>;
export type Labels = Readonly<Record<string, string>>;

const meta = (name: string) => ({ name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" });

export function requesting(requests: Record<string, string>): Spec {
  return { containers: [{ name: "compute", image: "x", resources: { requests } }] };
}

export const HOST = "kubernetes.io/hostname";
export const gpu = "example.com/gpu";

export type Expression = { readonly key: string; readonly operator: string; readonly values?: string[] };

interface TermTweak {
  readonly topologyKey?: string;
  readonly namespaces?: string[];
  readonly matchExpressions?: Expression[];
  readonly namespaceSelector?: object;
}
export const podTerm = (
  labels: Record<string, string>,
  { matchExpressions, topologyKey = HOST, ...rest }: TermTweak = {},
) => ({
  topologyKey,
  labelSelector: { matchLabels: labels, ...(matchExpressions && { matchExpressions }) },
  ...rest,
});
type Term = ReturnType<typeof podTerm>;
export const apart = (...terms: Term[]): Spec => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});

export interface PodTweak {
  readonly labels?: Labels;
  readonly namespace?: string;
  readonly node?: string;
  readonly phase?: string;
  readonly deleting?: boolean;
}

export function podOf(
  name: string,
  spec: Spec,
  { labels = {}, namespace = "default", node, phase, deleting = false }: PodTweak = {},
): Pod {
  const bound = node === undefined ? {} : { nodeName: node };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...meta(name),
      namespace,
      labels: { ...labels },
      ...(deleting && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    spec: { ...bound, ...spec, containers: spec.containers ?? [] },
    status: { phase: phase ?? "Running" },
  };
}

export function nodeOf(name: string, labels: Labels = {}, spec: Node["spec"] = {}, allocatable: Labels = {}): Node {
  const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { ...meta(name), labels: { "kubernetes.io/hostname": name, ...labels } },
    spec: { ...spec },
    status: { allocatable: { cpu: "10", memory: "20Gi", pods: "32", ...allocatable }, conditions: [ready] },
  };
}

/** Parses a pod with the schema of Lifeboat's client. If the pod has no node, sets its node to `drained`. */
export function readPod(pod: Pod): PreflightPod {
  return preflightPodSchema().parse({ ...pod, spec: { ...pod.spec, nodeName: pod.spec?.nodeName ?? "drained" } });
}

/**
 * Returns a volume that is bound to the claim of the same name. Only nodes in `zones` reach the volume. If `zones` is
 * undefined, all nodes reach the volume.
 */
export function volumeIn(name: string, zones: readonly string[] | undefined, namespace = "default"): Volume {
  const matchExpressions = [{ key: "zone", operator: "In", values: [...(zones ?? [])] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  return {
    metadata: meta(name),
    spec: { claimRef: { namespace, name }, ...(zones && { nodeAffinity }) },
    status: { phase: "Bound" },
  };
}

function claimOf({ metadata: { name }, spec }: Volume) {
  const { namespace = "" } = spec?.claimRef ?? {};
  return { metadata: { ...meta(name), namespace }, spec: { volumeName: name }, status: { phase: "Bound" } };
}

export const claiming = (...names: string[]): Spec => ({
  volumes: names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});

export function fitsByPreflight(
  pod: Pod,
  nodes: readonly Node[],
  pods: readonly Pod[],
  volumes: readonly Volume[] = [],
): readonly string[] {
  const seen = nodes.map((node) => NodeWithResources.parse(node));
  const there = pods.map(readPod);
  const moving = readPod(pod);
  const living = there.filter((other) => !isFinal(other));
  const reached = volumes.flatMap((volume) => PersistentVolume.parse(volume) ?? []);
  const around = {
    isRepelled: repelling(moving, living, new Map(seen.map(({ name, labels }) => [name, labels]))),
    volumes: reached.filter(({ namespace, claim }) => namespace === moving.namespace && moving.claims.includes(claim)),
  };
  const fitting = seen.filter((node) => {
    const room = roomOn(
      node,
      there.filter(({ nodeName }) => nodeName === node.name),
    );
    return obstacleTo(moving, { node, room }, around) === undefined;
  });
  return fitting.map(({ name }) => name);
}

export function fitsByScheduler(
  pod: Pod,
  nodes: readonly Node[],
  pods: readonly Pod[],
  volumes: readonly Volume[] = [],
): readonly string[] {
  const storage = { claims: volumes.map(claimOf), volumes };
  const living = pods.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const residents = living.flatMap((other) => {
    const node = nodes.find(({ metadata }) => metadata.name === other.spec?.nodeName);
    return node === undefined ? [] : [{ pod: other, node }];
  });
  const fitting = nodes.filter((node) => {
    const neighbours = residents.filter((one) => one.node === node).map((one) => one.pod);
    const elsewhere = residents.filter((one) => one.node !== node);
    return whyNot(pod, node, neighbours, { nodes, elsewhere, storage }) === undefined;
  });
  return fitting.map(({ metadata }) => metadata.name);
}
