/**
 * Holds a deletion back: for how long, what its caller is told, and the Evacuation that the hold begins with.
 * Owns: hold periods, seats. Does not own: whether to hold (deletion.ts), waiting (functions/deletions/hold-deletion.ts).
 */
import { type Action, tell } from "../action.ts";
import { beginDisruption } from "./disruption-begin.ts";
import {
  type Disruption,
  disruptionIn,
  type KnownDisruption,
  knownDisruptions,
  victimsAround,
} from "./disruption-cause.ts";
import { byAge, podUIDOf } from "../evacuation/identity.ts";
import { type EvacuationFacts, keyOf, type PodFacts, type VmiFacts } from "../facts.ts";
import { isMigrationTarget } from "../kube/pod-kind.ts";
import { isActive } from "../evacuation/phase.ts";
import type { DeletionTerms } from "./node-termination.ts";
import type { Moment } from "../time.ts";

export interface Hold {
  readonly verdict: "Hold";
  /** How long to hold before denying: 0 denies at once. */
  readonly holdSeconds: number;
  readonly message: string;
  /** Done before the hold begins. */
  readonly actions: readonly Action[];
  readonly story: readonly Action[];
}

export interface HoldFacts extends Moment, DeletionTerms {
  /** As it was when the deletion was asked for. */
  readonly pod: PodFacts;
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  /** Launcher pods on its node: at least those whose Evacuation has the cause Preemption. */
  readonly neighbours: readonly PodFacts[];
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Evacuations of the cluster that have not ended, for the holds among them. */
  readonly active: readonly EvacuationFacts[];
  /** How long the API server would wait for the end of a hold. */
  readonly patienceSeconds: number;
}

/** Beyond `maxHolds` a deletion is held this long: a held request occupies one of the API server's seats. */
const CROWDED_HOLD_SECONDS = 1;

export function hold(f: HoldFacts, vmi: VmiFacts, { cause, deadline }: Disruption): Hold {
  const { pod, launcher = pod, settings, now } = f;
  const known = knownDisruptions({ ...f, vmi, podUID: launcher.uid }, now);
  const mine = known.find((one) => one.cause === cause);
  const crowded = isCrowded(f, launcher, mine);
  const until = new Date(deadline).toISOString();
  const leftSeconds = (deadline - now.getTime()) / 1000;
  const longest = Math.min(f.patienceSeconds, leftSeconds, crowded ? CROWDED_HOLD_SECONDS : Infinity);
  const held = {
    verdict: "Hold",
    holdSeconds: settings.guard.mode === "Hold" ? Math.max(longest, 0) : 0,
    message:
      `deletion of pod "${pod.name}" (cause ${cause}) waits until VMI "${vmi.namespace}/${vmi.name}" has moved, ` +
      `until ${until} at the longest`,
  } as const;
  const isBegun = mine !== undefined || known.some(isResting);
  if (isBegun || isLeftUnmarked(f, vmi, { cause, crowded })) return { ...held, actions: [], story: [] };
  const { name, actions } = beginDisruption(
    vmi,
    { cause, deadline, launcher, requestedBy: f.requester },
    f.evacuations,
    f,
  );
  const told =
    `${f.requester} deletes pod ${pod.name} (cause ${cause}): held until the VM has left node ${vmi.nodeName}, ` +
    `until ${until} at the longest`;
  return { ...held, actions, story: [tell(vmi, "DisruptionHeld", told, name)] };
}

/** It has just ended without a move: no new one begins before its back-off is over. */
function isResting({ evacuation }: KnownDisruption): boolean {
  return !isActive(evacuation) && evacuation.status.phase !== "Duplicate";
}

/** Whether `maxHolds` deletions began earlier, by their Evacuations: all functions share nothing else. */
function isCrowded({ active, settings, now }: HoldFacts, { uid }: PodFacts, mine?: KnownDisruption): boolean {
  const ahead = active.filter((other) => {
    if (podUIDOf(other) === uid || !isHeld(other, now)) return false;
    return mine === undefined || byAge(other, mine.evacuation) < 0;
  });
  return ahead.length >= settings.guard.maxHolds;
}

/** While its deadline is ahead, and the VM is marked or about to be. */
function isHeld(evacuation: EvacuationFacts, now: Date): boolean {
  const { phase = "Pending", conditions } = evacuation.status;
  const isAhead = (disruptionIn(evacuation)?.deadline ?? 0) > now.getTime();
  return isAhead && (phase === "Pending" || conditions.some((c) => c.type === "Marked" && c.status === "True"));
}

/**
 * Two kinds of pods are held without a mark. The target of a migration: its VM is not on that node yet, and a later deletion
 * marks it once it is. The later victims of a preemption beyond `maxHolds`: the first one has the Evacuation that outlives the
 * condition. Every VM that a taint drives away is marked, because the taint manager does not come again.
 */
function isLeftUnmarked(
  f: HoldFacts,
  vmi: VmiFacts,
  { cause, crowded }: Pick<Disruption, "cause"> & { readonly crowded: boolean },
): boolean {
  const { pod, launcher = pod } = f;
  return isMigrationTarget(launcher, vmi) || (crowded && cause === "Preemption" && isNextVictim(f));
}

function isNextVictim(f: HoldFacts): boolean {
  const { pod, launcher = pod } = f;
  const own = place(launcher);
  return victimsAround(f).some((other) => other.uid !== launcher.uid && place(other) < own);
}

/** Sorts by time, then by name. */
function place(pod: PodFacts): string {
  return `${new Date(Date.parse(pod.disruptionTarget?.since ?? "") || 0).toISOString()} ${keyOf(pod)}`;
}
