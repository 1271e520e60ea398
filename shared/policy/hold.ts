/**
 * Holding a deletion back: for how long, what is said, and the record that a hold begins with.
 * Owns: hold periods, seats, the record. Does not own: whether to hold (deletion.ts).
 */
import { type Action, tell } from "./action.ts";
import { URGENCY } from "./cause.ts";
import { type GuardCause, guardRecord, isGuardCause, restingGuardRecord } from "./disruption-cause.ts";
import { keyOf, type NamespacedName, type PodFacts, type VmiFacts } from "./facts.ts";
import { markActions } from "./mark.ts";
import { isMigrationTarget } from "./migration-target.ts";
import { beganAt, disruptionRecord, type EvacuationRecord, isActive } from "./record.ts";
import type { GuardMode, Settings } from "./settings.ts";
import { isMarked } from "./stage.ts";
import { victimsAround } from "./victims.ts";

export interface Hold {
  readonly verdict: "Hold";
  /** How long to hold before denying: 0 denies at once. */
  readonly holdSeconds: number;
  readonly message: string;
  /** Done before the hold begins. */
  readonly actions: readonly Action[];
  readonly story: readonly Action[];
}

export interface HoldFacts {
  /** As it was when the deletion was asked for. */
  readonly pod: PodFacts;
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  /** The launcher pods on its node. */
  readonly neighbours: readonly PodFacts[];
  /** VMIs under evacuation in the cluster, for the holds among them. */
  readonly evacuating: readonly VmiFacts[];
  readonly requester: string;
  /** How long the API server would wait for the end of a hold. */
  readonly patienceSeconds: number;
  /** Of the cluster, as in `major.minor`: 1.36 is 36. */
  readonly serverMinor: number;
  readonly settings: Settings;
  readonly now: Date;
}

/** From here on the scheduler preempts asynchronously: a held deletion stops nobody else. */
const ASYNCHRONOUS_PREEMPTION_MINOR = 33;
/** The hold of one too many: a held request occupies one of the API server's seats. */
const CROWDED_HOLD_SECONDS = 1;

interface Terms {
  readonly cause: GuardCause;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly leftSeconds: number;
}

export function hold(f: HoldFacts, vmi: VmiFacts, { cause, since, leftSeconds }: Terms): Hold {
  const { pod, launcher = pod, settings, now } = f;
  const mine = guardRecord(vmi, launcher.uid, now);
  const crowded = isCrowded(f, vmi, mine);
  const deadline = new Date(now.getTime() + leftSeconds * 1000).toISOString();
  const longest = Math.min(f.patienceSeconds, leftSeconds, crowded ? CROWDED_HOLD_SECONDS : Infinity);
  const held = {
    verdict: "Hold",
    holdSeconds: HOLDS[settings.guard.mode](f.serverMinor) ? Math.max(longest, 0) : 0,
    message:
      `deletion of pod "${pod.name}" (cause ${cause}) waits until VMI "${vmi.namespace}/${vmi.name}" has moved, ` +
      `until ${deadline} at the longest`,
  } as const;
  if (mine !== undefined || isLeftUnmarked(f, vmi, { cause, crowded })) return { ...held, actions: [], story: [] };
  const begin = { cause, requestedBy: f.requester, node: vmi.nodeName ?? "", podUID: launcher.uid };
  const record = disruptionRecord(vmi, begin, { since, now });
  const told =
    `${f.requester} deletes pod ${pod.name} (cause ${cause}): held until the VM has left node ${record.node}, ` +
    `until ${deadline} at the longest`;
  const recorded: Action = { verb: "Record", vmi, record, urgency: URGENCY[cause] };
  return {
    ...held,
    actions: isMarked(vmi) ? [recorded] : markActions(vmi, record, f),
    story: [tell(vmi, "DisruptionHeld", told, `${record.id}${record.since}`)],
  };
}

const HOLDS = {
  Off: () => false,
  Deny: () => false,
  Hold: () => true,
  Auto: (serverMinor) => serverMinor >= ASYNCHRONOUS_PREEMPTION_MINOR,
} as const satisfies Record<GuardMode, (serverMinor: number) => boolean>;

/**
 * Whether as many as may be held began earlier. Counted from the records, the only thing that all functions share. Whoever
 * may edit a VMI may edit its record, so only one beside a real mark counts, and only while its deadline lasts.
 */
function isCrowded({ evacuating, settings, now }: HoldFacts, vmi: VmiFacts, mine?: EvacuationRecord): boolean {
  const ahead = evacuating.filter((other) => {
    const { record, uid } = other;
    if (uid === vmi.uid || record === undefined || !isHeld(other, record, { settings, now })) return false;
    return mine === undefined || place(other, record.since) < place(vmi, mine.since);
  });
  return ahead.length >= settings.guard.maxHolds;
}

function isHeld(
  vmi: VmiFacts,
  record: EvacuationRecord,
  { settings, now }: Pick<HoldFacts, "settings" | "now">,
): boolean {
  const { cause } = record;
  if (!isGuardCause(cause) || !isActive(record, vmi.nodeName) || vmi.evacuationNodeName !== vmi.nodeName) return false;
  const began = beganAt(record, now);
  return began !== undefined && (now.getTime() - began) / 1000 < settings.guard.deadlineSeconds[cause];
}

/** Sorts by time, and by name what is of the same time. */
function place(object: NamespacedName, since: string): string {
  return `${new Date(Date.parse(since) || 0).toISOString()} ${keyOf(object)}`;
}

/**
 * Held without a mark: a target whose guest has come over, for the evacuation that brought it is about to end; a disruption
 * whose evacuation has just ended without a move, until that has rested; and the next victims of a preemption when there
 * are enough, for its first one has the record that outlives the condition. What a taint drives away is marked however
 * many there are: the taint manager does not come again.
 */
function isLeftUnmarked(
  f: HoldFacts,
  vmi: VmiFacts,
  { cause, crowded }: { cause: GuardCause; crowded: boolean },
): boolean {
  const { pod, launcher = pod } = f;
  if (isMigrationTarget(launcher, vmi) || restingGuardRecord(vmi, launcher.uid, f) !== undefined) return true;
  return crowded && cause === "Preemption" && isNextVictim(f);
}

function isNextVictim(f: HoldFacts): boolean {
  const { pod, launcher = pod } = f;
  const own = place(launcher, pod.disruptionTarget?.since ?? "");
  const others = victimsAround(f).filter((other) => other.uid !== launcher.uid);
  return others.some((other) => place(other, other.disruptionTarget?.since ?? "") < own);
}
