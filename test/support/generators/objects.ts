/** Generates pods and nodes as the API server returns them. */
import * as fc from "fast-check";
import * as names from "../../../shared/kube/names.ts";
import { NODE, time } from "../fixtures.ts";
import { asJson, isObject, type JsonObject } from "../json.ts";
import { often } from "./often.ts";

export const NAMESPACE = "apps";
export const NODES = [NODE, "node02", "node03"];
export const moment = fc.constantFrom(-9999, -300, -121, -60, -5, 0, 1, 60, 300, 9999).map(time);
export const maybeMoment = fc.option(moment, { nil: undefined });

export function uidOf(name: string): string {
  return `uid-of-${name}`;
}

export function launcherOf(vm: string): string {
  return `virt-launcher-${vm}-abcde`;
}

export interface Meta {
  readonly [key: string]: unknown;
  readonly name: string;
}

export function object(kind: string, metadata: Meta, rest: Readonly<Record<string, unknown>>): JsonObject {
  const own = { uid: uidOf(metadata.name), resourceVersion: "1", generation: 1, creationTimestamp: time(-600) };
  const made = asJson({ kind, metadata: { ...own, ...metadata }, ...rest });
  if (!isObject(made)) throw new TypeError("expected an object");
  return made;
}

export const deleted = (is: boolean) => (is ? time(30) : undefined);

export const DESCHEDULER_ANNOTATIONS = [
  names.REQUEST_EVICT_ONLY_ANNOTATION,
  names.EVICTION_IN_PROGRESS_ANNOTATION,
  names.EVICT_ANNOTATION,
  names.PREFER_NO_EVICTION_ANNOTATION,
];
const zoneA = { matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] };

const DISRUPTIONS = ["PreemptionByScheduler", "PreemptionByScheduler", "DeletionByTaintManager"];

export const anyPod = fc.record({
  phase: often("Running", "Pending", "Succeeded", "Failed"),
  deleting: fc.constantFrom(false, false, false, true),
  ready: fc.boolean(),
  created: moment,
  priority: fc.constantFrom(undefined, 0, 1000, 2_000_000_000),
  annotations: fc.dictionary(
    fc.constantFrom(...DESCHEDULER_ANNOTATIONS),
    fc.oneof(moment, fc.constantFrom("", "true")),
    { maxKeys: 2 },
  ),
  tolerations: fc.constantFrom(
    undefined,
    undefined,
    [{ operator: "Exists" }],
    [{ key: "dedicated", tolerationSeconds: 60 }],
  ),
  disruption: fc.option(
    fc.record({
      reason: fc.constantFrom(...DISRUPTIONS, ...DISRUPTIONS, "EvictionByEvictionAPI"),
      status: often("True", "False"),
      lastTransitionTime: moment,
    }),
    { nil: undefined },
  ),
  cpu: fc.constantFrom("0", "100m", "1"),
  memory: fc.constantFrom("0", "100Mi", "1Gi"),
  nodeSelector: often<object>({}, { zone: "b" }),
  required: often<object | undefined>(undefined, { nodeSelectorTerms: [zoneA] }),
  antiAffinity: often<object | undefined>(undefined, {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", labelSelector: {} }],
  }),
  volumes: fc.constantFrom<readonly object[]>(
    [],
    [{ emptyDir: {} }],
    [{ persistentVolumeClaim: { claimName: "disk" } }],
  ),
  waiting: often<object | undefined>(undefined, { waiting: { reason: "CrashLoopBackOff" } }),
});

export type AnyPod = typeof anyPod extends fc.Arbitrary<infer T> ? T : never;

interface Place {
  readonly metadata: Meta;
  readonly nodeName: string | undefined;
}

export function podOf(p: AnyPod, { metadata, nodeName }: Place): JsonObject {
  const conditions = [
    { type: "Ready", status: p.ready ? "True" : "False" },
    ...(p.disruption ? [{ type: "DisruptionTarget", ...p.disruption }] : []),
  ];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: p.required };
  return object(
    "Pod",
    { namespace: NAMESPACE, creationTimestamp: p.created, deletionTimestamp: deleted(p.deleting), ...metadata },
    {
      spec: {
        nodeName,
        priority: p.priority,
        tolerations: p.tolerations,
        nodeSelector: p.nodeSelector,
        affinity: { nodeAffinity, podAntiAffinity: p.antiAffinity },
        containers: [{ resources: { requests: { cpu: p.cpu, memory: p.memory } } }],
        volumes: p.volumes,
      },
      status: { phase: p.phase, conditions, containerStatuses: [{ state: p.waiting }] },
    },
  );
}

/** Generates a pod of a ReplicaSet, a pod of a DaemonSet, or a pod without an owner. */
export const plainPod = fc.record({
  is: anyPod,
  node: fc.constantFrom(...NODES),
  owner: fc.constantFrom("ReplicaSet", "ReplicaSet", "ReplicaSet", "DaemonSet", undefined),
});

export function plainPodOf({ is, node, owner }: typeof plainPod extends fc.Arbitrary<infer T> ? T : never, i: number) {
  const ownerReferences = owner && [{ kind: owner, name: "app", uid: uidOf("app"), controller: true }];
  const metadata = { name: `app-${i}`, labels: { app: "app" }, annotations: is.annotations, ownerReferences };
  return podOf(is, { metadata, nodeName: node });
}

const taints = [
  [],
  [],
  [{ key: "kubevirt.io/drain", effect: "NoSchedule" }],
  [{ key: "dedicated", effect: "NoExecute" }],
  [{ key: "dedicated", effect: "NoExecute" }],
  [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }],
];
export const node = fc.record({
  ready: often(true, false),
  unschedulable: often(false, true),
  taints: fc.constantFrom(...taints),
  pressure: fc.constantFrom(undefined, undefined, "MemoryPressure", "DiskPressure"),
  zone: fc.constantFrom("a", "b"),
  memory: fc.constantFrom("1Gi", "64Gi", "1Ti"),
  cpu: fc.constantFrom("1", "8"),
});

export function nodeOf(n: typeof node extends fc.Arbitrary<infer T> ? T : never, name: string): JsonObject {
  const conditions = [
    { type: "Ready", status: n.ready ? "True" : "False" },
    { type: n.pressure ?? "None", status: "True" },
  ];
  const allocatable = { cpu: n.cpu, memory: n.memory, pods: "8" };
  const spec = { unschedulable: n.unschedulable, taints: n.taints };
  return object("Node", { name, labels: { zone: n.zone } }, { spec, status: { conditions, allocatable } });
}
