/**
 * Evacuation policy: what to do next about every VM that has to leave its node.
 *
 * KubeVirt's migration controller is the queue: it holds every migration, its own or not, until both of its limits allow it. So nothing
 * here counts migrations, and a VM that may migrate is never made to wait for another one.
 */
import { type Action, type Plan, tell } from "../action.ts";
import { begin } from "./begin.ts";
import { CAUSE } from "../cause.ts";
import { isReadyForMigration } from "../budget/budget.ts";
import { abandoned, attemptFailed, moved, release, withdrawn } from "./ends.ts";
import { type EvacuationFacts, type MigrationFacts } from "../facts.ts";
import { isReleasePending, podUIDOf } from "./identity.ts";
import { derivedName, hash8 } from "../kube/object-name.ts";
import { isMarked, markActions } from "./mark.ts";
import { NAME_PREFIX } from "../names.ts";
import { isActive, isToBeReleased } from "./phase.ts";
import { type Standing, standingOf } from "./standing.ts";
import type { Change } from "./status.ts";
import { secondsSince } from "../time.ts";
import {
  gone,
  pending,
  type EvacuationWorld,
  inheritedAttempts,
  type LivePair,
  ofVmi,
  type Pair,
  write,
} from "./world.ts";

export function planEvacuations(w: EvacuationWorld): Plan {
  const active = w.evacuations.filter(isActive);
  const free = active.filter((evacuation) => !waitsForRelease(evacuation, w));
  const carriedOn = free.map((evacuation) => next(evacuation, w));
  // A VMI that is older than the Evacuations does not show what has begun since one of them ended.
  const ended = w.vmisAreNewer ? w.evacuations.filter(isToBeReleased) : [];
  const released = ended.map((evacuation) => release(around(evacuation, w)));
  const chains = [...planBeginnings(w).chains, ...carriedOn.filter((chain) => chain.length > 0), ...released];
  return { chains, again: free.length < active.length || chains.some((chain) => chain.some(hasConsequences)) };
}

/**
 * One that follows an ended one of the same pod which is not released yet: the mark that is there is taken back in a moment, maybe by
 * another function. Taken for its own, it would be missing then, as if somebody had removed it.
 */
function waitsForRelease(e: EvacuationFacts, w: EvacuationWorld): boolean {
  const { vmi } = around(e, w);
  return vmi !== undefined && isReleasePending(vmi, ofVmi(w.evacuations, vmi), podUIDOf(e));
}

/** Only what has not begun yet: for a look at many VMs, none of whose migrations are known. */
export function planBeginnings(w: EvacuationWorld): Plan {
  return { chains: w.vmis.map((vmi) => begin(vmi, w)).filter((chain) => chain.length > 0) };
}

/** A mark or a migration is KubeVirt's to act on; a new Evacuation, a failed attempt and an end are ours. */
function hasConsequences(action: Action): boolean {
  if (action.verb !== "WriteStatus") return action.verb === "CreateEvacuation";
  return action.status.phase === "BackingOff" || isToBeReleased(action);
}

function around(e: EvacuationFacts, w: EvacuationWorld): Pair {
  const isOfVmi = (name: string, { namespace }: { readonly namespace: string }) =>
    namespace === e.namespace && name === e.spec.vmiName;
  const vmi = w.vmis.find((one) => isOfVmi(one.name, one));
  const migrations = w.migrations.filter((m) => isOfVmi(m.vmiName, m));
  return { e, migrations, w, ...(vmi && { vmi }) };
}

function next(e: EvacuationFacts, w: EvacuationWorld): readonly Action[] {
  const pair = around(e, w);
  const { vmi } = pair;
  if (vmi !== undefined) return actionsFor({ ...pair, vmi });
  return write(pair, gone("there is no VirtualMachineInstance of this name"));
}

function actionsFor(pair: LivePair): readonly Action[] {
  const found = standingOf(pair);
  switch (found.standing) {
    case "Over":
      return write(pair, found.end);
    case "Moved":
      return moved(pair, found);
    case "Withdrawn":
      return withdrawn(pair, found);
    case "Hopeless":
      return abandoned(pair, found);
    case "AttemptFailed":
      return attemptFailed(pair, found);
    case "Migrating":
      return migrating(pair, found);
    case "Unclear":
      return [];
    case "Unmarked":
      return [...unlessMarked(pair), ...unmarked(pair, found)];
    case "Waiting":
      return write(pair, found.change);
    case "Blocked":
      return blocked(pair, found);
    case "Ready":
      return [...unlessMarked(pair), ...createMigration(pair)];
  }
}

/** KubeVirt's own migration, or another party's, becomes this evacuation's. */
function migrating(
  pair: LivePair,
  { migration, stalled, isHurried, unplaced }: Extract<Standing, { standing: "Migrating" }>,
): readonly Action[] {
  const { e, vmi, w } = pair;
  const { name, uid, targetNode } = migration;
  const more = { migration: { name, uid }, ...(targetNode === undefined ? {} : { targetNode }) };
  const hurried = isHurried ? [{ verb: "SkipBackoff", migration } as const] : [];
  const progress = unplaced === undefined ? progressOf(migration, w.now) : { reason: "NoRoom", message: unplaced };
  const written = [...hurried, ...write(pair, { phase: "Migrating", ...progress, stalled, more })];
  if (e.status.migration?.uid === uid || migration.cause !== undefined || migration.deleting) return written;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (cause ${e.spec.cause})`;
  return [{ verb: "AdoptMigration", migration, evacuation: e }, ...written, tell(vmi, "MigrationAdopted", told, uid)];
}

/** virt-controller gives a new migration its first phase within moments. */
const UNANSWERED_SECONDS = 10;

function progressOf({ name, phase, createdAt }: MigrationFacts, now: Date): Pick<Change, "reason" | "message"> {
  if (phase === "" && secondsSince(createdAt, now) >= UNANSWERED_SECONDS) {
    const message = `KubeVirt has not looked at migration ${name} since it was created: virt-controller does not run, or is far behind`;
    return { reason: "KubeVirtNotAnswering", message };
  }
  if (phase === "Synchronizing") {
    const message = `migration ${name} waits for the namespace or cluster that the VM is sent to; KubeVirt allows no other one`;
    return { reason: "Synchronizing", message };
  }
  if (phase === "" || phase === "Pending") {
    return { reason: "Queued", message: `migration ${name} waits in KubeVirt's queue` };
  }
  if (phase === "Succeeded") return { reason: "Succeeded", message: `migration ${name} has moved the VM` };
  return { reason: "Running", message: `migration ${name} moves the VM` };
}

function unlessMarked({ e, vmi, w }: LivePair): readonly Action[] {
  const { cause } = e.spec;
  return isMarked(vmi) || CAUSE[cause].mark === "NotNeeded" ? [] : markActions(vmi, cause, w.settings);
}

/** Where KubeVirt's eviction webhook is switched off, Lifeboat migrates the VM itself in the end; of an External one it can only tell. */
function unmarked(pair: LivePair, { isOverdue }: Extract<Standing, { standing: "Unmarked" }>): readonly Action[] {
  if (isOverdue) return blocked(pair, { standing: "Blocked", ...NOT_MARKED });
  return write(pair, pending("KubeVirt's eviction webhook marks the VM"));
}

const NOT_MARKED = {
  reason: "NotMarked",
  why: "KubeVirt's eviction webhook has not marked the VM, so that its owner does not learn that it has to move",
} as const;

function blocked(pair: LivePair, { reason, why }: Extract<Standing, { standing: "Blocked" }>): readonly Action[] {
  const told = `cannot leave node ${pair.vmi.nodeName}: ${why}`;
  const written = write(pair, { phase: "Blocked", reason, message: why });
  return written.length === 0 ? [] : [...written, tell(pair.vmi, "NotMigratable", told, `${pair.e.uid}-${reason}`)];
}

/** KubeVirt's evacuation controller has not acted: a migration of our own, in KubeVirt's queue like any other. */
function createMigration(pair: LivePair): readonly Action[] {
  const { e, vmi, w } = pair;
  if (!isReadyForMigration(vmi, w.budgets, w.settings)) {
    return write(pair, pending("waits until the VM's disruption budget has grown"));
  }
  const attempt = inheritedAttempts(e) + 1;
  const name = derivedName(NAME_PREFIX, vmi.name, `${hash8(e.uid)}-${attempt}`);
  const { maxAttempts } = w.settings.evacuation;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (attempt ${attempt} of ${maxAttempts})`;
  return [
    { verb: "CreateMigration", vmi, name, evacuation: e },
    ...write(pair, pending(`migration ${name} has been created`)),
    tell(vmi, "MigrationCreated", told, name),
  ];
}
