/** What phases, causes, acts and conditions mean to a person, and who can change them. */
import { html } from "hono/html";
import { type Cause, type EvacuationFacts, isActive, type Phase } from "../../shared/kube/evacuation.ts";
import type { ConfigurationObserved, VmiFacts } from "../../shared/kube/facts.ts";
import { retryOf } from "../../shared/evacuation/identity.ts";
import { isMarked, isToMove } from "../../shared/settings/strategy.ts";
import { ownValue } from "../../shared/kube/selector.ts";
import { REMEDY, remedyOfBlocked } from "../../shared/eviction/messages.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { type Act, badge, commandLine, type Html, isolated, type Mood, notice } from "./components.ts";
import { isFinal } from "../../shared/kube/objects.ts";

interface PhaseWords {
  readonly mood: Mood;
  /** After "the VM". */
  readonly means: string;
  /** Absent: nothing has to be changed. */
  readonly remedy?: string;
}

// prettier-ignore
export const PHASES: Readonly<Record<Phase, PhaseWords>> = {
  Pending:         { mood: "busy",  means: "is to move; KubeVirt has not started its migration yet" },
  Migrating:       { mood: "busy",  means: "moves to another node as soon as KubeVirt lets it" },
  BackingOff:      { mood: "warn",  means: "could not be moved; Lifeboat waits, and then tries again", remedy: REMEDY.BackingOff },
  WaitingForOwner: { mood: "warn",  means: "waits for the controller that owns it to move it", remedy: REMEDY.External },
  Blocked:         { mood: "bad",   means: "cannot leave its node as things are", remedy: REMEDY.NotMigratable },
  Moved:           { mood: "good",  means: "has moved" },
  Abandoned:       { mood: "bad",   means: "could not be moved; Lifeboat has given up", remedy: REMEDY.Abandoned },
  Withdrawn:       { mood: "quiet", means: "stays: its evacuation was cancelled, or is not wanted any more" },
  Duplicate:       { mood: "quiet", means: "is moved by another evacuation of the same pod" },
  Gone:            { mood: "quiet", means: "has ended, or was deleted" },
};

/** `count`: of several that are in it. */
export function phaseBadge(phase: Phase | undefined, count?: number): Html {
  if (phase === undefined) return badge("New", "busy");
  return badge(count === undefined ? phase : `${count} ${phase}`, PHASES[phase].mood);
}

/** Of a Blocked one, by its reason; else by its phase. */
export function whoCanChange({ status: { phase = "Pending", reason } }: EvacuationFacts): string | undefined {
  return phase === "Blocked" ? remedyOfBlocked(reason) : PHASES[phase].remedy;
}

/** Why a VM has to leave, after "because of" or alone. */
export const CAUSES: Readonly<Record<Cause, string>> = {
  ApiEviction: "an eviction (kubectl drain)",
  Descheduler: "a descheduler",
  Preemption: "a pod of higher priority",
  NoExecuteTaint: "a NoExecute taint",
  NodePressure: "memory, disk or PID pressure on its node",
  DrainTaint: "KubeVirt's drain taint",
  Operator: "a person",
  NodeTermination: "the end of its node",
};

export const ACT_WORDS: Readonly<Record<Act, string>> = {
  evacuate: "Evacuate",
  cancel: "Cancel the evacuation",
  retry: "Try again now",
};

export interface Actable {
  readonly vmi?: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  readonly settings: Settings;
}

/** What a person may ask for now: what the acts themselves would find possible. */
export function actsOn({ vmi, evacuations, settings }: Actable): readonly Act[] {
  if (vmi === undefined || isFinal(vmi)) return [];
  const failed: readonly Act[] = retryOf(vmi, evacuations) === undefined ? [] : ["retry"];
  if (evacuations.some(isActive) || isMarked(vmi)) return [...failed, "cancel"];
  return failed.length === 0 && isToMove(vmi, settings) ? ["evacuate"] : failed;
}

type Condition = ConfigurationObserved["conditions"][number];

/** What is wrong with Lifeboat itself in a cluster. `bad`: it does not do what it is to do. `warn`: it will not, or that is not known. */
export interface Problem {
  readonly mood: "bad" | "warn";
  readonly title: string;
  readonly message: string;
}

const WRONG: Readonly<Record<string, string>> = {
  WebhookCalled: "The API server does not ask Lifeboat about evictions",
  Permitted: "Lifeboat lacks a permission",
  Ready: "The configuration is not valid",
  ReviewsDecided: "An eviction was answered without the facts",
  CredentialsValid: "Lifeboat's token does not work any more",
};

/** The worst come first. */
export function problemsOf(conditions: readonly Condition[]): readonly Problem[] {
  const problems = conditions.flatMap(({ type, status, reason, message }): readonly Problem[] => {
    if (reason === "ExpiresSoon") return [{ mood: "warn", title: "Lifeboat's token ends soon", message }];
    const title = ownValue(WRONG, type);
    if (title === undefined || status === "True") return [];
    if (status === "False") return [{ mood: "bad", title, message }];
    return [{ mood: "warn", title: `Not known yet: ${type}`, message }];
  });
  return problems.toSorted((a, b) => Number(a.mood === "warn") - Number(b.mood === "warn"));
}

export function problemNotices(problems: readonly Problem[]): Html | "" {
  if (problems.length === 0) return "";
  const one = ({ mood, title, message }: Problem) =>
    notice(mood, html`<p><strong>${title}.</strong> ${isolated(message)}</p>`);
  return html`${problems.map(one)}
    <p>${commandLine("lifeboat doctor")}</p>`;
}
