/** Eviction policy: the one place that knows what an eviction may do to a pod of a virtual machine. */
import { type Action, recordEvent } from "../action.ts";
import { desiredBudget, ensureBudget } from "../budget/budget.ts";
import { areBudgetsWanted } from "../budget/budget-mode.ts";
import type { Cause } from "../cause.ts";
import {
  activeEvacuation,
  isMarkEnded,
  hasNoRequester,
  newEvacuation,
  backingOffEvacuation,
  withRequester,
} from "../evacuation/identity.ts";
import { type Moment, secondsUntil } from "../time.ts";
import {
  type EvictionStrategy,
  FIRST_REQUEST,
  type FirstAnswer,
  LATER_REQUEST,
  MIGRATES,
  mobilityOf,
  resolveStrategy,
} from "./eviction-table.ts";
import { type EvacuationFacts, isFinal, type MigrationFacts, type PodFacts, type VmiFacts } from "../facts.ts";
import { readyToMove } from "../evacuation/mark.ts";
import { MESSAGE, ownersPart } from "./messages.ts";
import { isMigrationTarget, unprotectedReason } from "../kube/pod-kind.ts";

export type AllowReason =
  | "PodGone"
  | "PodCompleted"
  | "NotAVirtualMachine"
  | "VmiGone"
  | "VmiDeleting"
  | "VmiFinal"
  | "StrategyNone"
  | "ShutdownByStrategy";

export type DenyReason =
  | "EvacuationTriggered"
  | "EvacuationInProgress"
  | "NotMigratable"
  | "UnknownStrategy"
  | "MigrationTarget"
  | "Migrating"
  | "NotScheduled"
  | "HotplugOfLiveVmi"
  | "BackingOff";

/**
 * `actions` must be done before the answer is given: without them it would not be true. `events` follow it.
 * `Ask`: the decision depends on facts that most evictions do not need; look them up and decide again.
 */
export type EvictionDecision = Allowed | Denied | { readonly verdict: "Ask"; readonly question: "Migrations" };

interface Answer {
  readonly actions: readonly Action[];
  readonly events: readonly Action[];
}

interface Allowed extends Answer {
  readonly verdict: "Allow";
  readonly reason: AllowReason;
  readonly warnings: readonly string[];
}

interface Denied extends Answer {
  readonly verdict: "Deny";
  readonly reason: DenyReason;
  readonly message: string;
}

export interface EvictionFacts extends Moment {
  /** The pod named in the request; absent if there is none. */
  readonly pod?: PodFacts;
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly request: { readonly username: string; readonly cause: Cause };
  /** Answer to the question: the migrations of the VMI. */
  readonly migrations?: readonly MigrationFacts[];
}

/** The facts once it is known that the eviction concerns a live VMI under a known strategy. */
interface LiveEviction extends EvictionFacts {
  readonly pod: PodFacts;
  readonly vmi: VmiFacts;
  readonly strategy: EvictionStrategy;
}

function allow(reason: AllowReason, more: Partial<Allowed> = {}): Allowed {
  return { verdict: "Allow", reason, warnings: [], actions: [], events: [], ...more };
}

function deny(reason: DenyReason, message: string, more: Partial<Answer> = {}): Denied {
  return { verdict: "Deny", reason, message, actions: [], events: [], ...more };
}

/** An Event tells of it, once a pod. */
function refuse({ vmi, pod }: Pick<LiveEviction, "vmi" | "pod">, reason: DenyReason, message: string): Denied {
  return deny(reason, message, { events: [recordEvent(vmi, "EvictionRefused", message, pod.uid)] });
}

/** Decides on an eviction of a pod. Pure: the same facts give the same decision. */
export function decideEviction(f: EvictionFacts): EvictionDecision {
  const decision = decide(f);
  if (decision.verdict !== "Deny" || f.vmi === undefined || isProtected(decision)) return decision;
  return { ...decision, actions: [...protection(f, f.vmi, decision.reason), ...decision.actions] };
}

/** By what comes before a mark (mark.ts); or since its Evacuation began: the look after this answer makes a lost one anew. */
function isProtected({ reason, actions }: Denied): boolean {
  const isRepeated = reason === "EvacuationInProgress" && actions.length === 0;
  return isRepeated || actions.some(({ verb }) => verb === "GrowBudget");
}

/**
 * A refused VM has its budget before the answer: the next review of the same drain may never reach Lifeboat, and then only the
 * budget refuses.
 */
function protection({ migrations = [], settings }: EvictionFacts, vmi: VmiFacts, reason: DenyReason) {
  const isToMove = reason === "EvacuationInProgress" || reason === "EvacuationTriggered";
  const isMoving = reason === "MigrationTarget" || vmi.isMigrating || migrations.some((m) => !isFinal(m));
  const wanted = desiredBudget(vmi, isToMove || isMoving, settings);
  return areBudgetsWanted(settings) && wanted !== undefined ? [ensureBudget(vmi, wanted)] : [];
}

function decide(f: EvictionFacts): EvictionDecision {
  if (f.pod === undefined) return allow("PodGone");
  const unprotected = unprotectedReason(f.pod, f.launcher, f.vmi);
  if (unprotected !== undefined) return allow(unprotected);
  const { pod, vmi } = f;
  if (vmi === undefined) return allow("VmiGone");
  if (vmi.deleting) return allow("VmiDeleting");
  if (isFinal(vmi)) return allow("VmiFinal");
  if (f.launcher !== undefined) return deny("HotplugOfLiveVmi", MESSAGE.HotplugOfLiveVmi(vmi, pod));
  const resolved = resolveStrategy(vmi, f.settings);
  if (!resolved.known) {
    return refuse({ ...f, vmi, pod }, "UnknownStrategy", MESSAGE.UnknownStrategy(vmi, resolved.field, resolved.value));
  }
  return decideLiveEviction({ ...f, pod, vmi, strategy: resolved.strategy });
}

function decideLiveEviction(f: LiveEviction): EvictionDecision {
  const { pod, vmi, strategy } = f;
  // A VM that asks for no protection gets none for a migration target either.
  const unconditional = FIRST_REQUEST[strategy][mobilityOf(vmi)] === "allow";
  if (!unconditional && isMigrationTarget(pod, vmi)) return deny("MigrationTarget", MESSAGE.MigrationTarget(vmi));
  const isMarked = vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === pod.nodeName;
  if (!isMarked || isMarkEnded(vmi, f.evacuations, pod.uid)) return firstRequest(f);
  switch (LATER_REQUEST[strategy][mobilityOf(vmi)]) {
    case "first":
      return firstRequest(f);
    case "inProgress":
      return inProgress(f);
    case "unlessMigrating":
      if (f.migrations === undefined) return { verdict: "Ask", question: "Migrations" };
      // The VM cannot move any more and does not have to: its mark goes.
      return f.migrations.some((m) => !isFinal(m)) ? inProgress(f) : firstRequest(f, [{ verb: "Unmark", vmi }]);
  }
}

function firstRequest(f: LiveEviction, before: readonly Action[] = []): EvictionDecision {
  const { pod, vmi, strategy } = f;
  const answer: FirstAnswer = FIRST_REQUEST[strategy][mobilityOf(vmi)];
  switch (answer) {
    case "allow":
      return allow("StrategyNone", { actions: before });
    case "shutdown": {
      if ((vmi.isMigrating || vmi.decentralized === "Sends") && f.migrations === undefined)
        return { verdict: "Ask", question: "Migrations" };
      // On its way to another namespace or cluster, with disks that are not shared: a shutdown would end what saves it.
      if (f.migrations?.some((m) => !isFinal(m)) === true) return deny("Migrating", MESSAGE.Migrating(vmi));
      const warning = MESSAGE.ShutdownByStrategy(vmi);
      const events = [recordEvent(vmi, "ShutdownByStrategy", warning, pod.uid)];
      return allow("ShutdownByStrategy", { warnings: [warning], actions: before, events });
    }
    case "refuse":
      return refuse(f, "NotMigratable", MESSAGE.NotMigratable(vmi, strategy));
    case "evacuate":
      return evacuate(f);
  }
}

function evacuate(f: LiveEviction): EvictionDecision {
  const { vmi, strategy, request, settings } = f;
  if (vmi.nodeName === undefined) return deny("NotScheduled", MESSAGE.NotScheduled(vmi));
  // One for the drain taint is active without a mark, as is one whose mark was lost on the way: the request joins it.
  const { joined, backingOff } = knownEvacuations(f);
  if (joined === undefined && backingOff !== undefined) {
    const { phase = "Abandoned", nextAttemptTime } = backingOff.status;
    return deny("BackingOff", MESSAGE.BackingOff(vmi, phase, secondsUntil(nextAttemptTime, f.now)));
  }
  const next = MIGRATES[strategy]
    ? `evacuating the VM from node ${vmi.nodeName}`
    : `marked for node ${vmi.nodeName}; eviction strategy ${strategy}: it waits for its owner to move it`;
  const { actions, events } = joinOrCreate(f, joined, next);
  const ready = readyToMove(vmi, request.cause, settings);
  return deny("EvacuationTriggered", MESSAGE.EvacuationTriggered(vmi), { actions: [...actions, ...ready], events });
}

/**
 * KubeVirt's webhook reviews the same request and may have marked the VM first, also after an evacuation was cancelled or
 * abandoned: the VM moves, the answer says so, and an Evacuation records who asked.
 */
function inProgress(f: LiveEviction): EvictionDecision {
  const { vmi } = f;
  const { joined, backingOff } = knownEvacuations(f);
  const isTold = joined !== undefined && !hasNoRequester(joined);
  const begun = isTold ? {} : joinOrCreate(f, joined, `KubeVirt has marked the VM for node ${vmi.nodeName}`);
  const ended = joined === undefined ? backingOff?.status.phase : undefined;
  return deny(
    "EvacuationInProgress",
    MESSAGE.EvacuationInProgress(vmi, ended) + (MIGRATES[f.strategy] ? "" : ownersPart(joined)),
    begun,
  );
}

function knownEvacuations({ vmi, pod, evacuations, now }: LiveEviction) {
  const joined = activeEvacuation(vmi, evacuations, pod.uid);
  return { joined, backingOff: backingOffEvacuation(vmi, evacuations, { now, podUID: pod.uid }) };
}

/** Creates an Evacuation that records who asked, unless there is one to join: that gets the user where it names none. */
function joinOrCreate(f: LiveEviction, joined: EvacuationFacts | undefined, next: string): Answer {
  const { vmi, pod, request } = f;
  const asked = { cause: request.cause, requestedBy: request.username, pod: { name: pod.name, uid: pod.uid } };
  const evacuation = joined === undefined ? newEvacuation(vmi, asked, f) : withRequester(joined, request.username);
  const told = `${request.username} asked to evict pod ${pod.name}: ${next}`;
  return {
    actions:
      joined === undefined || hasNoRequester(joined) ? [{ verb: "CreateEvacuation", evacuation, optional: true }] : [],
    events: [recordEvent(vmi, "EvacuationTriggered", told, evacuation.name)],
  };
}
