/** The taints that keep a pod from a node. */
import type { NodeFacts, Taint } from "../facts.ts";

/** What the node lifecycle controller makes of a node's state, some moments later. */
const TAINT_OF_PRESSURE: Readonly<Record<string, string>> = {
  MemoryPressure: "node.kubernetes.io/memory-pressure",
  DiskPressure: "node.kubernetes.io/disk-pressure",
  PIDPressure: "node.kubernetes.io/pid-pressure",
};

export function taintsOf({ taints, unschedulable, ready, pressures }: NodeFacts): readonly Taint[] {
  const keys = [
    ...(unschedulable ? ["node.kubernetes.io/unschedulable"] : []),
    ...(ready ? [] : ["node.kubernetes.io/not-ready"]),
    ...pressures.flatMap((type) => TAINT_OF_PRESSURE[type] ?? []),
  ];
  return [
    ...keys.map((key) => ({ key, effect: "NoSchedule" })),
    ...taints.filter(({ effect }) => effect !== "PreferNoSchedule"),
  ];
}
