/** What is in the way of emptying a node, in groups: the same reason once, with everything it holds up. */
import { REMEDY } from "../preflight/remedies.ts";
import type { PodVerdict } from "../preflight/result.ts";
import { isBlocked, type Subject } from "./subjects.ts";

/**
 * `Blocked`: nothing but a person ends it. `NoRoom`: no other node has room for the VM. `Waits`: it may end by itself. `ShutsDown`: it is in
 * nobody's way, but a guest ends.
 */
export const KINDS = ["Blocked", "NoRoom", "Waits", "ShutsDown"] as const;
export type BlockerKind = (typeof KINDS)[number];

export interface Blocker {
  readonly kind: BlockerKind;
  readonly reason: string;
  readonly remedy?: string;
  /** At least one; each with its own message. */
  readonly held: readonly { readonly subject: Subject; readonly message: string }[];
}

/** `roomOf`: what a preflight has found for a pod, which may be some time ago. */
export function blockersOf(
  subjects: readonly Subject[],
  roomOf: (pod: PodVerdict) => PodVerdict["room"] = ({ room }) => room,
): readonly Blocker[] {
  const groups = new Map<string, Blocker>();
  for (const subject of subjects) {
    const found = blockerOf(subject, roomOf(subject.verdict));
    if (found === undefined) continue;
    const known = groups.get(`${found.kind} ${found.reason}`);
    groups.set(`${found.kind} ${found.reason}`, known ? { ...known, held: [...known.held, ...found.held] } : found);
  }
  return [...groups.values()].toSorted(
    (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || b.held.length - a.held.length,
  );
}

function blockerOf(subject: Subject, room: PodVerdict["room"]): Blocker | undefined {
  const kind = kindOf(subject, room);
  if (kind === undefined) return undefined;
  const { reason, remedy } = isFailing(subject) ?? subject.verdict;
  const held = [{ subject, message: messageOf(kind, subject, room) }];
  if (kind === "NoRoom") return { kind, reason: "NoRoom", held };
  return { kind, reason, ...(remedy !== undefined && { remedy }), held };
}

function kindOf(subject: Subject, room: PodVerdict["room"]): BlockerKind | undefined {
  const { verdict, vmi } = subject;
  // Of a budget's pods one is replaced after the other, in every drain.
  if (isBlocked(subject)) return verdict.reason === "BudgetExhausted" ? "Waits" : "Blocked";
  if (vmi?.isMigrating === true) return undefined;
  if (room?.fits === false) return "NoRoom";
  if (verdict.outcome === "ShutsDown") return "ShutsDown";
  return isFailing(subject) !== undefined || isHeldUp(verdict) ? "Waits" : undefined;
}

/** Not for its turn only. */
function isHeldUp({ outcome, remedy }: PodVerdict): boolean {
  return outcome === "Waits" && remedy !== undefined;
}

/** To an eviction these are as any other VM that is to move; a person wants to know why nothing moves. */
function isFailing({ evacuation, verdict }: Subject): Pick<Blocker, "reason" | "remedy"> | undefined {
  if (verdict.outcome !== "Moves" && verdict.reason !== "BackingOff") return undefined;
  const { phase } = evacuation?.status ?? {};
  return phase === "BackingOff" || phase === "Abandoned" ? { reason: phase, remedy: REMEDY[phase] } : undefined;
}

function messageOf(kind: BlockerKind, subject: Subject, room: PodVerdict["room"]): string {
  const { verdict, evacuation } = subject;
  if (kind === "NoRoom") return room?.message ?? "";
  // What the Evacuation says tells more than what an eviction is answered, but for a refusal that is not Lifeboat's.
  return kind === "Waits" && !isBlocked(subject) ? (evacuation?.status.message ?? verdict.message) : verdict.message;
}
