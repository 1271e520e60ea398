/**
 * Whether a guest that runs on one node certainly finds its CPU on another one.
 *
 * KubeVirt has the target pod of a migration select the source node's CPU vendor, and for a `host-model` VM its CPU model and required
 * features. What an individual VM needs of these is not judged. Upstream: `createTargetPod`, `prepareNodeSelectorForHostCpuModel` of
 * KubeVirt's migration controller.
 */
import type { PreflightNode } from "./facts.ts";

/** KubeVirt's node labeller writes them. */
const PREFIXES = [
  "cpu-model.node.kubevirt.io/",
  "cpu-vendor.node.kubevirt.io/",
  "host-model-cpu.node.kubevirt.io/",
  "host-model-required-features.node.kubevirt.io/",
] as const;

/** Names of those whose CPU labels are the source's. */
export function nodesOfSameCpu(source: PreflightNode, nodes: readonly PreflightNode[]): ReadonlySet<string> {
  const cpu = cpuOf(source);
  return new Set(nodes.filter((node) => cpuOf(node) === cpu).map(({ name }) => name));
}

function cpuOf({ labels }: PreflightNode): string {
  const entries = Object.entries(labels).filter(([key]) => PREFIXES.some((prefix) => key.startsWith(prefix)));
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
