/** Creates the facts about a node before its drain: `facts({ pods: [launcher("web")] })`. */
import type { BudgetFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { NeighbourPod, PreflightFacts, PreflightPod } from "../../../shared/preflight/facts.ts";
import type { FitNode } from "../../../shared/preflight/fit.ts";
import { budget, node as plainNode, NODE, NOW, owner, pod, settings, vmi } from "../fixtures.ts";

export const GIB = 1024 ** 3;

/** Returns a node with 8 CPUs and 16 GiB of memory that can run 110 pods. */
export function node(name: string, { allocatable, ...tweak }: Partial<FitNode> = {}): FitNode {
  const labels = { "kubernetes.io/hostname": name };
  const all = { cpu: 8000, memory: 16 * GIB, pods: 110, ...allocatable };
  return { ...plainNode(), name, ...tweak, labels: { ...labels, ...tweak.labels }, allocatable: all };
}

const ASKED = {
  placement: { nodeSelector: {} },
  antiAffinity: [],
  claims: [],
  requests: { cpu: 1000, memory: 2 * GIB },
  localStorage: true,
  finalizers: [],
  unchecked: [],
} as const;

/** Returns the launcher pod of the VM `name` on node01. The pod requests 1 CPU and 2 GiB of memory. */
export function launcher(name: string, tweak: Partial<PreflightPod> = {}): PreflightPod {
  const uid = `pod-${name}`;
  return {
    ...ASKED,
    ...pod({
      name: `virt-launcher-${name}-x7k2p`,
      uid,
      labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": `vmi-${name}` },
      annotations: { "kubevirt.io/domain": name },
      owners: [owner({ name, uid: `vmi-${name}` })],
    }),
    nodeName: NODE,
    ...tweak,
  };
}

export function vmiOf(name: string, tweak: Partial<VmiFacts> = {}): VmiFacts {
  return vmi({ name, uid: `vmi-${name}`, activePods: { [`pod-${name}`]: NODE }, guestMemory: 2 * GIB, ...tweak });
}

export function plainPod(name: string, tweak: Partial<PreflightPod> = {}): PreflightPod {
  const owners = [owner({ kind: "ReplicaSet", name: "rs", uid: "rs" })];
  const own = { name, uid: name, labels: { app: name }, annotations: {}, owners, localStorage: false };
  return { ...launcher(name), ...own, ...tweak };
}

export function neighbour(name: string, nodeName: string, tweak: Partial<NeighbourPod> = {}): NeighbourPod {
  const { namespace, uid, phase, deleting, labels, requests, antiAffinity } = plainPod(name);
  return { namespace, name, uid, nodeName, phase, deleting, labels, requests, antiAffinity, ...tweak };
}

/** Returns a PodDisruptionBudget of another owner, which allows no disruption. */
export function foreignBudget(name: string, app: string, tweak: Parameters<typeof budget>[0] = {}): BudgetFacts {
  const selector = { matchLabels: { app }, matchExpressions: [] };
  return budget({ name, uid: name, managedByUs: false, owners: [], selector, ...tweak });
}

export function facts(tweak: Partial<PreflightFacts> = {}): PreflightFacts {
  return {
    settings: settings(),
    now: NOW,
    node: node(NODE),
    pods: [launcher("web")],
    otherNodes: [node("node02")],
    otherPods: [],
    volumes: [],
    vmis: [vmiOf("web")],
    evacuations: [],
    migrations: [],
    finished: [],
    migratingElsewhere: [],
    leavingElsewhere: [],
    budgets: [],
    quotas: [],
    flags: { force: false, deleteEmptyDirData: false },
    unread: [],
    ...tweak,
  };
}
