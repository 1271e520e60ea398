/** Decides whether an eviction of a VM's pod is allowed or refused, and what Lifeboat does afterwards. */
import { type Action, recordEvent } from "../kube/action.ts";
import { ensureBudget } from "../budget/budget.ts";
import type { Cause, EvacuationFacts } from "../kube/evacuation.ts";
import {
  activeEvacuation,
  backingOffEvacuation,
  hasNoRequester,
  isMarkEnded,
  newEvacuation,
  withRequester,
} from "../evacuation/identity.ts";
import { addRequester } from "../evacuation/requesters.ts";
import { type Moment, secondsUntil } from "../settings/time.ts";
import { FIRST_REQUEST, type FirstAnswer, LATER_REQUEST, mobilityOf } from "./table.ts";
import { type EvictionStrategy, MIGRATES, resolveStrategy } from "../settings/strategy.ts";
import type { MigrationFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { MESSAGE, controllersPart } from "./messages.ts";
import { isFinal, isMigrationTarget, unprotectedReason } from "../kube/objects.ts";

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

export type EvictionDecision = Allowed | Denied;

/** The answer to an eviction. Lifeboat performs `actions` before the answer and sends `events` after the answer. */
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
  readonly pod?: PodFacts;
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
  /** All Evacuations of the VMI, read at the same time as the VMI. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly request: { readonly username: string; readonly cause: Cause };
  /**
   * Whether the VM has a PodDisruptionBudget. If undefined, Lifeboat reads the VM's PodDisruptionBudgets before it
   * creates a PodDisruptionBudget.
   */
  readonly hasBudget?: boolean;
  /** The VMI's migrations. Lifeboat reads them only if `doMigrationsDecide` returns true. */
  readonly migrations: readonly MigrationFacts[];
}

interface OfVmi extends EvictionFacts {
  readonly pod: PodFacts;
  readonly vmi: VmiFacts;
}

interface LiveEviction extends OfVmi {
  readonly strategy: EvictionStrategy;
}

/** Returns whether the decision depends on migrations. They matter only for a running VMI that cannot migrate. */
export function doMigrationsDecide(vmi: VmiFacts): boolean {
  if (vmi.liveMigratable.migratable || vmi.deleting || isFinal(vmi) || vmi.evictionStrategy === "None") return false;
  return vmi.isMigrating || vmi.decentralized === "Sends" || vmi.evacuationNodeName !== undefined;
}

function hasMigration({ vmi, migrations }: OfVmi): boolean {
  return doMigrationsDecide(vmi) && migrations.some((m) => !isFinal(m));
}

function allow(reason: AllowReason, more: Partial<Allowed> = {}): Allowed {
  return { verdict: "Allow", reason, warnings: [], actions: [], events: [], ...more };
}

function deny(f: OfVmi, reason: DenyReason, message: string, events: readonly Action[] = []): Denied {
  return { verdict: "Deny", reason, message, actions: budgetOf(f), events };
}

function budgetOf(f: OfVmi): readonly Action[] {
  if (f.hasBudget === true) return [];
  const isMigrating = f.vmi.isMigrating || hasMigration(f) || isMigrationTarget(f.pod, f.vmi);
  return ensureBudget(f.vmi, f.settings, isMigrating);
}

function refuse(f: OfVmi, reason: DenyReason, message: string): Denied {
  return deny(f, reason, message, [recordEvent(f.vmi, "EvictionRefused", message, f.pod.uid)]);
}

export function decideEviction(f: EvictionFacts): EvictionDecision {
  if (f.pod === undefined) return allow("PodGone");
  const unprotected = unprotectedReason(f.pod, f.launcher, f.vmi);
  if (unprotected !== undefined) return allow(unprotected);
  const { pod, vmi } = f;
  if (vmi === undefined) return allow("VmiGone");
  if (vmi.deleting) return allow("VmiDeleting");
  if (isFinal(vmi)) return allow("VmiFinal");
  const ofVmi = { ...f, pod, vmi };
  if (f.launcher !== undefined)
    return deny({ ...ofVmi, pod: f.launcher }, "HotplugOfLiveVmi", MESSAGE.HotplugOfLiveVmi(vmi, pod));
  const resolved = resolveStrategy(vmi, f.settings);
  return resolved.known
    ? decideLiveEviction({ ...ofVmi, strategy: resolved.strategy })
    : refuse(ofVmi, "UnknownStrategy", MESSAGE.UnknownStrategy(vmi, resolved.field, resolved.value));
}

function decideLiveEviction(f: LiveEviction): EvictionDecision {
  const { pod, vmi, strategy } = f;
  // If every eviction of the VM is allowed, the eviction of a target pod is allowed too.
  const unconditional = FIRST_REQUEST[strategy][mobilityOf(vmi)] === "allow";
  if (!unconditional && isMigrationTarget(pod, vmi)) return deny(f, "MigrationTarget", MESSAGE.MigrationTarget(vmi));
  const isMarked = vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === pod.nodeName;
  if (!isMarked || isMarkEnded(vmi, f.evacuations, pod.uid)) return firstRequest(f);
  switch (LATER_REQUEST[strategy][mobilityOf(vmi)]) {
    case "first":
      return firstRequest(f);
    case "inProgress":
      return inProgress(f);
    case "unlessMigrating":
      return hasMigration(f) ? inProgress(f) : firstRequest(f, [{ verb: "Unmark", vmi }]);
  }
}

function firstRequest(f: LiveEviction, before: readonly Action[] = []): EvictionDecision {
  const { pod, vmi, strategy } = f;
  const answer: FirstAnswer = FIRST_REQUEST[strategy][mobilityOf(vmi)];
  switch (answer) {
    case "allow":
      return allow("StrategyNone");
    case "shutdown": {
      // A VM that is not migratable can still have an unfinished migration, for example to another namespace or
      // cluster. A shutdown would cancel this migration.
      if (hasMigration(f)) return deny(f, "Migrating", MESSAGE.Migrating(vmi));
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
  const { vmi, strategy } = f;
  if (vmi.nodeName === undefined) return deny(f, "NotScheduled", MESSAGE.NotScheduled(vmi));
  const { joined, backingOff } = knownEvacuations(f);
  if (joined === undefined && backingOff !== undefined) {
    const { phase = "Abandoned", nextAttemptTime } = backingOff.status;
    return deny(f, "BackingOff", MESSAGE.BackingOff(vmi, phase, secondsUntil(nextAttemptTime, f.now)));
  }
  const next = MIGRATES[strategy] ? MESSAGE.evacuates(vmi) : MESSAGE.waitsForController(vmi, strategy);
  const { actions, events } = joinOrCreate(f, joined, next);
  const message = MESSAGE.EvacuationTriggered(vmi);
  return { verdict: "Deny", reason: "EvacuationTriggered", message, actions: [...actions, ...budgetOf(f)], events };
}

/**
 * Answers an eviction of a VM that is already moving. If the VM has no Evacuation, creates an Evacuation that records
 * the requester.
 */
function inProgress(f: LiveEviction): EvictionDecision {
  const { vmi } = f;
  const { joined, backingOff } = knownEvacuations(f);
  const isNamed = joined !== undefined && !hasNoRequester(joined);
  const ended = joined === undefined ? backingOff?.status.phase : undefined;
  const message = MESSAGE.EvacuationInProgress(vmi, ended) + (MIGRATES[f.strategy] ? "" : controllersPart(joined));
  const answer = { verdict: "Deny", reason: "EvacuationInProgress", message } as const;
  if (isNamed) return { ...answer, actions: addRequester(joined, f.request.username), events: [] };
  const { actions, events } = joinOrCreate(f, joined, MESSAGE.markedByKubeVirt(vmi));
  return { ...answer, actions: [...actions, ...budgetOf(f)], events };
}

function knownEvacuations({ vmi, pod, evacuations, now }: LiveEviction) {
  const joined = activeEvacuation(vmi, evacuations, pod.uid);
  return { joined, backingOff: backingOffEvacuation(vmi, evacuations, { now, podUID: pod.uid }) };
}

function joinOrCreate(f: LiveEviction, joined: EvacuationFacts | undefined, next: string): Answer {
  const { vmi, pod, request } = f;
  const asked = { cause: request.cause, requestedBy: request.username, pod: { name: pod.name, uid: pod.uid } };
  const evacuation = joined === undefined ? newEvacuation(vmi, asked, f) : withRequester(joined, request.username);
  const message = MESSAGE.asked(request.username, pod, next);
  return {
    actions:
      joined === undefined || hasNoRequester(joined)
        ? [{ verb: "CreateEvacuation", evacuation, optional: true }]
        : addRequester(joined, request.username),
    events: [recordEvent(vmi, "EvacuationTriggered", message, evacuation.name)],
  };
}
