/**
 * Evacuation policy: what to do next about every VM that has to leave its node.
 * Owns: the actions for each standing, and beginning what KubeVirt or a taint asks for. Does not own: recognising standings
 * (standing.ts), budgets (budget.ts), requests.
 *
 * KubeVirt's migration controller is the queue: it holds every migration, whoever created it, until both of its limits
 * allow it. So nothing here counts migrations, and a VM that may migrate is never made to wait for another one.
 */
import { type Action, tell } from "./action.ts";
import { backoffSeconds, type MigrationQueue, secondsAfter } from "./attempt.ts";
import { isReadyForMigration } from "./budget.ts";
import { URGENCY } from "./cause.ts";
import { carriesDrainTaint } from "./drain-taint.ts";
import { activeEvacuation, newEvacuation, restingEvacuation } from "./evacuation-identity.ts";
import { type Change, isChanged, statusAfter } from "./evacuation-status.ts";
import {
  type BudgetFacts,
  type EvacuationFacts,
  isFinal,
  keyOf,
  type MigrationFacts,
  type NodeFacts,
  type PodFacts,
  type VmiFacts,
} from "./facts.ts";
import { hash8 } from "./hash.ts";
import { markActions } from "./mark.ts";
import { canMigrate, isMarked, strategyOf } from "./marked.ts";
import { NAME_PREFIX } from "./names.ts";
import { derivedName } from "./naming.ts";
import { isActive } from "./phase.ts";
import type { Plan } from "./plan.ts";
import type { Settings } from "./settings.ts";
import { type Standing, standingOf } from "./standing.ts";

export interface EvacuationWorld {
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs, ended ones included; and those whose VMI is missing. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Of the VMIs under evacuation. */
  readonly migrations: readonly MigrationFacts[];
  /** Of these VMIs. */
  readonly budgets: readonly BudgetFacts[];
  /** Launcher pods of the VMIs, where a rule needs them: see `needsPods`. */
  readonly pods: readonly PodFacts[];
  /** The VMIs' nodes, where a rule needs them: see `needsNode`. */
  readonly nodes: readonly NodeFacts[];
  /** By node. Absent: nobody has looked. */
  readonly queues?: ReadonlyMap<string, MigrationQueue>;
  /** Whether the VMIs were read after the Evacuations. */
  readonly vmisAreNewer: boolean;
  readonly settings: Settings;
  readonly now: Date;
}

export function planEvacuations(w: EvacuationWorld): Plan {
  if (!w.settings.reconcilers.evacuation) return { chains: [] };
  const begun = w.vmis.map((vmi) => begin(vmi, w));
  const carriedOn = w.evacuations.filter(isActive).map((evacuation) => next(evacuation, w));
  const chains = [...begun, ...carriedOn].filter((chain) => chain.length > 0);
  return { chains, again: chains.some((chain) => chain.some(hasConsequences)) };
}

/** A mark or a migration is KubeVirt's to act on; a new Evacuation, a failed attempt and an end are ours. */
function hasConsequences(action: Action): boolean {
  return action.verb === "CreateEvacuation" || (action.verb === "WriteStatus" && action.status.phase === "BackingOff");
}

/** A mark by KubeVirt's webhook, or the drain taint, for which there is no Evacuation yet. */
function begin(vmi: VmiFacts, w: EvacuationWorld): readonly Action[] {
  const { settings, now } = w;
  if (vmi.nodeName === undefined || strategyOf(vmi, settings) === "None" || vmi.deleting || isFinal(vmi)) return [];
  const evacuations = ofVmi(w.evacuations, vmi);
  if (activeEvacuation(vmi, evacuations) !== undefined) return [];
  const node = w.nodes.find(({ name }) => name === vmi.nodeName);
  const byTaint = !isMarked(vmi) && node !== undefined && carriesDrainTaint(node, settings) && canMigrate(vmi, settings);
  if (!byTaint && !isMarked(vmi)) return [];
  if (byTaint && restingEvacuation(vmi, evacuations, { now }) !== undefined) return [];
  const beginning = byTaint
    ? ({ cause: "DrainTaint", requestedBy: `taint ${settings.drainTaintKey}` } as const)
    : ({ cause: vmi.evictionSource === "descheduler" ? "Descheduler" : "ApiEviction", requestedBy: "KubeVirt" } as const);
  const evacuation = newEvacuation(vmi, beginning, { evacuations, now });
  const told = byTaint
    ? `node ${vmi.nodeName} carries the drain taint ${settings.drainTaintKey}: evacuating the VM`
    : `found marked for evacuation from node ${vmi.nodeName} (cause ${evacuation.spec.cause})`;
  return [{ verb: "CreateEvacuation", evacuation }, tell(vmi, "EvacuationAdopted", told, evacuation.name)];
}

function ofVmi(evacuations: readonly EvacuationFacts[], { namespace, name }: VmiFacts): readonly EvacuationFacts[] {
  return evacuations.filter((e) => e.namespace === namespace && e.spec.vmiName === name);
}

/** One Evacuation with its VMI, as far as that exists, and what is known around them. */
interface Pair {
  readonly e: EvacuationFacts;
  readonly vmi?: VmiFacts;
  readonly migrations: readonly MigrationFacts[];
  readonly w: EvacuationWorld;
}

function next(e: EvacuationFacts, w: EvacuationWorld): readonly Action[] {
  const vmi = w.vmis.find(({ namespace, name }) => namespace === e.namespace && name === e.spec.vmiName);
  const migrations = vmi === undefined ? [] : w.migrations.filter((m) => isOfVmi(m, vmi));
  const node = vmi && w.nodes.find(({ name }) => name === vmi.nodeName);
  const queue = w.queues?.get(vmi?.nodeName ?? "");
  const standing = standingOf({
    evacuation: e,
    ...(vmi && { vmi }),
    siblings: vmi === undefined ? [] : ofVmi(w.evacuations, vmi),
    migrations,
    launchers: vmi === undefined ? [] : w.pods.filter((pod) => pod.namespace === vmi.namespace),
    ...(node && { node }),
    ...(queue && { queue }),
    vmiIsNewer: w.vmisAreNewer,
    settings: w.settings,
    now: w.now,
  });
  return actionsFor(standing, { e, ...(vmi && { vmi }), migrations, w });
}

function isOfVmi(m: MigrationFacts, vmi: VmiFacts): boolean {
  return keyOf({ namespace: m.namespace, name: m.vmiName }) === keyOf(vmi);
}

/** The VMI is there for every standing but `Gone`. */
function actionsFor(standing: Standing, pair: Pair): readonly Action[] {
  const { vmi } = pair;
  if (standing.standing === "Gone" || vmi === undefined) {
    const why = standing.standing === "Gone" ? standing.why : "";
    return end(pair, { phase: "Gone", reason: "VirtualMachineInstanceGone", message: why });
  }
  return forLive(standing, { ...pair, vmi });
}

type LivePair = Pair & { readonly vmi: VmiFacts };

function forLive(standing: Exclude<Standing, { standing: "Gone" }>, pair: LivePair): readonly Action[] {
  switch (standing.standing) {
    case "Duplicate": {
      const message = `Evacuation ${standing.of.name} of the same pod goes on`;
      return end(pair, { phase: "Duplicate", reason: "Duplicate", message });
    }
    case "Moved":
      return moved(pair, standing.targetNode);
    case "Withdrawn":
      return withdrawn(pair, standing);
    case "GivenUp":
    case "Impossible":
      return abandoned(pair, standing);
    case "AttemptFailed":
    case "Stuck":
      return attemptFailed(pair, standing);
    case "Migrating":
      return migrating(pair, standing.migration);
    case "Unmarked":
      return [...mark(pair), ...write(pair, pending("the VM is being marked for KubeVirt to migrate it"))];
    case "Ready":
      return ready(pair);
    case "LeftToKubeVirt":
      return write(pair, pending("KubeVirt's evacuation controller migrates the VM"));
    case "BackingOff":
      return write(pair, { phase: "BackingOff", ...keptWords(pair.e) });
    case "WaitingForOwner": {
      const message = "eviction strategy External: whoever manages the VM moves it";
      return write(pair, { phase: "WaitingForOwner", reason: "External", message });
    }
    case "Blocked":
      return blocked(pair, standing);
  }
}

function pending(message: string): Change {
  return { phase: "Pending", reason: "Pending", message };
}

function keptWords({ status, spec }: EvacuationFacts): Pick<Change, "reason" | "message" | "more"> {
  const { reason = "Inherited", message = "an earlier evacuation of this pod was abandoned a moment ago" } = status;
  const notBefore = status.nextAttemptTime ?? spec.inherited?.notBefore;
  return { reason, message, ...(notBefore === undefined ? {} : { more: { nextAttemptTime: notBefore } }) };
}

/** The write, if there is anything new to say. An inherited number of attempts is where counting begins. */
function write({ e, vmi, w }: Pair, change: Change): readonly Action[] {
  const attempts = Math.max(e.status.attempts, e.spec.inherited?.attempts ?? 0);
  const status = statusAfter(e, vmi, { ...change, more: { attempts, ...change.more } }, w.now);
  return isChanged(e.status, status) ? [{ verb: "WriteStatus", evacuation: e, status }] : [];
}

/** Counted by the function that writes it, after that write: at most once. */
function end(pair: Pair, change: Change & { readonly phase: "Moved" | "Abandoned" | "Withdrawn" | "Duplicate" | "Gone" }) {
  const { cause } = pair.e.spec;
  return [...write(pair, change), { verb: "Count", cause, outcome: change.phase } as const];
}

function mark({ e, vmi, w }: LivePair): readonly Action[] {
  return markActions(vmi, e.spec.cause, w.settings);
}

/** KubeVirt clears the mark itself when a VM has moved; the label is ours to remove. */
function moved(pair: LivePair, targetNode = pair.vmi.nodeName): readonly Action[] {
  const { e, vmi } = pair;
  const { cause } = e.spec;
  const from = e.status.sourceNode ?? "its node";
  const message = `moved from node ${from} to node ${targetNode}`;
  const isLeft = vmi.evacuationLabel !== undefined || (vmi.evacuationNodeName !== undefined && !isMarked(vmi));
  return [
    ...(isLeft && !isMarked(vmi) ? [{ verb: "Unmark", vmi } as const] : []),
    ...end(pair, { phase: "Moved", reason: "Moved", message, more: targetNode === undefined ? {} : { targetNode } }),
    tell(vmi, "Evacuated", `${message} (cause ${cause})`, e.uid),
  ];
}

function unmark({ vmi }: LivePair): readonly Action[] {
  return isMarked(vmi) || vmi.evacuationLabel !== undefined ? [{ verb: "Unmark", vmi }] : [];
}

/**
 * Migrations of this evacuation that have not begun to move the guest. One that has is left to finish: it does no harm,
 * and to abort it could.
 */
function deletions({ e, migrations }: LivePair): readonly Action[] {
  return migrations
    .filter((m) => !isFinal(m) && !m.deleting && m.phase !== "Running")
    .filter((m) => m.evacuates !== undefined || m.uid === e.status.migration?.uid || m.cause !== undefined)
    .map((migration) => ({ verb: "DeleteMigration", migration }));
}

function withdrawn(pair: LivePair, { by, why }: Extract<Standing, { standing: "Withdrawn" }>): readonly Action[] {
  const { e, vmi, w } = pair;
  const rest = { nextAttemptTime: secondsAfter(w.now, backoffSeconds(e.status.attempts, w.settings)) };
  const change = { phase: "Withdrawn", reason: `${by}Withdrawn`, message: why } as const;
  return [
    ...unmark(pair),
    ...deletions(pair),
    // A taint that comes back begins anew at once.
    ...end(pair, by === "Taint" ? change : { ...change, more: rest }),
    tell(vmi, "EvacuationCancelled", `evacuation from node ${vmi.nodeName} ends: ${why}`, e.uid),
  ];
}

function abandoned(pair: LivePair, standing: Extract<Standing, { standing: "GivenUp" | "Impossible" }>) {
  const { e, vmi, w } = pair;
  const { attempts, message = "", reason = "MigrationFailed" } = e.status;
  const why = standing.standing === "Impossible" ? standing.why : `${attempts} attempts have failed; the last one: ${message}`;
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
function attemptFailed(pair: LivePair, standing: Extract<Standing, { standing: "AttemptFailed" | "Stuck" }>) {
  const { e, vmi, w } = pair;
  const failed = standing.standing === "Stuck" ? [standing.migration] : standing.failed;
  const attempts = Math.max(e.status.attempts, e.spec.inherited?.attempts ?? 0) + failed.length;
  const last = failed.at(-1);
  const reason = standing.standing === "Stuck" ? "MigrationStuck" : "MigrationFailed";
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  const counted = last === undefined ? {} : { lastFailedMigration: { name: last.name, uid: last.uid } };
  const { maxAttempts } = w.settings.evacuation;
  const told = `attempt ${attempts} of ${maxAttempts} to move the VM off node ${vmi.nodeName} failed: ${standing.why}`;
  return [
    ...(standing.standing === "Stuck" ? [{ verb: "DeleteMigration", migration: standing.migration } as const] : []),
    ...write(pair, { phase: "BackingOff", reason, message: standing.why, more: { attempts, nextAttemptTime, ...counted } }),
    tell(vmi, "MigrationFailed", told, `${e.uid}-${attempts}`),
  ];
}

/** KubeVirt's own migration, or another party's, becomes this evacuation's. */
function migrating(pair: LivePair, migration: MigrationFacts): readonly Action[] {
  const { e, vmi } = pair;
  const { name, uid, phase } = migration;
  const isQueued = phase === "" || phase === "Pending";
  const message = isQueued ? `migration ${name} waits in KubeVirt's queue` : `migration ${name} moves the VM`;
  const isNew = e.status.migration?.uid !== uid;
  const adopt = isNew && migration.cause === undefined && !migration.deleting;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (cause ${e.spec.cause})`;
  return [
    ...(adopt ? [{ verb: "AdoptMigration", migration, evacuation: e } as const] : []),
    ...write(pair, {
      phase: "Migrating",
      reason: isQueued ? "Queued" : "Running",
      message,
      more: { migration: { name, uid }, ...(migration.targetNode === undefined ? {} : { targetNode: migration.targetNode }) },
    }),
    ...(adopt ? [tell(vmi, "MigrationAdopted", told, uid)] : []),
  ];
}

function blocked(pair: LivePair, { reason, why }: Extract<Standing, { standing: "Blocked" }>): readonly Action[] {
  const change = { phase: "Blocked", reason, message: why } as const;
  const told = `cannot leave node ${pair.vmi.nodeName}: ${why}`;
  const written = write(pair, change);
  return written.length === 0 ? [] : [...written, tell(pair.vmi, "NotMigratable", told, `${pair.e.uid}-${reason}`)];
}

/** KubeVirt's evacuation controller has not acted: a migration of our own, in KubeVirt's queue like any other. */
function ready(pair: LivePair): readonly Action[] {
  const { e, vmi, w } = pair;
  if (!isReadyForMigration(vmi, w.budgets, w.settings)) {
    return write(pair, pending("waits until the VM's disruption budget has grown"));
  }
  const name = migrationName(e, vmi);
  const { maxAttempts } = w.settings.evacuation;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (attempt ${e.status.attempts + 1} of ${maxAttempts})`;
  return [
    { verb: "CreateMigration", vmi, name, evacuation: e },
    ...write(pair, pending(`migration ${name} has been created`)),
    tell(vmi, "MigrationCreated", told, name),
  ];
}

function migrationName(e: EvacuationFacts, vmi: VmiFacts): string {
  return derivedName(NAME_PREFIX, vmi.name, `${hash8(e.uid)}-${e.status.attempts + 1}`);
}

/** KubeVirt's admission, or another one, refuses the migration for good: a failed attempt. */
export function refusedMigration(e: Pick<EvacuationFacts, "name">, vmi: VmiFacts, w: EvacuationWorld): readonly Action[] {
  const evacuation = w.evacuations.find(({ namespace, name }) => namespace === vmi.namespace && name === e.name);
  if (evacuation === undefined) return [];
  const pair = { e: evacuation, vmi, migrations: [], w };
  const attempts = evacuation.status.attempts + 1;
  const nextAttemptTime = secondsAfter(w.now, backoffSeconds(attempts, w.settings));
  const message = "the migration was refused when it was created";
  const told = `attempt ${attempts} of ${w.settings.evacuation.maxAttempts} to move the VM off node ${vmi.nodeName} failed: ${message}`;
  return [
    ...write(pair, { phase: "BackingOff", reason: "MigrationRefused", message, more: { attempts, nextAttemptTime } }),
    tell(vmi, "MigrationRefused", told, `${evacuation.uid}-${attempts}`),
  ];
}

/** Whether the node of its VMI tells if it goes on. */
export function needsNode({ spec }: EvacuationFacts): boolean {
  return spec.cause === "DrainTaint" || spec.cause === "NoExecuteTaint";
}

/** Whether the pods of its VMI do: the tolerations of the one that has to leave, the fate of the one it may move to. */
export function needsPods({ spec }: EvacuationFacts, migrations: readonly MigrationFacts[]): boolean {
  return spec.cause === "NoExecuteTaint" || migrations.some((m) => m.phase === "Scheduling");
}

/** What has ended long ago; the newest one of a pod that the VM still runs in is kept, for its name counts on. */
export function planHistory({ evacuations, vmis, settings, now }: EvacuationWorld): Plan {
  const old = now.getTime() - settings.evacuation.historySeconds * 1000;
  const expired = evacuations.filter((e) => !isActive(e) && Date.parse(e.status.completionTime ?? "") < old);
  const living = new Set(vmis.flatMap((vmi) => Object.keys(vmi.activePods)));
  const removed = expired.filter((e) => !living.has(e.status.podUID ?? ""));
  return { chains: removed.map((evacuation) => [{ verb: "DeleteEvacuation", evacuation } as const]) };
}

/** The label that is to be on a VMI whose evacuation is urgent. */
export function isUrgent(e: EvacuationFacts): boolean {
  return URGENCY[e.spec.cause] === "urgent";
}
