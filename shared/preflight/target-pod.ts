/**
 * What the next pod of a VM asks of its node, by the pod that it has: the target of a migration, or that of a new start. What the VM itself
 * names (a CPU model, features, a machine type, Hyper-V, TSC, SEV, TDX) its pod selects already, by labels of KubeVirt's node labeller.
 *
 * Upstream: `createTargetPod`, `prepareNodeSelectorForHostCpuModel` of KubeVirt's migration controller.
 */
import type { VmiFacts } from "../kube/facts.ts";
import type { Labels, ScheduledNode } from "../kube/scheduled-pod.ts";
import { keyOf, ownValue, vmiNameOf } from "../kube/objects.ts";
import type { PreflightFacts, PreflightPod } from "./facts.ts";

const HOST_MODEL = "host-model";
const FEATURE = "cpu-feature.node.kubevirt.io/";
const MIGRATION_MODEL = "cpu-model-migration.node.kubevirt.io/";
const HOST_CPU = "host-model-cpu.node.kubevirt.io/";
const HOST_FEATURE = "host-model-required-features.node.kubevirt.io/";
const VENDOR = "cpu-vendor.node.kubevirt.io/";

/** Of a migration of each; `cpus`: by UIDs of the pods, labels that a node has to have besides. */
export function targetPods(pods: readonly PreflightPod[], { vmis, node }: Pick<PreflightFacts, "vmis" | "node">) {
  const known = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  const cpus = new Map<string, Labels>();
  const targets = pods.map((pod) => {
    const vmi = known.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
    if (vmi === undefined) return pod;
    cpus.set(pod.uid, cpuOnMigration(pod, vmi, node));
    return targetPod(pod, vmi);
  });
  return { targets, cpus };
}

export function missingCpu(cpu: Labels, { labels }: ScheduledNode): readonly string[] {
  return Object.keys(cpu).filter((key) => ownValue(labels, key) !== cpu[key]);
}

/** Nodes of one kind lack the same. */
export function cpuText(cpu: Labels, node: ScheduledNode): string {
  return `CPU (without ${missingCpu(cpu, node).join(" and ")})`;
}

type Asks = Pick<VmiFacts, "cpuModel" | "nodeSelector">;

/** What the target of a migration selects of CPUs besides. The vendor since KubeVirt 1.8; with an older one such a migration fails. */
function cpuOnMigration(pod: PreflightPod, { cpuModel }: Asks, source: ScheduledNode): Labels {
  const asked = Object.keys(pod.placement.nodeSelector);
  const hasMigrated = asked.some((key) => key.startsWith(FEATURE) || key.startsWith(MIGRATION_MODEL));
  const hasVendor = asked.some((key) => key.startsWith(VENDOR));
  return {
    ...(cpuModel === HOST_MODEL && !hasMigrated && hostModelOf(source)),
    ...(!hasVendor && Object.fromEntries(labelsOf(source, VENDOR).map(([name]) => [`${VENDOR}${name}`, "true"]))),
  };
}

/** Without a label that names the model KubeVirt creates no target pod. */
function hostModelOf(source: ScheduledNode): Labels {
  const models = labelsOf(source, HOST_CPU);
  if (models.length === 0) return { [HOST_CPU]: `of node ${source.name}` };
  return Object.fromEntries([
    ...models.map(([name, value]) => [`${MIGRATION_MODEL}${name}`, value]),
    ...labelsOf(source, HOST_FEATURE).map(([name, value]) => [`${FEATURE}${name}`, value]),
  ]);
}

function labelsOf({ labels }: ScheduledNode, prefix: string): readonly (readonly [name: string, value: string])[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value] as const] : [],
  );
}

/** Without what was said for its last migration only. */
function targetPod(pod: PreflightPod, { nodeSelector = {} }: Asks): PreflightPod {
  return selecting(pod, (key) => key !== HOSTNAME || key in nodeSelector);
}

/** Without what its last migrations have added for the sake of the running guest. */
export function startingAnew(pod: PreflightPod, vmi: Asks): PreflightPod {
  const added = [VENDOR, ...(vmi.cpuModel === HOST_MODEL ? [FEATURE, MIGRATION_MODEL] : [])];
  return selecting(targetPod(pod, vmi), (key) => !added.some((prefix) => key.startsWith(prefix)));
}

const HOSTNAME = "kubernetes.io/hostname";

function selecting(pod: PreflightPod, isKept: (key: string) => boolean): PreflightPod {
  const kept = Object.entries(pod.placement.nodeSelector).filter(([key]) => isKept(key));
  return { ...pod, placement: { ...pod.placement, nodeSelector: Object.fromEntries(kept) } };
}
