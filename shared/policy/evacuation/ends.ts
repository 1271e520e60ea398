/** How an evacuation ends, and how an attempt of it fails. */
import { type Action, type StoryReason, tell } from "../action.ts";
import { backoffSeconds, succeeded } from "./attempt.ts";
import { type EvacuationFacts, type EvacuationStatus, isFinal, type MigrationFacts, type VmiFacts } from "../facts.ts";
import { activeEvacuation, isAbout } from "./identity.ts";
import { isMadeUrgent } from "./convergence.ts";
import { isMarked } from "./mark.ts";
import { NAME_PREFIX } from "../names.ts";
import type { Standing } from "./standing.ts";
import { carriesDrainTaint } from "../kube/taints.ts";
import { statusReleased } from "./status.ts";
import { secondsAfter } from "../time.ts";
import { type End, type EvacuationWorld, inheritedAttempts, type LivePair, ofVmi, type Pair, write } from "./world.ts";

type Of<S extends Standing["standing"]> = Extract<Standing, { standing: S }>;

/** KubeVirt clears the mark itself when a VM has moved; the label is ours to remove. */
export function moved(pair: LivePair, { targetNode }: Of<"Moved">): readonly Action[] {
  const { e, vmi } = pair;
  const message = wayOf(e, targetNode);
  const migration = succeeded(e, pair.migrations) ?? arriving(pair);
  const made = migration === undefined ? {} : { migration: { name: migration.name, uid: migration.uid } };
  const more = { ...made, ...(targetNode === undefined ? {} : { targetNode }) };
  return [
    ...endOf(pair, { phase: "Moved", reason: "Moved", message, more }),
    ...(migration === undefined || migration.cause !== undefined
      ? []
      : [{ verb: "AdoptMigration", migration, evacuation: e } as const]),
    tell(vmi, "Evacuated", `${message} (cause ${e.spec.cause})`, e.uid),
  ];
}

/** What there is to take back is left to the next look, which knows that it has ended and what has begun since. */
function endOf(pair: LivePair, change: End): readonly Action[] {
  return write(pair, { ...change, released: leftOf(pair, change).length === 0 });
}

function wayOf({ status: { sourceNode: from } }: EvacuationFacts, targetNode: string | undefined): string {
  const to = targetNode === undefined ? "another namespace or cluster" : `node ${targetNode}`;
  return from === undefined ? `moved to ${to}` : `moved from node ${from} to ${to}`;
}

/** A quick migration is over before a look has seen it, or its end is not written yet: it is named and adopted now. */
function arriving({ vmi, migrations }: LivePair): MigrationFacts | undefined {
  return migrations.find((m) => !isFinal(m) && m.targetNode !== undefined && m.targetNode === vmi.nodeName);
}

/** KubeVirt's for the mark, and ours; what a person or the VM's owner has created is theirs to delete. */
function isOwn({ evacuates, name }: MigrationFacts): boolean {
  return evacuates !== undefined || name.startsWith(NAME_PREFIX);
}

/**
 * What an evacuation leaves that has ended so: its mark and label, and its migrations that have not begun to move the guest. One that has
 * is left to finish: it does no harm, but aborting it could. A mark on a VM that has left the pod, or whose mark was removed, is another
 * one's, and so is what KubeVirt has made for it.
 */
function leftOf({ e, vmi, migrations }: LivePair, { phase, reason }: EndReason): readonly Action[] {
  const isGone = phase === "Moved" || !isAbout(e, vmi);
  if (isMarked(vmi) && (isGone || reason === "MarkWithdrawn")) return [];
  const isLeft = vmi.evacuationNodeName !== undefined || vmi.evacuationLabel !== undefined;
  const unmarked: readonly Action[] = isLeft ? [{ verb: "Unmark", vmi }] : [];
  return isGone ? unmarked : [...unmarked, ...pendingOf(migrations)];
}

type EndReason = Pick<EvacuationStatus, "phase" | "reason">;

function pendingOf(migrations: readonly MigrationFacts[]): readonly Action[] {
  const own = migrations.filter((m) => isOwn(m) && !isFinal(m) && !m.deleting && m.phase !== "Running");
  return own.map((migration) => ({ verb: "DeleteMigration", migration }) as const);
}

/**
 * Takes back what one that has ended has left, and says so: the second half of its end, which another function finishes if the first one
 * dies. Another Evacuation of the same pod waits for it; one of the pod that the guest has moved to keeps all of it.
 */
export function release(pair: Pair): readonly Action[] {
  const { e, vmi, w } = pair;
  const isSame = vmi !== undefined && (e.status.virtualMachineInstanceUID ?? vmi.uid) === vmi.uid && !isFinal(vmi);
  if (!isSame || vmi.deleting) return [said(pair, "the VM has ended")];
  const evacuations = ofVmi(w.evacuations, vmi);
  const other = isAbout(e, vmi) ? undefined : activeEvacuation(vmi, evacuations);
  if (other !== undefined) return [said(pair, `Evacuation ${other.name} goes on`)];
  const left = leftOf({ ...pair, vmi }, e.status);
  const kept = left.some(({ verb }) => verb === "Unmark") ? keptBy(vmi, w) : undefined;
  return [...left, said(pair, kept)];
}

/** Why KubeVirt does not take the mark back although it is asked to. */
function keptBy({ evacuationNodeName: name }: VmiFacts, { nodes, settings }: EvacuationWorld): string | undefined {
  if (name === undefined) return undefined;
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return `KubeVirt keeps the mark: node ${name} is gone`;
  return carriesDrainTaint(node, settings)
    ? `KubeVirt keeps the mark: node ${name} carries the drain taint ${settings.drainTaintKey}`
    : undefined;
}

function said({ e, w }: Pair, why?: string): Action {
  return { verb: "WriteStatus", evacuation: e, status: statusReleased(e, w.now, why) };
}

/** What goes on after the end: the VM may move all the same, which the end says. */
function endWith(pair: LivePair, why: string): Pick<End, "message" | "more"> {
  const left = pair.migrations.find((m) => !isFinal(m) && !m.deleting && (m.phase === "Running" || !isOwn(m)));
  if (left === undefined) return { message: why };
  const { name, uid, phase, targetNode } = left;
  const goesOn =
    phase === "Running"
      ? `migration ${name} already moves the VM, and Lifeboat lets it finish`
      : `migration ${name} is not Lifeboat's to delete, and may still move the VM`;
  const more = { migration: { name, uid }, ...(targetNode === undefined ? {} : { targetNode }) };
  return { message: `${why}; ${goesOn}`, more };
}

export function withdrawn(pair: LivePair, { by, why }: Of<"Withdrawn">): readonly Action[] {
  const { e, vmi, w } = pair;
  const { message, more: left } = endWith(pair, why);
  // A taint or a preemption that comes back begins a new one at once, even if an attempt was backing off.
  const rest = by === "Taint" || by === "Preemption" ? 0 : backoffSeconds(e.status.attempts, w.settings);
  const more = { ...left, nextAttemptTime: secondsAfter(w.now, rest) };
  return [
    ...endOf(pair, { phase: "Withdrawn", reason: `${by}Withdrawn`, message, more }),
    tell(vmi, "EvacuationCancelled", `evacuation from node ${vmi.nodeName} ends: ${message}`, e.uid),
  ];
}

export function abandoned(pair: LivePair, { reason, why, isToRest }: Of<"Hopeless">): readonly Action[] {
  const { e, vmi, w } = pair;
  const rest = secondsAfter(w.now, backoffSeconds(e.status.attempts, w.settings));
  const { message, more: left } = endWith(pair, why);
  const more = { ...left, ...(isToRest && { nextAttemptTime: rest }) };
  return [
    ...endOf(pair, { phase: "Abandoned", reason, message, more }),
    tell(vmi, "EvacuationAbandoned", `evacuation from node ${vmi.nodeName} is abandoned: ${message}`, e.uid),
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

/** The last attempt tries harder. What never began did not fail to converge. */
function strengthened({ e, vmi, w }: LivePair, failures: number): readonly Action[] {
  const isUrgent = isMadeUrgent(vmi, inheritedAttempts(e) + failures, w.settings);
  return isUrgent && isMarked(vmi) ? [{ verb: "Label", vmi, urgency: "urgent" }] : [];
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
