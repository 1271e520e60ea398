/**
 * How an evacuation ends, and how an attempt of it fails.
 * Owns: unmarking, deleting what is pending, counting attempts, the final status. Does not own: noticing (standing.ts).
 */
import { type Action, type StoryReason, tell } from "../action.ts";
import { backoffSeconds, succeeded } from "./attempt.ts";
import { type EvacuationFacts, isFinal, type MigrationFacts, type VmiFacts } from "../facts.ts";
import { strongerUrgency } from "./convergence.ts";
import { isMarked } from "./mark.ts";
import { NAME_PREFIX } from "../names.ts";
import type { Standing } from "./standing.ts";
import { secondsAfter } from "../time.ts";
import { end, type EvacuationWorld, inheritedAttempts, type LivePair, write } from "./world.ts";

type Of<S extends Standing["standing"]> = Extract<Standing, { standing: S }>;

/** KubeVirt clears the mark itself when a VM has moved; the label is ours to remove. */
export function moved(pair: LivePair, { targetNode }: Of<"Moved">): readonly Action[] {
  const { e, vmi } = pair;
  const message = wayOf(e, targetNode);
  const isLeft = vmi.evacuationLabel !== undefined || vmi.evacuationNodeName !== undefined;
  const migration = succeeded(e, pair.migrations) ?? arriving(pair);
  const made = migration === undefined ? {} : { migration: { name: migration.name, uid: migration.uid } };
  const more = { ...made, ...(targetNode === undefined ? {} : { targetNode }) };
  return [
    ...(isLeft && !isMarked(vmi) ? [{ verb: "Unmark", vmi } as const] : []),
    ...end(pair, { phase: "Moved", reason: "Moved", message, more }),
    ...(migration === undefined || migration.cause !== undefined
      ? []
      : [{ verb: "AdoptMigration", migration, evacuation: e } as const]),
    tell(vmi, "Evacuated", `${message} (cause ${e.spec.cause})`, e.uid),
  ];
}

function wayOf({ status: { sourceNode: from } }: EvacuationFacts, targetNode: string | undefined): string {
  const to = targetNode === undefined ? "another namespace or cluster" : `node ${targetNode}`;
  return from === undefined ? `moved to ${to}` : `moved from node ${from} to ${to}`;
}

/** A quick migration is over before a look has seen it, or its end is not written yet: it is named and adopted now. */
function arriving({ vmi, migrations }: LivePair): MigrationFacts | undefined {
  return migrations.find((m) => !isFinal(m) && m.targetNode !== undefined && m.targetNode === vmi.nodeName);
}

/**
 * Unmarks, and deletes the migrations of this evacuation that have not begun to move the guest. One that has is left to
 * finish: it does no harm, but aborting it could.
 */
function released({ vmi, migrations }: LivePair): readonly Action[] {
  const waiting = migrations.filter((m) => !isFinal(m) && !m.deleting && m.phase !== "Running");
  // KubeVirt's for the mark, and ours; what a person or the VM's owner has created is theirs to delete.
  const own = waiting.filter((m) => m.evacuates !== undefined || m.name.startsWith(NAME_PREFIX));
  const isLeft = isMarked(vmi) || vmi.evacuationLabel !== undefined;
  return [
    ...(isLeft ? [{ verb: "Unmark", vmi } as const] : []),
    ...own.map((migration) => ({ verb: "DeleteMigration", migration }) as const),
  ];
}

export function withdrawn(pair: LivePair, { by, why }: Of<"Withdrawn">): readonly Action[] {
  const { e, vmi, w } = pair;
  // A taint or a drain that comes back begins a new one at once, even if an attempt was backing off.
  const rest = by === "Taint" || by === "Uncordon" ? 0 : backoffSeconds(e.status.attempts, w.settings);
  const more = { nextAttemptTime: secondsAfter(w.now, rest) };
  return [
    ...released(pair),
    ...end(pair, { phase: "Withdrawn", reason: `${by}Withdrawn`, message: why, more }),
    tell(vmi, "EvacuationCancelled", `evacuation from node ${vmi.nodeName} ends: ${why}`, e.uid),
  ];
}

export function abandoned(pair: LivePair, { reason, why, isToRest }: Of<"Hopeless">): readonly Action[] {
  const { e, vmi, w } = pair;
  const rest = secondsAfter(w.now, backoffSeconds(e.status.attempts, w.settings));
  const more = isToRest ? { nextAttemptTime: rest } : {};
  return [
    ...released(pair),
    ...end(pair, { phase: "Abandoned", reason, message: why, more }),
    tell(vmi, "EvacuationAbandoned", `evacuation from node ${vmi.nodeName} is abandoned: ${why}`, e.uid),
  ];
}

/** After the last attempt the next look gives up. A stuck migration is deleted, and then it does not count again. */
export function attemptFailed(pair: LivePair, { failed, isStuck, why }: Of<"AttemptFailed">): readonly Action[] {
  const last = failed.at(-1);
  const counted = last === undefined || isStuck ? {} : { lastFailedMigration: { name: last.name, uid: last.uid } };
  const reason = isStuck ? "MigrationStuck" : "MigrationFailed";
  return [
    ...(isStuck ? failed.map((migration) => ({ verb: "DeleteMigration", migration }) as const) : []),
    ...backOff(pair, { failures: failed.length, reason, why, counted, story: "MigrationFailed" }),
    ...(isStuck ? [] : strengthened(pair, failed.length)),
  ];
}

/** The next attempt tries harder. What never began did not fail to converge; the label needs what a mark needs. */
function strengthened({ e, vmi, w }: LivePair, failures: number): readonly Action[] {
  const attempts = inheritedAttempts(e) + failures;
  const isTriedAgain = attempts < w.settings.evacuation.maxAttempts;
  const urgency = strongerUrgency(vmi, attempts);
  if (urgency === undefined || !isTriedAgain || !isMarked(vmi) || w.settings.marking === "Evict") return [];
  return [{ verb: "Mark", vmi, urgency }];
}

/** KubeVirt's admission, or another one, refuses the migration for good: a failed attempt. */
export function refusedMigration(
  { name }: Pick<EvacuationFacts, "name">,
  vmi: VmiFacts,
  w: EvacuationWorld,
): readonly Action[] {
  const e = w.evacuations.find((one) => one.namespace === vmi.namespace && one.name === name);
  if (e === undefined) return [];
  const why = "the migration was refused when it was created";
  const refused = { failures: 1, reason: "MigrationRefused", why, counted: {}, story: "MigrationRefused" } as const;
  return backOff({ e, vmi, migrations: [], w }, refused);
}

interface Failure {
  readonly failures: number;
  readonly reason: string;
  readonly why: string;
  readonly counted: Pick<EvacuationFacts["status"], "lastFailedMigration">;
  readonly story: StoryReason;
}

function backOff(pair: LivePair, { failures, reason, why, counted, story }: Failure): readonly Action[] {
  const { e, vmi, w } = pair;
  const { maxAttempts } = w.settings.evacuation;
  const attempts = inheritedAttempts(e) + failures;
  const more = { ...counted, attempts, nextAttemptTime: secondsAfter(w.now, backoffSeconds(attempts, w.settings)) };
  const told = `attempt ${attempts} of ${maxAttempts} to move the VM off node ${vmi.nodeName} failed: ${why}`;
  return [
    ...write(pair, { phase: "BackingOff", reason, message: why, more, stalled: false }),
    tell(vmi, story, told, `${e.uid}-${attempts}`),
  ];
}
