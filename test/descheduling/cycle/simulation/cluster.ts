/**
 * A cluster in memory, of pods only, that performs the steps of descheduling cycles under the same conditions as an API
 * server would, with a KubeVirt that starts an evacuation when its eviction is asked for.
 * Owns: the pods, the register, which step conflicts, what is evacuating. Does not own: cycles (story.ts).
 */
import { isDeepStrictEqual } from "node:util";
import type { Action } from "../../../../shared/policy/action.ts";
import { isEvacuated } from "../../../../shared/descheduling/cycle/in-progress.ts";
import type { DeschedulerPod } from "../../../../shared/descheduling/plugins/facts.ts";
import { type DeschedulingRegister, registerText } from "../../../../shared/descheduling/cycle/register.ts";
import type { ActOutcome, Step, StepResult } from "../../../../shared/descheduling/cycle/step.ts";
import { IN_PROGRESS, register } from "../../worlds.ts";

type Write<V extends Action["verb"]> = Extract<Action, { verb: V }>;

export interface Requested {
  readonly pod: DeschedulerPod;
  readonly again: boolean;
}

export class SimulatedPods {
  readonly pods = new Map<string, DeschedulerPod>();
  /** UIDs of pods that KubeVirt is evacuating. */
  readonly evacuating = new Set<string>();
  readonly requests: Requested[] = [];
  evicted = 0;
  register: DeschedulingRegister = register();
  now: Date;

  constructor(pods: readonly DeschedulerPod[], now: Date) {
    for (const pod of pods) this.pods.set(pod.uid, pod);
    this.now = now;
  }

  /** What came of a step; when that is heard is another matter, see story.ts. */
  perform(step: Step): StepResult {
    const { now } = this;
    switch (step.step) {
      case "Write":
        return { step: "Write", outcome: this.#write(step), now };
      case "Act":
        return { step: "Act", outcome: this.#act(step.action), now };
      case "Evict":
        return { step: "Evict", outcome: this.#evict(step.nominated.pod, step.inBackground), now };
      case "Read":
        return { step: "Read", register: this.register, now };
    }
  }

  #act(action: Action): ActOutcome {
    if (action.verb === "AnnotatePod") return this.#annotate(action);
    if (action.verb === "Event") return "Done";
    throw new Error(`no descheduling cycle can ${action.verb}`);
  }

  #write({ found, register: next }: Extract<Step, { step: "Write" }>): ActOutcome {
    if (!isDeepStrictEqual(found, this.register.found)) return "Conflict";
    this.register = { ...next, found: { found: "Text", text: registerText(next) } };
    return "Done";
  }

  #annotate({ pod: observed, add, remove }: Write<"AnnotatePod">): ActOutcome {
    const pod = this.pods.get(observed.uid);
    const annotations = { ...add, ...Object.fromEntries(remove.map((key) => [key, undefined])) };
    const keys = Object.keys(annotations);
    if (pod === undefined || keys.some((key) => pod.annotations[key] !== observed.annotations[key])) return "Conflict";
    this.#set(pod, annotations);
    return "Done";
  }

  #set(pod: DeschedulerPod, changes: Readonly<Record<string, string | undefined>>): void {
    const entries = Object.entries({ ...pod.annotations, ...changes });
    const annotations = Object.fromEntries(
      entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
    );
    this.pods.set(pod.uid, { ...pod, annotations });
  }

  #evict({ uid }: DeschedulerPod, inBackground: boolean): "Evicted" | "Background" | "Gone" | "Refused" {
    const pod = this.pods.get(uid);
    if (pod === undefined) return "Gone";
    if (!isEvacuated(pod)) {
      this.pods.delete(uid);
      this.evicted += 1;
      return "Evicted";
    }
    this.requests.push({ pod, again: this.evacuating.has(uid) });
    this.evacuating.add(uid);
    return inBackground ? "Background" : "Refused";
  }

  /** KubeVirt says on the pod that it is on its way. */
  confirm(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod !== undefined && this.evacuating.has(uid)) this.#set(pod, { [IN_PROGRESS]: "true" });
  }

  /** The guest has left, and its pod with it. */
  finish(uid: string): void {
    if (!this.evacuating.delete(uid)) return;
    this.pods.delete(uid);
  }

  /** Somebody has called it off. */
  cancel(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod === undefined || !this.evacuating.delete(uid)) return;
    this.#set(pod, { [IN_PROGRESS]: undefined });
  }
}
