/** How many more pods a cycle may request. Upstream: pkg/descheduler/evictions; evacuations in progress count from the start of a cycle. */
import type { ScheduledPod } from "../../policy/kube/scheduled-pod.ts";
import type { Verdict } from "../plugins/plugin.ts";
import { isEvacuated } from "./in-progress.ts";
import type { DeschedulingLimits } from "./policy.ts";

export type LimitName = keyof DeschedulingLimits;

interface Limit {
  /** Which pods are counted together. */
  readonly scope: (pod: ScheduledPod) => string;
  /** Of evacuations only: other evictions neither count nor are limited. */
  readonly ofEvacuations?: boolean;
  /** What a plugin is told. A limit that leaves room for other pods of the node skips this pod only. */
  readonly verdict: Verdict;
}

const all: Limit["scope"] = () => "";
const node: Limit["scope"] = ({ nodeName }) => `node ${nodeName}`;
const namespace: Limit["scope"] = (pod) => `namespace ${pod.namespace}`;

/** In the order in which they are looked at: upstream's. */
export const LIMITS = {
  evictionsTotal: { scope: all, verdict: "TotalLimit" },
  evictionsPerNode: { scope: node, verdict: "NodeLimit" },
  evictionsPerNamespace: { scope: namespace, verdict: "Skipped" },
  evacuationsPerNode: { scope: node, ofEvacuations: true, verdict: "Skipped" },
  evacuationsPerNamespace: { scope: namespace, ofEvacuations: true, verdict: "Skipped" },
} as const satisfies Record<LimitName, Limit>;

const NAMES = [
  "evictionsTotal",
  "evictionsPerNode",
  "evictionsPerNamespace",
  "evacuationsPerNode",
  "evacuationsPerNamespace",
] as const satisfies readonly LimitName[];

/** Pods, counted in every scope. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(pod: ScheduledPod): void {
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

  constructor(limits: DeschedulingLimits, inProgress: readonly ScheduledPod[]) {
    this.#limits = limits;
    for (const pod of inProgress) this.#inProgress.add(pod);
  }

  /** Evacuations in progress, this cycle's requests included. */
  get inProgress(): number {
    return this.#inProgress.of("");
  }

  evicted(pod: ScheduledPod): void {
    this.#evicted.add(pod);
  }

  requested(pod: ScheduledPod): void {
    this.#inProgress.add(pod);
  }

  /** The first limit that one more pod would exceed. */
  limitReached(pod: ScheduledPod): LimitName | undefined {
    return NAMES.find((name) => {
      const { scope, ofEvacuations = false }: Limit = LIMITS[name];
      if (ofEvacuations && !isEvacuated(pod)) return false;
      const count = this.#inProgress.of(scope(pod)) + (ofEvacuations ? 0 : this.#evicted.of(scope(pod)));
      return count >= (this.#limits[name] ?? Infinity);
    });
  }
}
