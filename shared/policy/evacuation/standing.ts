/** Where one `Evacuation` stands. */
import { delayedByKubeVirt, failedBefore, isBackingOff, kubevirtBackoff, restUntil, restingSince } from "./backoff.ts";
import { blockedBecause, isStalled, succeeded, uncountedFailures, unplacedBecause, whyFailed } from "./attempt.ts";
import { type EvacuationFacts, isFinal, type MigrationFacts, type VmiFacts } from "../facts.ts";
import { activeEvacuation, guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { isMarked } from "./mark.ts";
import { isMarkMissing, isMarkOnItsWay, isTakenBack, wasMarkSeen } from "./missing-mark.ts";
import { isByOwner, waitingForOwner } from "./owner.ts";
import { besideAPersons, isPersons, isSentAway, obstacleOf, pinned } from "./obstacles.ts";
import { preemptionOver } from "./preemption-over.ts";
import { isAskedAgain } from "./retry.ts";
import type { Change } from "./status.ts";
import { resolveStrategy } from "../eviction/eviction-table.ts";
import { secondsSince } from "../time.ts";
import { isWantedBesides, taintGone } from "./taint-gone.ts";
import { type End, gone, type LivePair, ofVmi, pending } from "./world.ts";

export type Standing =
  /** The VM has ended, or an older Evacuation of its pod goes on. */
  | { readonly standing: "Over"; readonly end: End }
  | { readonly standing: "Moved"; readonly targetNode: string | undefined }
  | {
      readonly standing: "Withdrawn";
      readonly by: "Intent" | "Taint" | "Preemption" | "Mark";
      readonly why: string;
    }
  /** Every attempt has failed, and the VM rests before the next evacuation; or nothing could ever move it. */
  | { readonly standing: "Hopeless"; readonly reason: string; readonly why: string; readonly isToRest: boolean }
  /** `isStuck`: an unfinished migration cannot begin, which is as good as failed. */
  | {
      readonly standing: "AttemptFailed";
      readonly failed: readonly MigrationFacts[];
      readonly isStuck: boolean;
      readonly why: string;
    }
  /**
   * `stalled`: KubeVirt has not begun it although it could; undefined where the queue was not read. `isHurried`: a person does not want to
   * wait for KubeVirt's back-off. `unplaced`: why its target pod has no node.
   */
  | {
      readonly standing: "Migrating";
      readonly migration: MigrationFacts;
      readonly stalled?: boolean | undefined;
      readonly isHurried?: true;
      readonly unplaced?: string | undefined;
    }
  /** KubeVirt has not marked it yet. `isOverdue`: an External VM, of which its owner does not learn that it has to move. */
  | { readonly standing: "Unmarked"; readonly isOverdue: boolean }
  /** A mark that was seen is missing, in a VMI that may be older than it. */
  | { readonly standing: "Unclear" }
  | { readonly standing: "Blocked"; readonly reason: string; readonly why: string }
  /** For the VM's owner, for the end of a back-off, or for KubeVirt's evacuation controller, which has time left. */
  | { readonly standing: "Waiting"; readonly change: Change }
  | { readonly standing: "Ready" };

export function standingOf(pair: LivePair): Standing {
  const { e, vmi } = pair;
  const { virtualMachineInstanceUID: uid = vmi.uid } = e.status;
  if (vmi.uid !== uid)
    return { standing: "Over", end: gone("the VirtualMachineInstance has been deleted and made anew") };
  if (vmi.deleting || isFinal(vmi)) return ended(pair);
  return (
    movedOrMoving(pair) ?? duplicate(pair) ?? withdrawn(pair) ?? givenUp(pair) ?? impossible(pair) ?? underWay(pair)
  );
}

function ended({ e, migrations }: LivePair): Standing {
  if (isSentAway(e, migrations)) return { standing: "Moved", targetNode: undefined };
  return { standing: "Over", end: gone("the VM has ended") };
}

/** A migration has succeeded, or the guest runs in another pod than the one that it has to leave. */
function movedOrMoving(pair: LivePair): Standing | undefined {
  const { e, vmi, migrations } = pair;
  const migration = succeeded(e, migrations);
  if (migration === undefined) return isElsewhere(e, vmi) ? { standing: "Moved", targetNode: vmi.nodeName } : undefined;
  if (migration.decentralized !== undefined || lags(pair, migration)) return { standing: "Migrating", migration };
  return { standing: "Moved", targetNode: migration.targetNode ?? vmi.nodeName };
}

/**
 * The VMI will show the new pod in a moment, or end. What was asked for while the VM moved may be about the new pod: on the target node
 * there is no other.
 */
function lags({ e, vmi }: LivePair, { targetNode }: MigrationFacts): boolean {
  const guest = guestPodUID(vmi);
  return guest !== undefined && guest === podUIDOf(e) && vmi.nodeName !== targetNode;
}

/** On another node, or on the same one again, in another pod. */
function isElsewhere(e: EvacuationFacts, vmi: VmiFacts): boolean {
  const [pod, guest] = [podUIDOf(e), guestPodUID(vmi)];
  if (pod !== undefined && guest !== undefined) return pod !== guest;
  const from = e.status.sourceNode ?? sourceNodeOf(e, vmi);
  return vmi.nodeName !== undefined && from !== vmi.nodeName;
}

function duplicate({ e, vmi, w }: LivePair): Standing | undefined {
  const first = activeEvacuation(vmi, ofVmi(w.evacuations, vmi), podUIDOf(e));
  if (first === undefined || first.uid === e.uid) return undefined;
  const message = `Evacuation ${first.name} of the same pod goes on`;
  return { standing: "Over", end: { phase: "Duplicate", reason: "Duplicate", message } };
}

function withdrawn(pair: LivePair): Standing | undefined {
  if (pair.e.spec.intent === "Withdrawn") {
    return { standing: "Withdrawn", by: "Intent", why: "spec.intent is Withdrawn" };
  }
  if (isWantedBesides(pair)) return undefined;
  const why = taintGone(pair);
  if (why !== undefined)
    return isMarkOnItsWay(pair) ? { standing: "Unclear" } : { standing: "Withdrawn", by: "Taint", why };
  const over = preemptionOver(pair);
  return over === undefined ? undefined : { standing: "Withdrawn", by: "Preemption", why: over };
}

/** Attempts that were inherited do not count against a new evacuation: it has at least one of its own. */
function givenUp({ e: { spec, status }, w }: LivePair): Standing | undefined {
  const { attempts, message = "", reason = "MigrationFailed" } = status;
  const hasFailed = attempts > (spec.inherited?.attempts ?? 0);
  if (!hasFailed || attempts < w.settings.evacuation.maxAttempts) return undefined;
  const why = `${attempts} attempts have failed; the last one: ${message}`;
  return { standing: "Hopeless", reason, why, isToRest: true };
}

function hopeless(reason: string, why: string): Standing {
  return { standing: "Hopeless", reason, why, isToRest: false };
}

function impossible({ e, vmi, migrations, w }: LivePair): Standing | undefined {
  const resolved = resolveStrategy(vmi, w.settings);
  if (!resolved.known) {
    const value = resolved.value.slice(0, 64);
    return hopeless("UnknownStrategy", `${resolved.field} is "${value}": KubeVirt knows no such strategy`);
  }
  const { strategy } = resolved;
  if (strategy === "None")
    return hopeless("StrategyNone", "its eviction strategy is None: KubeVirt does not migrate it");
  const byHand = e.spec.cause === "Operator" && !isMarked(vmi) && migrations.every(isFinal);
  if (!byHand || strategy === "External" || vmi.liveMigratable.migratable) return undefined;
  const { reason, why } = pinned(vmi);
  return hopeless(reason, why);
}

function underWay(pair: LivePair): Standing {
  const { e, vmi, migrations } = pair;
  const migration = migrations.find((m) => !isFinal(m));
  const obstacle = obstacleOf(vmi, migration);
  if (obstacle !== undefined) return { standing: "Blocked", ...obstacle };
  const failed = isByOwner(pair) ? [] : uncountedFailures(e, migrations);
  const last = failed.at(-1);
  if (last !== undefined) return { standing: "AttemptFailed", failed, isStuck: false, why: whyFailed(last, vmi) };
  if (migration !== undefined && !(isTakenBack(pair) && migration.phase !== "Running"))
    return migrating(pair, migration);
  return isMarkMissing(pair) ? unmarked(pair) : waiting(pair);
}

function migrating(pair: LivePair, migration: MigrationFacts): Standing {
  const { e } = pair;
  if (isByOwner(pair) || migration.decentralized !== undefined) return { standing: "Migrating", migration };
  if (migration.deleting) {
    // One that was stuck is gone in a moment.
    return migration.phase !== "Running" && isBackingOff(pair) ? backingOff(e) : { standing: "Migrating", migration };
  }
  return delayed(pair, migration) ?? queuedOrRunning(pair, migration);
}

function queuedOrRunning(pair: LivePair, migration: MigrationFacts): Standing {
  const { e, vmi, w } = pair;
  const launchers = w.pods.filter(({ namespace }) => namespace === vmi.namespace);
  const queue = w.queues?.get(vmi.nodeName ?? "");
  const facts = { ...w, vmi, launchers, queue, attempts: e.status.attempts, stalledSince: stalledSince(e, migration) };
  const why = blockedBecause(migration, facts);
  const unplaced = migration.phase === "Scheduling" ? unplacedBecause(migration, facts)?.why : undefined;
  if (why === undefined) return { standing: "Migrating", migration, stalled: isStalled(migration, facts), unplaced };
  // A migration that KubeVirt creates during the back-off is not a new attempt: it is looked at afterwards.
  if (isBackingOff(pair)) return backingOff(e);
  if (isPersons(migration)) return { standing: "Blocked", ...besideAPersons(migration, why) };
  return { standing: "AttemptFailed", failed: [migration], isStuck: true, why };
}

function backingOff(e: EvacuationFacts): Standing {
  return { standing: "Waiting", change: failedBefore(e) };
}

/** Only what KubeVirt has made for an evacuation is hurried: a workload update is its own. */
function delayed(pair: LivePair, migration: MigrationFacts): Standing | undefined {
  const delay = kubevirtBackoff(migration, pair.migrations, pair.w.now);
  if (delay === undefined) return undefined;
  const isHurried = migration.evacuates !== undefined && isAskedAgain(pair, delay.failedAt);
  if (isHurried) return { standing: "Migrating", migration, isHurried };
  return { standing: "Waiting", change: delayedByKubeVirt(pair, migration, delay) };
}

function stalledSince({ status }: EvacuationFacts, { uid }: MigrationFacts): string | undefined {
  const condition = status.conditions.find((one) => one.type === "Stalled" && one.status === "True");
  return uid === status.migration?.uid ? condition?.lastTransitionTime : undefined;
}

function unmarked(pair: LivePair): Standing {
  if (isTakenBack(pair)) return { standing: "Withdrawn", by: "Mark", why: "the mark was removed" };
  return wasMarkSeen(pair) ? { standing: "Unclear" } : waiting(pair);
}

function waiting(pair: LivePair): Standing {
  const { e, vmi } = pair;
  const isUnmarked = isMarkMissing(pair);
  if (isByOwner(pair)) {
    return isUnmarked
      ? { standing: "Unmarked", isOverdue: isLeftAlone(pair) }
      : { standing: "Waiting", change: waitingForOwner(pair) };
  }
  if (!vmi.liveMigratable.migratable) return { standing: "Blocked", ...pinned(vmi) };
  if (isBackingOff(pair)) return backingOff(e);
  // KubeVirt's own migration would wait for KubeVirt's own back-off.
  if (isAskedAgain(pair, restingSince(pair)) || isLeftAlone(pair)) return { standing: "Ready" };
  if (isUnmarked) return { standing: "Unmarked", isOverdue: false };
  return { standing: "Waiting", change: pending("KubeVirt's evacuation controller migrates the VM") };
}

/** KubeVirt has done nothing for it for `adoptSeconds`. */
function isLeftAlone({ e, w }: LivePair): boolean {
  const since = Math.max(e.createdAt, Date.parse(restUntil(e) ?? "") || 0);
  // The API server's clock may be ahead of ours.
  const waited = Math.max(0, secondsSince(since, w.now));
  return waited >= w.settings.evacuation.adoptSeconds;
}
