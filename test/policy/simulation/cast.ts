/**
 * Who acts for Lifeboat in a story: functions that pass, one after another, and requests at its doors.
 * Owns: where each of them stands, and its clock. Does not own: what they do (pass.ts, doors.ts), when (story.ts).
 */
import { keyOf, type PodFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import type { GuardCause } from "../../../shared/policy/disruption-cause.ts";
import { condition } from "../disruptions.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { cancellation, deletion, eviction } from "./doors.ts";
import { pick } from "./happenings.ts";
import { pass } from "./pass.ts";
import type { Steps } from "./requests.ts";
import type { Advance, Ask, Begins, Story } from "./story.ts";

export class Cast {
  readonly #cluster: SimulatedCluster;
  readonly #story: Pick<Story, "functions" | "passes" | "skewMs">;
  /** Each of them passing, or about to begin. */
  readonly #functions: (Steps<void> | undefined)[];
  readonly #requests: Steps<void>[] = [];
  #passes = 0;
  #asked = 0;

  constructor(cluster: SimulatedCluster, story: Pick<Story, "functions" | "passes" | "skewMs">) {
    this.#cluster = cluster;
    this.#story = story;
    this.#functions = Array.from({ length: story.functions });
  }

  /** The clock of every other one is fast. */
  #skewMs(i: number): number {
    return i % 2 === 1 ? (this.#story.skewMs ?? 0) : 0;
  }

  #begin(i: number, begins: Begins): Steps<void> {
    return pass(this.#cluster, { skewMs: this.#skewMs(i), ...begins, ...this.#story.passes?.(this.#passes++) });
  }

  /** What goes wrong does so with the first of the steps. */
  pass({ which, times = 1, fault, begins = {} }: Advance): void {
    const i = which % this.#functions.length;
    for (let n = 0; n < times; n++) {
      const steps = (this.#functions[i] ??= this.#begin(i, begins));
      if (steps.next(n === 0 ? fault : undefined).done === true) this.#functions[i] = undefined;
    }
  }

  answer({ which, times = 1, fault }: Advance): void {
    const i = which % Math.max(this.#requests.length, 1);
    for (let n = 0; n < times; n++) {
      if (this.#requests[i]?.next(n === 0 ? fault : undefined).done !== true) continue;
      this.#requests.splice(i, 1);
      return;
    }
  }

  /** About the pod that came last: the one that the guest runs in, or may move to. */
  ask({ does, which }: Ask): void {
    const vm = pick(this.#cluster.vmis.values(), which);
    const pod = vm && this.#cluster.pods.of(vm).at(-1);
    if (vm === undefined || pod === undefined) return;
    this.#requests.push(this.#request(does, vm, pod));
  }

  #request(does: Ask["does"], vm: VmiFacts, pod: PodFacts): Steps<void> {
    const skewMs = this.#skewMs(this.#asked++);
    switch (does) {
      case "ask to evict":
        return eviction(this.#cluster, pod.uid, skewMs);
      case "ask to cancel":
        return cancellation(this.#cluster, keyOf(vm), skewMs);
      case "preempt":
        return deletion(this.#cluster, this.#chosen(pod, "Preemption"), "Preemption", skewMs);
      case "expel pod":
        return deletion(this.#cluster, this.#chosen(pod, "NoExecuteTaint"), "NoExecuteTaint", skewMs);
    }
  }

  /** Whoever deletes without asking says so on the pod first. */
  #chosen(pod: PodFacts, cause: GuardCause): PodFacts {
    const { pods, chosen, now } = this.#cluster;
    if (!chosen.has(pod.uid)) chosen.set(pod.uid, now);
    if (pod.disruptionTarget?.active === true) return pod;
    const next = { ...pod, disruptionTarget: condition(cause, { since: now.toISOString() }) };
    pods.put(next);
    return next;
  }
}
