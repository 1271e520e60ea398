/**
 * How far each VM and pod of a drain is, in words and as a part of the whole way.
 *
 * KubeVirt's objects do not tell how much of a guest has been copied: the stages are the phases of its migration.
 */
import type { Subject } from "./subjects.ts";

export type Mood = "waiting" | "moving" | "blocked" | "gone";

export interface Row {
  readonly key: string;
  readonly isVm: boolean;
  readonly mood: Mood;
  /** From 0 to 1. */
  readonly stage: number;
  readonly words: string;
}

type Step = readonly [stage: number, words: string, preposition: "on" | "to"];

/** Of KubeVirt's migrations, but for those that wait. */
const PHASES: ReadonlyMap<string, Step> = new Map([
  ["Scheduling", [0.2, "its target pod is to be scheduled", "on"]],
  ["Scheduled", [0.3, "its target pod starts", "on"]],
  ["PreparingTarget", [0.4, "its target pod starts", "on"]],
  ["TargetReady", [0.5, "is about to move", "to"]],
  ["Running", [0.7, "moves", "to"]],
]);
const OTHERWISE: Step = [0.1, "is about to move", "to"];

export function rowOf(subject: Subject, isStopping: boolean): Row {
  const { key, verdict } = subject;
  return { key, isVm: verdict.vmi !== undefined, ...placeOf(subject, isStopping) };
}

type Place = Omit<Row, "key" | "isVm">;

function placeOf(subject: Subject, isStopping: boolean): Place {
  if (isStopping) return { mood: "moving", stage: 0.5, words: "is being stopped" };
  const { pod, verdict, vmi } = subject;
  switch (verdict.outcome) {
    case "Blocked":
      return moving(subject) ?? { mood: "blocked", stage: 0, words: `blocked: ${verdict.reason}` };
    case "Waits":
      return { mood: "waiting", stage: 0.1, words: `waits: ${verdict.message}` };
    case "Moves":
      return moving(subject) ?? waiting(vmi?.evacuationNodeName === undefined ? "runs" : "is to move");
    case "ShutsDown":
    case "Ended":
    case "Evicted":
      return pod.deleting ? { mood: "moving", stage: 0.5, words: "is shutting down" } : waiting("runs");
    case "Follows":
    case "Stays":
      return waiting("");
  }
}

function waiting(words: string): Place {
  return { mood: "waiting", stage: 0, words };
}

function moving(subject: Subject): Place | undefined {
  const { migration, evacuation } = subject;
  if (migration === undefined) return undefined;
  const why = WAITS.get(evacuation?.status.reason ?? "");
  if (why !== undefined && !PHASES.has(migration.phase)) return { mood: "waiting", stage: 0.1, words: why };
  if (migration.phase === "Pending") return { mood: "waiting", stage: 0.1, words: QUEUED };
  const [stage, words, preposition] = PHASES.get(migration.phase) ?? OTHERWISE;
  const target = targetOf(subject);
  return { mood: "moving", stage, words: target === undefined ? words : `${words} ${preposition} ${target}` };
}

/** By the reason of its Evacuation: the migration itself says nothing of this. */
const WAITS: ReadonlyMap<string, string> = new Map([
  ["KubeVirtBackoff", "waits for the end of KubeVirt's back-off"],
  ["KubeVirtNotAnswering", "waits for virt-controller, which does not answer"],
]);

const QUEUED = "waits in KubeVirt's queue";

/** Its migration waits for others, for KubeVirt's limits: not for anything that is the matter with it. */
export function isQueued({ words }: Row): boolean {
  return words === QUEUED;
}

/** Where it is on its way to. A migration names its target when it has ended; before, only the VMI does. */
export function targetOf({ migration, vmi, evacuation }: Subject): string | undefined {
  return migration?.targetNode ?? vmi?.targetNode ?? evacuation?.status.targetNode;
}
