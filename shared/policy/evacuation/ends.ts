/**
 * How an evacuation ends, and how an attempt of it fails.
 * Owns: unmarking, deleting what is pending, counting attempts, the final status. Does not own: noticing (standing.ts).
 */
import { type Action, tell } from "../action.ts";
import { backoffSeconds, secondsAfter, succeeded } from "./attempt.ts";
import { end, type EvacuationWorld, inheritedAttempts, type LivePair, write } from "./world.ts";
import { type EvacuationFacts, type EvacuationStatus, isFinal, type MigrationFacts, type VmiFacts } from "../facts.ts";
import { isMarked } from "./mark.ts";
import { NAME_PREFIX } from "../names.ts";
import type { Standing } from "./standing.ts";

/** KubeVirt clears the mark itself when a VM has moved; the label is ours to remove. */
export function moved(pair: LivePair, targetNode = pair.vmi.nodeName): readonly Action[] {
  const { e, vmi } = pair;
  const { cause } = e.spec;
  const { sourceNode: from } = e.status;
  const message = from === undefined ? `moved to node ${targetNode}` : `moved from node ${from} to node ${targetNode}`;
  const migration = succeeded(e, pair.migrations);
  const isLeft = vmi.evacuationLabel !== undefined || (vmi.evacuationNodeName !== undefined && !isMarked(vmi));
  return [
    ...(isLeft && !isMarked(vmi) ? [{ verb: "Unmark", vmi } as const] : []),
    ...end(pair, {
      phase: "Moved",
      reason: "Moved",
      message,
      more: { ...(targetNode === undefined ? {} : { targetNode }), ...madeBy(migration) },
    }),
    ...(migration === undefined || migration.cause !== undefined ? [] : [adoption(migration, e)]),
    tell(vmi, "Evacuated", `${message} (cause ${cause})`, e.uid),
  ];
}

/** A quick migration is over before a look has seen it. */
function adoption(migration: MigrationFacts, evacuation: EvacuationFacts): Action {
  return { verb: "AdoptMigration", migration, evacuation };
}

function madeBy(migration: MigrationFacts | undefined): Partial<EvacuationStatus> {
  return migration === undefined ? {} : { migration: { name: migration.name, uid: migration.uid } };
}

function unmark({ vmi }: LivePair): readonly Action[] {
  return isMarked(vmi) || vmi.evacuationLabel !== undefined ? [{ verb: "Unmark", vmi }] : [];
}

/**
 * Migrations of this evacuation that have not begun to move the guest. One that has is left to finish: it does no harm,
 * and to abort it could.
 */
function deletions({ migrations }: LivePair): readonly Action[] {
  return (
    migrations
      .filter((m) => !isFinal(m) && !m.deleting && m.phase !== "Running")
      // KubeVirt's for the mark, and ours; what a person or the VM's owner has created is theirs to delete.
      .filter((m) => m.evacuates !== undefined || m.name.startsWith(NAME_PREFIX))
      .map((migration) => ({ verb: "DeleteMigration", migration }))
  );
}

export function withdrawn(
  pair: LivePair,
  { by, why }: Extract<Standing, { standing: "Withdrawn" }>,
): readonly Action[] {
  const { e, vmi, w } = pair;
  // A taint that comes back begins anew at once, though an attempt was backing off.
  const rest = by === "Taint" ? 0 : backoffSeconds(e.status.attempts, w.settings);
  const more = { nextAttemptTime: secondsAfter(w.now, rest) };
  return [
    ...unmark(pair),
    ...deletions(pair),
    ...end(pair, { phase: "Withdrawn", reason: `${by}Withdrawn`, message: why, more }),
    tell(vmi, "EvacuationCancelled", `evacuation from node ${vmi.nodeName} ends: ${why}`, e.uid),
  ];
}

export function abandoned(pair: LivePair, standing: Extract<Standing, { standing: "GivenUp" | "Impossible" }>) {
  const { e, vmi, w } = pair;
  const { attempts, message = "", reason = "MigrationFailed" } = e.status;
  const why =
    standing.standing === "Impossible" ? standing.why : `${attempts} attempts have failed; the last one: ${message}`;
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  return [
    ...unmark(pair),
    ...deletions(pair),
    ...end(pair, {
      phase: "Abandoned",
      reason: standing.standing === "Impossible" ? standing.reason : reason,
      message: why,
      ...(standing.standing === "Impossible" ? {} : { more: { nextAttemptTime } }),
    }),
    tell(vmi, "EvacuationAbandoned", `evacuation from node ${vmi.nodeName} is abandoned: ${why}`, e.uid),
  ];
}

/** One attempt more has failed: back off. After the last one the next look gives up. */
export function attemptFailed(pair: LivePair, standing: Extract<Standing, { standing: "AttemptFailed" | "Stuck" }>) {
  const { e, vmi, w } = pair;
  const failed = standing.standing === "Stuck" ? [standing.migration] : standing.failed;
  const attempts = inheritedAttempts(e) + failed.length;
  const last = failed.at(-1);
  const reason = standing.standing === "Stuck" ? "MigrationStuck" : "MigrationFailed";
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  // One that was stuck is deleted, and what is being deleted does not count.
  const isCounted = last !== undefined && standing.standing === "AttemptFailed";
  const counted = isCounted ? { lastFailedMigration: { name: last.name, uid: last.uid } } : {};
  const { maxAttempts } = w.settings.evacuation;
  const told = `attempt ${attempts} of ${maxAttempts} to move the VM off node ${vmi.nodeName} failed: ${standing.why}`;
  return [
    ...(standing.standing === "Stuck" ? [{ verb: "DeleteMigration", migration: standing.migration } as const] : []),
    ...write(pair, {
      phase: "BackingOff",
      reason,
      message: standing.why,
      more: { attempts, nextAttemptTime, ...counted },
      stalled: false,
    }),
    tell(vmi, "MigrationFailed", told, `${e.uid}-${attempts}`),
  ];
}

/** KubeVirt's admission, or another one, refuses the migration for good: a failed attempt. */
export function refusedMigration(
  e: Pick<EvacuationFacts, "name">,
  vmi: VmiFacts,
  w: EvacuationWorld,
): readonly Action[] {
  const evacuation = w.evacuations.find(({ namespace, name }) => namespace === vmi.namespace && name === e.name);
  if (evacuation === undefined) return [];
  const pair = { e: evacuation, vmi, migrations: [], w };
  const attempts = inheritedAttempts(evacuation) + 1;
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  const message = "the migration was refused when it was created";
  const told = `attempt ${attempts} of ${w.settings.evacuation.maxAttempts} to move the VM off node ${vmi.nodeName} failed: ${message}`;
  return [
    ...write(pair, { phase: "BackingOff", reason: "MigrationRefused", message, more: { attempts, nextAttemptTime } }),
    tell(vmi, "MigrationRefused", told, `${evacuation.uid}-${attempts}`),
  ];
}
