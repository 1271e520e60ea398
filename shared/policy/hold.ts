/**
 * Holding a deletion back: for how long, what is said, and the record that a hold begins with.
 * Owns: hold periods, seats, the record. Does not own: whether to hold (deletion.ts).
 */
import { type Action, tell } from "./action.ts";
import { URGENCY } from "./cause.ts";
import { type GuardCause, guardRecord, isGuardCause } from "./disruption-cause.ts";
import type { PodFacts, VmiFacts } from "./facts.ts";
import { isMigrationTarget } from "./migration-target.ts";
import { beginRecord, type EvacuationRecord, isActive } from "./record.ts";
import type { GuardMode, Settings } from "./settings.ts";

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
  readonly pod: PodFacts;
  readonly launcher?: PodFacts;
  readonly evacuating: readonly VmiFacts[];
  readonly requester: string;
  readonly patienceSeconds: number;
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
  readonly leftSeconds: number;
}

export function hold(f: HoldFacts, vmi: VmiFacts, { cause, leftSeconds }: Terms): Hold {
  const { pod, launcher = pod, settings, now } = f;
  const mine = guardRecord(vmi, launcher.uid);
  const crowded = isCrowded(f, mine !== undefined);
  const deadline = new Date(now.getTime() + leftSeconds * 1000).toISOString();
  const longest = crowded ? CROWDED_HOLD_SECONDS : Math.min(f.patienceSeconds, leftSeconds);
  const held = {
    verdict: "Hold",
    holdSeconds: HOLDS[settings.guard.mode](f.serverMinor) ? Math.max(longest, 0) : 0,
    message:
      `deletion of pod "${pod.name}" (cause ${cause}) waits until VMI "${vmi.namespace}/${vmi.name}" has moved, ` +
      `until ${deadline} at the longest`,
  } as const;
  // A target whose guest has come over needs no mark: the evacuation that brought it is about to end.
  if (mine !== undefined || crowded || isMigrationTarget(launcher, vmi)) return { ...held, actions: [], story: [] };
  const record = recordOf(f, vmi, cause);
  const told =
    `${f.requester} deletes pod ${pod.name} (cause ${cause}): held until the VM has left node ${record.node}, ` +
    `until ${deadline} at the longest`;
  const marked = vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
  return {
    ...held,
    actions: [{ verb: marked ? "Record" : "Mark", vmi, record, urgency: URGENCY[cause] }],
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
 * Counted from the records, the only thing that all functions share. Whoever may edit a VMI may edit its record, so only
 * one beside a real mark counts, and only while its deadline lasts.
 */
function isCrowded({ evacuating, settings, now }: HoldFacts, amongThem: boolean): boolean {
  const { deadlineSeconds, maxHolds } = settings.guard;
  const holds = evacuating.filter(({ record, nodeName, evacuationNodeName }) => {
    if (record === undefined || !isGuardCause(record.cause) || !isActive(record, nodeName)) return false;
    const ageSeconds = (now.getTime() - Date.parse(record.since)) / 1000;
    return evacuationNodeName === nodeName && ageSeconds <= deadlineSeconds[record.cause];
  });
  return holds.length + (amongThem ? 0 : 1) > maxHolds;
}

/** An evacuation under way keeps its id and its attempts, and learns that it has become urgent. */
function recordOf(
  { pod, launcher = pod, requester, now }: HoldFacts,
  vmi: VmiFacts,
  cause: GuardCause,
): EvacuationRecord {
  const begin = { cause, requestedBy: requester, node: vmi.nodeName ?? "", podUID: launcher.uid };
  const fresh = beginRecord(vmi, begin, now);
  const { record } = vmi;
  return record !== undefined && isActive(record, vmi.nodeName) ? { ...record, ...begin, since: fresh.since } : fresh;
}
