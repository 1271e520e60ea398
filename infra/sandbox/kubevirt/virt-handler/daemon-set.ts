/**
 * Runs virt-handlers as pods of a DaemonSet, on each node whose taints the pods tolerate. A NoExecute taint without a
 * toleration evicts the pod. The pod starts again when the taint is removed. Upstream: kubernetes 1.36
 * `pkg/controller/daemon/daemon_controller.go` (`nodeShouldRunDaemonPod`); kubevirt
 * `pkg/virt-operator/resource/generate/components/daemonsets.go`, and `spec.workloads.nodePlacement` of the KubeVirt
 * object.
 */
import { actorOf, type Actor, type ActorOptions } from "../../actors/actor.ts";
import { startController, type Result } from "../../actors/controller.ts";
import { startInformer } from "../../actors/informer.ts";
import { noExecuteTaints, toleratedFor } from "../../actors/tolerations.ts";
import { tolerates, type Toleration } from "../../actors/node-fit.ts";
import { isFinished } from "../../actors/pod-status.ts";
import {
  daemonSets,
  keyOf,
  nodes,
  ownerReferenceTo,
  pods,
  priorityClasses,
  type DaemonSet,
  type Draft,
  type Node,
  type Pod,
} from "../../actors/resources.ts";
import { KUBEVIRT_NAMESPACE, kubeVirts } from "../resources.ts";

/** The PriorityClass of virt-handler. Under memory pressure, the kubelet evicts launchers before virt-handler. */
const PRIORITY = { metadata: { name: "kubevirt-cluster-critical" }, value: 1_000_000_000 };
const OWN = { namespace: KUBEVIRT_NAMESPACE, name: "virt-handler" };
export const VIRT_HANDLER = { "kubevirt.io": "virt-handler" };

/** The tolerations from virt-operator, and the tolerations that the DaemonSet controller adds to every pod. */
const TOLERATIONS: readonly Toleration[] = [
  { key: "CriticalAddonsOnly", operator: "Exists" },
  ...["not-ready", "unreachable"].map((name) => tolerationOf(name, "NoExecute")),
  ...["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"].map((name) =>
    tolerationOf(name, "NoSchedule"),
  ),
];

function tolerationOf(name: string, effect: string): Toleration {
  return { key: `node.kubernetes.io/${name}`, operator: "Exists", effect };
}

export interface Presence {
  isOn(node: string): boolean;
  onChange(listener: (node: string) => void): void;
}

export function startVirtHandlerPods(options: ActorOptions): Actor & Presence {
  const { client } = options;
  const all = startInformer({ ...options, resource: nodes });
  const placements = startInformer({ ...options, resource: kubeVirts });
  const own = startInformer({
    ...options,
    resource: pods,
    selectors: { labelSelector: "kubevirt.io=virt-handler" },
    indexes: { node: (pod: Pod) => [wantedNode(pod)] },
  });

  /** Returns virt-handler's DaemonSet, which kubectl drain reads. Creates the DaemonSet if it is missing. */
  const daemonSet = async (): Promise<DaemonSet> =>
    (await client.get(daemonSets, OWN)) ??
    (await client.create(daemonSets, { metadata: OWN, spec: { template: {}, selector: {} } }));

  const tolerations = (): Toleration[] => {
    const [kubevirt] = [...placements.list()];
    return [...TOLERATIONS, ...(kubevirt?.spec.workloads?.nodePlacement?.tolerations ?? [])];
  };

  const reconcile = async (name: string): Promise<Result> => {
    await placements.synced;
    const node = all.get(name);
    const wanted = podOn(name, tolerations());
    // Reads from the API server, because the cache can lack new pods.
    const { items } = await client.list(pods, KUBEVIRT_NAMESPACE, { labelSelector: "kubevirt.io=virt-handler" });
    const there = items.filter((pod) => wantedNode(pod) === name);
    const here = there.filter((pod) => pod.metadata.deletionTimestamp === undefined);
    const stays = (pod: Pod) => node !== undefined && !isFinished(pod) && isAsWanted(pod, wanted) && mayStay(pod, node);
    for (const pod of here) if (!stays(pod)) await client.delete(pods, pod.metadata);
    if (node !== undefined && there.length === 0 && mayStart(wanted, node)) {
      if ((await client.get(priorityClasses, PRIORITY.metadata)) === undefined) {
        await client.create(priorityClasses, PRIORITY);
      }
      const ownerReferences = [ownerReferenceTo(await daemonSet(), daemonSets)];
      await client.create(pods, { ...wanted, metadata: { ...wanted.metadata, ownerReferences } });
    }
  };

  const controller = startController({ name: "virt-handler-pods", reconcile, ...options });
  controller.watch(all, (node) => [keyOf(node)]);
  controller.watch(own, (pod) => [wantedNode(pod)]);
  placements.onChange(() => [...all.list()].forEach((node) => controller.enqueue(keyOf(node))));
  return {
    ...actorOf([controller], [all, placements, own]),
    isOn: (node) => own.byIndex("node", node).some(isAtWork),
    onChange: (listener) => own.onChange((pod, previous) => listener(wantedNode(pod ?? previous))),
  };
}

function wantedNode(pod: Pod | undefined): string {
  return pod?.metadata.annotations?.["sandbox.kubevirt.io/node"] ?? "";
}

function isAtWork({ metadata, status }: Pod): boolean {
  return status?.phase === "Running" && metadata.deletionTimestamp === undefined;
}

function isAsWanted({ spec }: Pod, wanted: Draft<Pod>): boolean {
  return spec?.tolerations?.length === wanted.spec?.tolerations?.length;
}

function mayStay(pod: Pod, node: Node): boolean {
  return toleratedFor(pod, noExecuteTaints(node)) > 0;
}

function mayStart({ spec }: Draft<Pod>, node: Node): boolean {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  return taints.every((taint) => (spec?.tolerations ?? []).some((toleration) => tolerates(toleration, taint)));
}

function podOn(name: string, tolerations: Toleration[]): Draft<Pod> {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [name] }];
  return {
    metadata: {
      namespace: KUBEVIRT_NAMESPACE,
      generateName: "virt-handler-",
      labels: VIRT_HANDLER,
      annotations: { "sandbox.kubevirt.io/node": name },
    },
    spec: {
      containers: [{ name: "virt-handler", image: "quay.io/kubevirt/virt-handler:v1.9.0" }],
      priorityClassName: PRIORITY.metadata.name,
      tolerations,
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
      },
    },
  };
}
