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

type Told = Pick<Story, "functions" | "passes" | "skewMs" | "patienceSeconds">;

/** A function at work. */
interface Working {
  readonly steps: Steps<void>;
  readonly since: Date;
}

export class Cast {
  readonly #cluster: SimulatedCluster;
  readonly #story: Told;
  /** Each of them passing, or about to begin. */
  readonly #functions: (Working | undefined)[];
  #requests: readonly Working[] = [];
  #passes = 0;
  #asked = 0;

  constructor(cluster: SimulatedCluster, story: Told) {
    this.#cluster = cluster;
    this.#story = story;
    this.#functions = Array.from({ length: story.functions });
  }

  /** The clock of every other one is fast. */
  #skewMs(i: number): number {
    return i % 2 === 1 ? (this.#story.skewMs ?? 0) : 0;
  }

  #begin(i: number, begins: Begins): Working {
    const options = { skewMs: this.#skewMs(i), ...begins, ...this.#story.passes?.(this.#passes++) };
    return { steps: pass(this.#cluster, options), since: this.#cluster.now };
  }

  /** They do nothing more, and what they have left undone is for others. */
  #killWhoIsLate(): void {
    const { patienceSeconds = Infinity } = this.#story;
    const oldest = this.#cluster.now.getTime() - patienceSeconds * 1000;
    const killed = (one: Working | undefined): boolean => {
      if (one === undefined || one.since.getTime() >= oldest) return false;
      one.steps.return();
      return true;
    };
    for (const [i, one] of this.#functions.entries()) if (killed(one)) this.#functions[i] = undefined;
    this.#requests = this.#requests.filter((one) => !killed(one));
  }

  /** What goes wrong does so with the first of the steps. */
  pass({ which, times = 1, fault, begins = {} }: Advance): void {
    const i = which % this.#functions.length;
    this.#killWhoIsLate();
    for (let n = 0; n < times; n++) {
      const { steps } = (this.#functions[i] ??= this.#begin(i, begins));
      if (steps.next(n === 0 ? fault : undefined).done === true) this.#functions[i] = undefined;
    }
  }

  answer({ which, times = 1, fault }: Advance): void {
    this.#killWhoIsLate();
    const request = pick(this.#requests, which);
    for (let n = 0; n < times; n++) {
      if (request?.steps.next(n === 0 ? fault : undefined).done !== true) continue;
      this.#requests = this.#requests.filter((one) => one !== request);
      return;
    }
  }

  /** About the pod that came last: the one that the guest runs in, or may move to. */
  ask({ does, which }: Ask): void {
    const vm = pick(this.#cluster.vmis.values(), which);
    const pod = vm && this.#cluster.pods.of(vm).at(-1);
    if (vm === undefined || pod === undefined) return;
    this.#requests = [...this.#requests, { steps: this.#request(does, vm, pod), since: this.#cluster.now }];
  }

  #request(does: Ask["does"], vm: VmiFacts, pod: PodFacts): Steps<void> {
    const skewMs = this.#skewMs(this.#asked++);
    switch (does) {
      case "ask to evict":
        return eviction(this.#cluster, pod.uid, "ApiEviction", skewMs);
      case "ask to deschedule":
        return eviction(this.#cluster, pod.uid, "Descheduler", skewMs);
      case "ask to cancel":
        return cancellation(this.#cluster, keyOf(vm), skewMs);
      case "preempt":
        return deletion(this.#cluster, this.#chosen(vm, pod, "Preemption"), "Preemption", skewMs);
      case "expel pod":
        // Nothing but a taint makes the taint manager delete.
        if (pod.nodeName !== undefined) this.#cluster.expelling.add(pod.nodeName);
        return deletion(this.#cluster, this.#chosen(vm, pod, "NoExecuteTaint"), "NoExecuteTaint", skewMs);
    }
  }

  /** Whoever deletes without asking says so on the pod first. */
  #chosen(vm: VmiFacts, pod: PodFacts, cause: GuardCause): PodFacts {
    const { pods, chronicle, now } = this.#cluster;
    if (pod.disruptionTarget?.active === true) return pod;
    chronicle.choose(pod, cause, vm, now);
    const next = { ...pod, disruptionTarget: condition(cause, { since: now.toISOString() }) };
    pods.put(next);
    return next;
  }
}
