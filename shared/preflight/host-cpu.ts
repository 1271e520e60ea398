/**
 * CPU labels of KubeVirt's node labeller. The labels describe a node's CPU, and so decide on which nodes a VM can run.
 * Upstream: `prepareNodeSelectorForHostCpuModel`, `getCPUVendorLabelKey`.
 */
import { ownValue } from "../kube/objects.ts";
import type { Labels, NodeRequirements, ScheduledNode } from "../kube/scheduled-pod.ts";

export const HOST_MODEL = "host-model";
export const FEATURE = "cpu-feature.node.kubevirt.io/";
export const MODEL = "cpu-model.node.kubevirt.io/";
export const MIGRATION_MODEL = "cpu-model-migration.node.kubevirt.io/";
export const VENDOR = "cpu-vendor.node.kubevirt.io/";
export const HOST_CPU = "host-model-cpu.node.kubevirt.io/";
const HOST_FEATURE = "host-model-required-features.node.kubevirt.io/";

type WithLabels = Pick<ScheduledNode, "name" | "labels">;

/**
 * Returns the CPU labels that KubeVirt adds to the node selector of a migration's target pod. VERSIONS.targetVendor
 * describes the vendor label.
 */
export function cpuOnMigration(
  { nodeSelector }: NodeRequirements,
  cpuModel: string | undefined,
  source: WithLabels,
): Labels {
  const asked = Object.keys(nodeSelector);
  const hasMigrated = asked.some((key) => key.startsWith(FEATURE) || key.startsWith(MIGRATION_MODEL));
  const hasVendor = asked.some((key) => key.startsWith(VENDOR));
  return {
    ...(cpuModel === HOST_MODEL && !hasMigrated && hostModelOf(source)),
    ...(!hasVendor && Object.fromEntries(labelsOf(source, VENDOR).map(([name]) => [`${VENDOR}${name}`, "true"]))),
  };
}

/**
 * Returns the CPU labels for the CPU model `host-model`. If the source node has no label for its model, KubeVirt
 * creates no target pod. The returned label then matches no node.
 */
function hostModelOf(source: WithLabels): Labels {
  const models = labelsOf(source, HOST_CPU);
  if (models.length === 0) return { [HOST_CPU]: `of node ${source.name}` };
  return Object.fromEntries([
    ...models.map(([name, value]) => [`${MIGRATION_MODEL}${name}`, value]),
    ...labelsOf(source, HOST_FEATURE).map(([name, value]) => [`${FEATURE}${name}`, value]),
  ]);
}

function labelsOf({ labels }: WithLabels, prefix: string): readonly (readonly [name: string, value: string])[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value] as const] : [],
  );
}

export function missingCpu(cpu: Labels, { labels }: WithLabels): readonly string[] {
  return Object.keys(cpu).filter((key) => ownValue(labels, key) !== cpu[key]);
}

export function isCpuMissing(cpu: Labels, { labels }: Pick<WithLabels, "labels">): boolean {
  for (const key in cpu) if (ownValue(labels, key) !== cpu[key]) return true;
  return false;
}

/** Returns a text with the CPU labels that the node lacks. */
export function cpuText(cpu: Labels, node: WithLabels): string {
  return `CPU (without ${missingCpu(cpu, node).join(" and ")})`;
}
