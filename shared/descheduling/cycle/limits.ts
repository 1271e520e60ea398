/**
 * The limits of a descheduling cycle: what may still be requested after all that has been.
 * Owns: counting, and which limit is reached. Does not own: what is in progress (in-progress.ts), requests (cycle.ts).
 * Upstream: pkg/descheduler/evictions; what is in progress counts from the start of a cycle.
 */
import type { DeschedulingLimits } from "./policy.ts";
import type { DeschedulerPod } from "../plugins/facts.ts";
import { isEvacuated } from "./in-progress.ts";
import type { Verdict } from "../plugins/plugin.ts";

/** In the order in which they are looked at: upstream's. */
export const LIMITS = [
  "evictionsTotal",
  "evictionsPerNode",
  "evictionsPerNamespace",
  "evacuationsPerNode",
  "evacuationsPerNamespace",
] as const satisfies readonly (keyof DeschedulingLimits)[];

export type LimitName = (typeof LIMITS)[number];

/** What a plugin makes of a limit. One that leaves room for other pods of the node only passes this one over. */
export const VERDICT_AT_LIMIT = {
  evictionsTotal: "TotalLimit",
  evictionsPerNode: "NodeLimit",
  evictionsPerNamespace: "Skipped",
  evacuationsPerNode: "Skipped",
  evacuationsPerNamespace: "Skipped",
} as const satisfies Record<LimitName, Verdict>;

/** Pods of one kind: all, by node, by namespace. */
class Tally {
  total = 0;
  readonly #nodes = new Map<string, number>();
  readonly #namespaces = new Map<string, number>();

  add({ nodeName, namespace }: DeschedulerPod): void {
    this.total += 1;
    this.#nodes.set(nodeName, this.onNode(nodeName) + 1);
    this.#namespaces.set(namespace, this.inNamespace(namespace) + 1);
  }

  onNode(name: string): number {
    return this.#nodes.get(name) ?? 0;
  }

  inNamespace(name: string): number {
    return this.#namespaces.get(name) ?? 0;
  }
}

/** The counters of one cycle. */
export class Counters {
  readonly #limits: DeschedulingLimits;
  readonly #evicted = new Tally();
  readonly #inProgress = new Tally();

  constructor(limits: DeschedulingLimits, inProgress: readonly DeschedulerPod[]) {
    this.#limits = limits;
    for (const pod of inProgress) this.#inProgress.add(pod);
  }

  /** Evacuations in progress, those of this cycle among them. */
  get inProgress(): number {
    return this.#inProgress.total;
  }

  evicted(pod: DeschedulerPod): void {
    this.#evicted.add(pod);
  }

  requested(pod: DeschedulerPod): void {
    this.#inProgress.add(pod);
  }

  /** The limit that one pod more would exceed, in upstream's order; undefined if there is none. */
  limitReached(pod: DeschedulerPod): LimitName | undefined {
    const { nodeName, namespace } = pod;
    const [evicted, inProgress] = [this.#evicted, this.#inProgress];
    const counts: readonly (readonly [LimitName, number])[] = [
      ["evictionsTotal", evicted.total + inProgress.total],
      ["evictionsPerNode", evicted.onNode(nodeName) + inProgress.onNode(nodeName)],
      ["evictionsPerNamespace", evicted.inNamespace(namespace) + inProgress.inNamespace(namespace)],
      ...(isEvacuated(pod) ? this.#evacuations(pod) : []),
    ];
    return counts.find(([name, count]) => count + 1 > (this.#limits[name] ?? Infinity))?.[0];
  }

  #evacuations({ nodeName, namespace }: DeschedulerPod): readonly (readonly [LimitName, number])[] {
    return [
      ["evacuationsPerNode", this.#inProgress.onNode(nodeName)],
      ["evacuationsPerNamespace", this.#inProgress.inNamespace(namespace)],
    ];
  }
}
