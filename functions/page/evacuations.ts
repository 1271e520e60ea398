/** Shows Evacuations to a person: the meaning of phases and causes, the remedies, and a sorted table. */
import { html } from "hono/html";
import { type Cause, type EvacuationFacts, isActive, type Phase } from "../../shared/kube/evacuation.ts";
import { requestersOf } from "../../shared/evacuation/requesters.ts";
import { keyOf } from "../../shared/kube/objects.ts";
import { REMEDY, remedyOfBlocked } from "../../shared/eviction/messages.ts";
import { secondsUntil } from "../../shared/settings/time.ts";
import {
  ago,
  badge,
  type Column,
  type Html,
  isolated,
  lasting,
  type Tone,
  move,
  sentence,
  table,
  vmLink,
} from "./components.ts";

interface PhaseWords {
  readonly mood: Tone;
  /** The meaning of the phase. Completes a sentence that starts with "the VM". */
  readonly means: string;
  /** Who can change the state, and how. Absent if no change is needed. */
  readonly remedy?: string;
}

// prettier-ignore
export const PHASES: Readonly<Record<Phase, PhaseWords>> = {
  Pending:         { mood: "busy",  means: "has to move; KubeVirt has not started its migration yet" },
  Migrating:       { mood: "busy",  means: "moves to another node when KubeVirt allows the move" },
  BackingOff:      { mood: "warn",  means: "could not be moved; Lifeboat waits, and then tries again", remedy: REMEDY.BackingOff },
  WaitingForExternalController: { mood: "warn",  means: "waits for its external controller to move it", remedy: REMEDY.External },
  Blocked:         { mood: "bad",   means: "cannot leave its node until somebody removes the obstacle", remedy: REMEDY.NotMigratable },
  Restarting:      { mood: "busy",  means: "is restarted on another node, because it cannot move" },
  Stopping:        { mood: "busy",  means: "is stopped, because it cannot move" },
  Moved:           { mood: "good",  means: "has moved" },
  Restarted:       { mood: "good",  means: "was restarted on another node" },
  Stopped:         { mood: "warn",  means: "was stopped; Lifeboat starts it when its node is schedulable again" },
  Abandoned:       { mood: "bad",   means: "could not be moved; Lifeboat has given up", remedy: REMEDY.Abandoned },
  Withdrawn:       { mood: "quiet", means: "stays, because its evacuation was cancelled or is no longer needed" },
  Duplicate:       { mood: "quiet", means: "is moved by another evacuation of the same pod" },
  Gone:            { mood: "quiet", means: "has ended, or was deleted" },
};

export function phaseBadge(phase: Phase | undefined, count?: number): Html {
  if (phase === undefined) return badge("New", "busy");
  return badge(count === undefined ? phase : `${count} ${phase}`, PHASES[phase].mood);
}

/** Says who can change the state of an Evacuation. If the phase is Blocked, the text depends on the reason. */
export function whoCanChange({ status: { phase = "Pending", reason } }: EvacuationFacts): string | undefined {
  return phase === "Blocked" ? remedyOfBlocked(reason) : PHASES[phase].remedy;
}

export const CAUSE_TEXTS: Readonly<Record<Cause, string>> = {
  ApiEviction: "an eviction (kubectl drain)",
  Descheduler: "a descheduler",
  Preemption: "a pod of higher priority",
  NoExecuteTaint: "a NoExecute taint",
  DeviceTaint: "a taint of its device",
  NodePressure: "memory, disk or PID pressure on its node",
  DrainTaint: "KubeVirt's drain taint",
  Operator: "a person",
  NodeTermination: "the termination of its node",
  NodeEvacuation: "the maintenance of its node",
};

/** Phases that need attention, the most urgent first. */
const ATTENTION: readonly Phase[] = ["Blocked", "Abandoned", "WaitingForExternalController", "BackingOff"];

export interface Sorted {
  readonly needAttention: readonly EvacuationFacts[];
  readonly inProgress: readonly EvacuationFacts[];
  /** Ended Evacuations, sorted by their end, newest first. */
  readonly ended: readonly EvacuationFacts[];
}

/**
 * Sorts Evacuations by urgency. An abandoned Evacuation needs no attention if it ended more than `givenUpSeconds` ago,
 * or if its VM has a newer Evacuation.
 */
export function sortEvacuations(evacuations: readonly EvacuationFacts[], now: Date, givenUpSeconds: number): Sorted {
  const latest = new Map(evacuations.toSorted(oldestFirst).map((one) => [keyOfVm(one), one]));
  const isRecent = (one: EvacuationFacts) =>
    latest.get(keyOfVm(one)) === one && now.getTime() - endOf(one) < givenUpSeconds * 1000;
  const needsAttention = (one: EvacuationFacts) => rankOf(one) >= 0 && (isActive(one) || isRecent(one));
  const rest = evacuations.filter((one) => !needsAttention(one));
  return {
    needAttention: evacuations.filter(needsAttention).toSorted((a, b) => rankOf(a) - rankOf(b) || oldestFirst(a, b)),
    inProgress: rest.filter(isActive).toSorted(oldestFirst),
    ended: rest.filter((one) => !isActive(one)).toSorted((a, b) => endOf(b) - endOf(a) || oldestFirst(a, b)),
  };
}

function rankOf({ status: { phase = "Pending" } }: EvacuationFacts): number {
  return ATTENTION.indexOf(phase);
}

export function oldestFirst(a: EvacuationFacts, b: EvacuationFacts): number {
  return a.createdAt - b.createdAt || Number(isActive(a)) - Number(isActive(b)) || (keyOf(a) < keyOf(b) ? -1 : 1);
}

function keyOfVm({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}

function endOf({ status: { completionTime } }: EvacuationFacts): number {
  return Date.parse(completionTime ?? "") || 0;
}

interface Options {
  readonly cluster: string;
  readonly now: Date;
  readonly caption?: Html | string;
  readonly most: number;
  /** If set, all rows are about one VM, and the table has no VM column. */
  readonly ofOneVm?: boolean;
}

export function evacuationTable(evacuations: readonly EvacuationFacts[], options: Options): Html {
  const { cluster, now, caption, most, ofOneVm = false } = options;
  const vm: Column<EvacuationFacts> = {
    head: "VM",
    cell: ({ namespace, spec }) => vmLink(cluster, { namespace, name: spec.vmiName }),
  };
  const columns: readonly Column<EvacuationFacts>[] = [
    ...(ofOneVm ? [] : [vm]),
    { head: "Phase", cell: ({ status }) => phaseBadge(status.phase) },
    { head: "From → to", cell: ({ status }) => move(cluster, status.sourceNode, status.targetNode) },
    { head: "Cause", cell: (one) => html`${CAUSE_TEXTS[one.spec.cause]}${askedBy(requestersOf(one))}` },
    { head: "Failed attempts", cell: (one) => failedAttempts(one, now) },
    { head: "When", cell: (one) => whenOf(one, now) },
    { head: "Message", cell: messageOf },
  ];
  return table(evacuations, { key: ({ uid }) => uid, columns, most, ...(caption !== undefined && { caption }) });
}

function askedBy(names: readonly string[]): Html | "" {
  return names.length === 0
    ? ""
    : html` <span class="muted"
        >asked by ${names.map((name, i) => html`${i === 0 ? "" : ", "}${isolated(name)}`)}</span
      >`;
}

export function failedAttempts(
  { status: { attempts, phase, nextAttemptTime } }: EvacuationFacts,
  now: Date,
): Html | string {
  if (attempts === 0) return "";
  const next = phase === "BackingOff" ? secondsUntil(nextAttemptTime, now) : 0;
  return next > 0 ? html`${attempts}, next in ${lasting(next)}` : String(attempts);
}

function whenOf(one: EvacuationFacts, now: Date): Html {
  const end = endOf(one);
  if (isActive(one) || end === 0) return ago(one.createdAt, now);
  return html`${ago(end, now)}, took ${lasting((end - one.createdAt) / 1000)}`;
}

function messageOf(one: EvacuationFacts): Html | "" {
  return withRemedy(one.status.message ?? "", whoCanChange(one));
}

export function withRemedy(message: string, who: string | undefined): Html | "" {
  if (who === undefined) return isolated(message);
  return html`${isolated(sentence(message))} <strong>Who can change it:</strong> ${who}.`;
}
