/** The kubelets' measurements of free memory, disk space and process IDs, and of the memory of each pod. */
import { parseQuantity } from "./quantity.ts";
import { requestOf } from "./resource-fit.ts";
import { keyOf, type Key, type Node, type Pod } from "./resources.ts";

export const SIGNALS = ["memory.available", "nodefs.available", "pid.available"] as const;
export type Signal = (typeof SIGNALS)[number];

export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export interface NodeStats {
  /** Sets how much memory the pod's processes use. The default is half of the pod's request. */
  useMemory(pod: Key, quantity: string): void;
  /** Sets how much of a resource is free on the node. If `quantity` is absent, the free amount depends on the pods. */
  setAvailable(node: string, signal: Signal, quantity?: string): void;
  memoryOf(pod: Pod): number;
  observe(node: Node, running: readonly Pod[]): Readonly<Record<Signal, Observation>>;
  onChange(listener: () => void): void;
}

const UNTIL_SAID_OTHERWISE = 0.5;
const PROCESSES = 4_194_304;

export function createNodeStats(): NodeStats {
  const memory = new Map<string, number>();
  const left = new Map<string, number>();
  const listeners: (() => void)[] = [];
  const changed = () => listeners.forEach((listener) => listener());

  const memoryOf = (pod: Pod): number => memory.get(keyOf(pod)) ?? requestOf(pod, "memory") * UNTIL_SAID_OTHERWISE;

  return {
    useMemory({ namespace = "default", name }, quantity) {
      memory.set(`${namespace}/${name}`, parseQuantity(quantity));
      changed();
    },
    setAvailable(node, signal, quantity) {
      if (quantity === undefined) left.delete(`${node}/${signal}`);
      else left.set(`${node}/${signal}`, parseQuantity(quantity));
      changed();
    },
    memoryOf,
    observe({ metadata, status }, running) {
      const { memory: total = 0, "ephemeral-storage": disk = 0 } = status?.capacity ?? {};
      const used = running.reduce((sum, pod) => sum + memoryOf(pod), 0);
      const observed = (signal: Signal, capacity: number, free: number): Observation => ({
        available: left.get(`${metadata.name}/${signal}`) ?? free,
        capacity,
      });
      const [memoryBytes, diskBytes] = [parseQuantity(total), parseQuantity(disk)];
      return {
        "memory.available": observed("memory.available", memoryBytes, memoryBytes - used),
        "nodefs.available": observed("nodefs.available", diskBytes, diskBytes),
        "pid.available": observed("pid.available", PROCESSES, PROCESSES),
      };
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
