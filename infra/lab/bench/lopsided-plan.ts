/** A cluster that is full in places and empty in others: what is where. */
import { numbered } from "../../tools/in-parallel.ts";
import type { PlannedVm } from "./population.ts";

export type PodKind = "Launcher" | "Web" | "Stuck";

export interface PlannedPod {
  readonly kind: PodKind;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
}

export interface PlannedNode {
  readonly name: string;
  readonly namespace: string;
  readonly vms: readonly PlannedVm[];
  /** Those that are no launchers. */
  readonly pods: readonly PlannedPod[];
}

/** Of ten neighbours: a fifth of all pods are launchers, and there are ten pods on a node on average. */
const VMS = [4, 4, 4, 4, 2, 2, 0, 0, 0, 0];
const OTHERS = [12, 12, 12, 12, 8, 8, 4, 4, 4, 4];
export const PODS_A_NODE = 10;
const NODES_A_NAMESPACE = 10;
/** Pods that have never come up: as many in a small cluster as in a large one, each on a node of its own. */
export const STUCK = 5;
const STUCK_EVERY = 10;

const digits = (value: number, width: number) => String(value).padStart(width, "0");

export function planNode(index: number): PlannedNode {
  const name = `node-${digits(index, 4)}`;
  const namespace = `tenant-${digits(Math.floor(index / NODES_A_NAMESPACE), 3)}`;
  const neighbour = index % VMS.length;
  return {
    name,
    namespace,
    vms: numbered(VMS[neighbour] ?? 0).map((vm) => ({ namespace, name: `vm-${digits(index, 4)}-${vm}`, node: name })),
    pods: numbered(OTHERS[neighbour] ?? 0).map((pod) => {
      const kind = pod === 0 && isWithStuckPod(index) ? "Stuck" : "Web";
      return { kind, namespace, name: `web-6d4cf56db6-${digits(index, 4)}${pod.toString(36)}`, node: name };
    }),
  };
}

function isWithStuckPod(index: number): boolean {
  return index % STUCK_EVERY === 0 && index < STUCK * STUCK_EVERY;
}
