/**
 * The limits of a descheduling cycle: how many more pods may be requested. Upstream: pkg/descheduler/evictions; evacuations in progress
 * count from the start of a cycle.
 */
import type { DeschedulerPod } from "../plugins/facts.ts";
import type { Verdict } from "../plugins/plugin.ts";
import { isEvacuated } from "./in-progress.ts";
import type { DeschedulingLimits } from "./policy.ts";

/** In the order in which they are looked at: upstream's. */
export const LIMITS = [
  "evictionsTotal",
  "evictionsPerNode",
  "evictionsPerNamespace",
  "evacuationsPerNode",
  "evacuationsPerNamespace",
] as const satisfies readonly (keyof DeschedulingLimits)[];

export type LimitName = (typeof LIMITS)[number];

/** What a plugin is told at a limit. A limit that leaves room for other pods of the node skips this pod only. */
export const VERDICT_AT_LIMIT = {
  evictionsTotal: "TotalLimit",
  evictionsPerNode: "NodeLimit",
  evictionsPerNamespace: "Skipped",
  evacuationsPerNode: "Skipped",
  evacuationsPerNamespace: "Skipped",
} as const satisfies Record<LimitName, Verdict>;

type Scope = (pod: DeschedulerPod) => string;
const all: Scope = () => "";
const node: Scope = ({ nodeName }) => `node ${nodeName}`;
const namespace: Scope = (pod) => `namespace ${pod.namespace}`;

const SCOPE = {
  evictionsTotal: all,
  evictionsPerNode: node,
  evictionsPerNamespace: namespace,
  evacuationsPerNode: node,
  evacuationsPerNamespace: namespace,
} as const satisfies Record<LimitName, Scope>;

/** Pods, counted in every scope. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(pod: DeschedulerPod): void {
    for (const scope of [all, node, namespace]) this.#counts.set(scope(pod), this.of(scope(pod)) + 1);
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
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

  /** Evacuations in progress, this cycle's requests included. */
  get inProgress(): number {
    return this.#inProgress.of("");
  }

  evicted(pod: DeschedulerPod): void {
    this.#evicted.add(pod);
  }

  requested(pod: DeschedulerPod): void {
    this.#inProgress.add(pod);
  }

  /** The first limit that one more pod would exceed. */
  limitReached(pod: DeschedulerPod): LimitName | undefined {
    return LIMITS.find((name) => {
      const ofEvacuations = name === "evacuationsPerNode" || name === "evacuationsPerNamespace";
      if (ofEvacuations && !isEvacuated(pod)) return false;
      const key = SCOPE[name](pod);
      const count = this.#inProgress.of(key) + (ofEvacuations ? 0 : this.#evicted.of(key));
      return count >= (this.#limits[name] ?? Infinity);
    });
  }
}
