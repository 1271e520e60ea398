/** Compares the number of evictions and evacuations with the limits of a cycle. Upstream: pkg/descheduler/evictions. */
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import type { Verdict } from "../plugins/plugin.ts";
import { isLauncher } from "../../kube/objects.ts";
import { isOnlyRequested } from "./memory.ts";
import type { DeschedulingLimits } from "./policy.ts";

export type LimitName = keyof DeschedulingLimits;

type Scope = (pod: ScheduledPod) => string;
const all: Scope = () => "";
const node: Scope = ({ nodeName }) => `node ${nodeName}`;
const namespace: Scope = (pod) => `namespace ${pod.namespace}`;

/**
 * The limits, in the same order as upstream. `scope` returns the node, the namespace or the whole cluster. `only`
 * restricts the limit to VMs and to pods that another party evicts later. A plugin receives `verdict` when the limit is
 * reached.
 */
const LIMITS: readonly { name: LimitName; scope: Scope; only?: "evacuations"; verdict: Verdict }[] = [
  { name: "evictionsTotal", scope: all, verdict: "TotalLimit" },
  { name: "evictionsPerNode", scope: node, verdict: "NodeLimit" },
  { name: "evictionsPerNamespace", scope: namespace, verdict: "Skipped" },
  { name: "evacuationsPerNode", scope: node, only: "evacuations", verdict: "Skipped" },
  { name: "evacuationsPerNamespace", scope: namespace, only: "evacuations", verdict: "Skipped" },
];

export function isLimit(result: string): result is LimitName {
  return LIMITS.some(({ name }) => name === result);
}

export function verdictAt(limit: LimitName): Verdict {
  return LIMITS.find(({ name }) => name === limit)?.verdict ?? "Skipped";
}

class Tally {
  readonly #counts = new Map<string, number>();

  add(pod: ScheduledPod): void {
    for (const scope of [all, node, namespace]) this.#counts.set(scope(pod), this.of(scope(pod)) + 1);
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }
}

export class Counters {
  readonly #limits: DeschedulingLimits;
  readonly #evicted = new Tally();
  readonly #inProgress = new Tally();

  constructor(limits: DeschedulingLimits, inProgress: readonly ScheduledPod[]) {
    this.#limits = limits;
    for (const pod of inProgress) this.#inProgress.add(pod);
  }

  get inProgress(): number {
    return this.#inProgress.of("");
  }

  evicted(pod: ScheduledPod): void {
    this.#evicted.add(pod);
  }

  requested(pod: ScheduledPod): void {
    this.#inProgress.add(pod);
  }

  limitReached(pod: ScheduledPod): LimitName | undefined {
    const reached = LIMITS.find(({ name, scope, only }) => {
      if (only === "evacuations" && !isLauncher(pod) && !isOnlyRequested(pod)) return false;
      const evicted = only === "evacuations" ? 0 : this.#evicted.of(scope(pod));
      return this.#inProgress.of(scope(pod)) + evicted >= (this.#limits[name] ?? Infinity);
    });
    return reached?.name;
  }
}
