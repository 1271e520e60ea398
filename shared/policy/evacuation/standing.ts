/**
 * Where one `Evacuation` stands.
 * Owns: the closed list of standings, and which facts mean which, in order. Does not own: what is done about them
 * (evacuation.ts).
 */
import { blockedBecause, isStalled, type MigrationQueue, succeeded, uncountedFailures, whyFailed } from "./attempt.ts";
import { activeEvacuation, guestPodUID, podUIDOf, restSeconds, sourceNodeOf } from "./identity.ts";
import {
  type EvacuationFacts,
  isFinal,
  type MigrationFacts,
  type NodeFacts,
  type PodFacts,
  type VmiFacts,
} from "../facts.ts";
import { carriesDrainTaint, drivingTaint, isAlive } from "../kube/taints.ts";
import { isMarked } from "./mark.ts";
import { MIGRATES, resolveStrategy, strategyOf } from "../strategy.ts";
import type { Settings } from "../settings.ts";

export type Standing =
  | { readonly standing: "Gone"; readonly why: string }
  | { readonly standing: "Duplicate"; readonly of: EvacuationFacts }
  | { readonly standing: "Moved"; readonly targetNode?: string }
  | { readonly standing: "Withdrawn"; readonly by: "Intent" | "Taint" | "Mark"; readonly why: string }
  /** Every attempt has failed, which has been written down. */
  | { readonly standing: "GivenUp" }
  /** Nothing that this evacuation could ever do would move the VM. */
  | { readonly standing: "Impossible"; readonly reason: string; readonly why: string }
  | { readonly standing: "AttemptFailed"; readonly failed: readonly MigrationFacts[]; readonly why: string }
  /** An unfinished migration cannot begin: as good as failed. */
  | { readonly standing: "Stuck"; readonly migration: MigrationFacts; readonly why: string }
  /** `stalled`: KubeVirt has not begun it although it could; undefined where the queue was not read. */
  | { readonly standing: "Migrating"; readonly migration: MigrationFacts; readonly stalled?: boolean }
  | { readonly standing: "Unmarked" }
  /** Without a mark that has been seen, in a VMI that may be older than that. */
  | { readonly standing: "Unclear" }
  | { readonly standing: "WaitingForOwner" }
  | { readonly standing: "Blocked"; readonly reason: string; readonly why: string }
  | { readonly standing: "BackingOff" }
  /** Marked, and KubeVirt's evacuation controller has time left to migrate it. */
  | { readonly standing: "LeftToKubeVirt" }
  | { readonly standing: "Ready" };

export interface StandingFacts {
  readonly evacuation: EvacuationFacts;
  readonly vmi: VmiFacts;
  /** Every Evacuation that names the VMI. */
  readonly siblings: readonly EvacuationFacts[];
  /** Of this VMI. */
  readonly migrations: readonly MigrationFacts[];
  /** Launcher pods of the VMI; none where no rule needs them. */
  readonly launchers: readonly PodFacts[];
  /** The VMI's node; absent where no rule needs it, or there is none. */
  readonly node?: NodeFacts;
  readonly queue?: MigrationQueue;
  /** Whether the VMI was read after the Evacuation: only then does a missing mark mean that it was removed. */
  readonly vmiIsNewer: boolean;
  readonly settings: Settings;
  readonly now: Date;
}

export function standingOf(f: StandingFacts): Standing {
  const { vmi, evacuation } = f;
  const { virtualMachineInstanceUID: uid = vmi.uid } = evacuation.status;
  if (vmi.uid !== uid) return { standing: "Gone", why: "the VirtualMachineInstance has been deleted and made anew" };
  if (vmi.deleting || isFinal(vmi)) return { standing: "Gone", why: "the VM has ended" };
  return ended(f) ?? underWay(f);
}

function ended(f: StandingFacts): Standing | undefined {
  const { evacuation, vmi, siblings } = f;
  const moved = movedOrMoving(f);
  if (moved !== undefined) return moved;
  const first = activeEvacuation(vmi, siblings, podUIDOf(evacuation));
  if (first !== undefined && first.uid !== evacuation.uid) return { standing: "Duplicate", of: first };
  return withdrawn(f) ?? hopeless(f);
}

/** A migration has succeeded, or the guest runs in another pod than the one that it has to leave. */
function movedOrMoving({ evacuation, vmi, migrations }: StandingFacts): Standing | undefined {
  const migration = succeeded(evacuation, migrations);
  const [pod, guest] = [podUIDOf(evacuation), guestPodUID(vmi)];
  if (migration === undefined && !isElsewhere(evacuation, vmi)) return undefined;
  // The VMI lags behind its migration: it will show the new pod in a moment.
  if (migration !== undefined && guest !== undefined && guest === pod) return { standing: "Migrating", migration };
  const targetNode = migration?.targetNode ?? vmi.nodeName;
  return { standing: "Moved", ...(targetNode === undefined ? {} : { targetNode }) };
}

/** On another node, or on the same one again, in another pod. */
function isElsewhere(evacuation: EvacuationFacts, vmi: VmiFacts): boolean {
  const [pod, guest] = [podUIDOf(evacuation), guestPodUID(vmi)];
  if (pod !== undefined && guest !== undefined) return pod !== guest;
  const from = evacuation.status.sourceNode ?? sourceNodeOf(evacuation, vmi);
  return vmi.nodeName !== undefined && from !== vmi.nodeName;
}

function withdrawn(f: StandingFacts): Standing | undefined {
  if (f.evacuation.spec.intent === "Withdrawn") {
    return { standing: "Withdrawn", by: "Intent", why: "spec.intent is Withdrawn" };
  }
  const taint = taintGone(f);
  return taint === undefined ? undefined : { standing: "Withdrawn", by: "Taint", why: taint };
}

/** In words, if the taint was what the VM had to leave for. A node that was not read says nothing. */
function taintGone({ evacuation, vmi, node, launchers, settings }: StandingFacts): string | undefined {
  if (node === undefined || node.name !== vmi.nodeName) return undefined;
  switch (evacuation.spec.cause) {
    case "DrainTaint":
      return isMarked(vmi) || carriesDrainTaint(node, settings)
        ? undefined
        : `node ${node.name} does not carry the drain taint any more`;
    case "NoExecuteTaint": {
      const pod = launchers.find((one) => one.uid === podUIDOf(evacuation));
      const isDriven = pod === undefined || !isAlive(node) || drivingTaint(node, pod) !== undefined;
      return isDriven ? undefined : `the NoExecute taint of node ${node.name} is gone`;
    }
    case "ApiEviction":
    case "Descheduler":
    case "Preemption":
    case "NodePressure":
    case "Operator":
      return undefined;
  }
}

/** An attempt that was inherited does not count against a new evacuation: it has at least one of its own. */
function hopeless({ evacuation, vmi, settings, migrations }: StandingFacts): Standing | undefined {
  const { spec, status } = evacuation;
  if (hasFailed(evacuation) && status.attempts >= settings.evacuation.maxAttempts) return { standing: "GivenUp" };
  const resolved = resolveStrategy(vmi, settings);
  if (!resolved.known) {
    const why = `${resolved.field} is "${resolved.value.slice(0, 64)}": KubeVirt knows no such strategy`;
    return { standing: "Impossible", reason: "UnknownStrategy", why };
  }
  if (resolved.strategy === "None") {
    const why = "its eviction strategy is None: KubeVirt does not migrate it";
    return { standing: "Impossible", reason: "StrategyNone", why };
  }
  const byHand = spec.cause === "Operator" && !isMarked(vmi) && migrations.every(isFinal);
  if (!byHand || resolved.strategy === "External" || vmi.liveMigratable.migratable) return undefined;
  return { standing: "Impossible", ...pinned(vmi) };
}

/** An attempt of its own, not one of the evacuation that it follows. */
function hasFailed({ spec, status }: EvacuationFacts): boolean {
  return status.attempts > (spec.inherited?.attempts ?? 0);
}

function pinned({ liveMigratable }: VmiFacts): { readonly reason: string; readonly why: string } {
  const { reason = "", message = "KubeVirt gives no reason" } = liveMigratable;
  // As the CRD's schema allows.
  const isWord = /^[A-Za-z][A-Za-z0-9]{0,255}$/.test(reason);
  return { reason: isWord ? reason : "NotLiveMigratable", why: `the VM is not live-migratable: ${message}` };
}

function underWay(f: StandingFacts): Standing {
  const { evacuation, vmi, migrations } = f;
  if (vmi.nodeName === undefined) {
    return { standing: "Blocked", reason: "NotScheduled", why: "the VM is not on a node yet" };
  }
  const failed = isByOwner(f) ? [] : uncountedFailures(evacuation, migrations);
  const last = failed.at(-1);
  if (last !== undefined) return { standing: "AttemptFailed", failed, why: whyFailed(last, vmi) };
  const migration = migrations.find((m) => !isFinal(m));
  if (migration !== undefined && !(isTakenBack(f) && migration.phase !== "Running")) return migrating(f, migration);
  return isMarkMissing(f) ? unmarked(f) : waiting(f);
}

/** Its owner's migrations are the owner's to count, to delete and to try again. */
function isByOwner({ vmi, settings }: StandingFacts): boolean {
  return !MIGRATES[strategyOf(vmi, settings)];
}

function migrating(f: StandingFacts, migration: MigrationFacts): Standing {
  if (isByOwner(f)) return { standing: "Migrating", migration };
  if (migration.deleting) {
    // One that was stuck is gone in a moment.
    const isEnding = migration.phase !== "Running" && isBackingOff(f);
    return isEnding ? { standing: "BackingOff" } : { standing: "Migrating", migration };
  }
  const facts = { ...f, attempts: f.evacuation.status.attempts, ...stalledSince(f.evacuation, migration) };
  const why = blockedBecause(migration, facts);
  // What KubeVirt creates anew during the back-off is no new attempt: it is looked at when that is over.
  if (why !== undefined && isBackingOff(f)) return { standing: "BackingOff" };
  if (why !== undefined) return { standing: "Stuck", migration, why };
  const stalled = isStalled(migration, facts);
  return { standing: "Migrating", migration, ...(stalled === undefined ? {} : { stalled }) };
}

function stalledSince({ status }: EvacuationFacts, { uid }: MigrationFacts): { readonly stalledSince?: string } {
  const condition = status.conditions.find((one) => one.type === "Stalled" && one.status === "True");
  return condition === undefined || uid !== status.migration?.uid ? {} : { stalledSince: condition.lastTransitionTime };
}

/** KubeVirt migrates VMs off a node with the drain taint without a mark. */
function isMarkMissing({ evacuation, vmi }: StandingFacts): boolean {
  return !isMarked(vmi) && evacuation.spec.cause !== "DrainTaint";
}

function wasMarkSeen({ evacuation }: StandingFacts): boolean {
  return evacuation.status.conditions.some((c) => c.type === "Marked" && c.status === "True");
}

function isTakenBack(f: StandingFacts): boolean {
  return isMarkMissing(f) && f.vmiIsNewer && wasMarkSeen(f);
}

function unmarked(f: StandingFacts): Standing {
  if (isTakenBack(f)) return { standing: "Withdrawn", by: "Mark", why: "the mark was removed" };
  if (wasMarkSeen(f)) return { standing: "Unclear" };
  const { vmi } = f;
  return isByOwner(f) || vmi.liveMigratable.migratable
    ? { standing: "Unmarked" }
    : { standing: "Blocked", ...pinned(vmi) };
}

function restUntil({ evacuation: { spec, status } }: StandingFacts): string | undefined {
  return status.nextAttemptTime ?? spec.inherited?.notBefore;
}

function isBackingOff(f: StandingFacts): boolean {
  return restSeconds(restUntil(f), f.now) > 0;
}

function waiting(f: StandingFacts): Standing {
  const { evacuation, vmi, settings, now } = f;
  if (isByOwner(f)) return { standing: "WaitingForOwner" };
  if (!vmi.liveMigratable.migratable) return { standing: "Blocked", ...pinned(vmi) };
  if (isBackingOff(f)) return { standing: "BackingOff" };
  const since = Math.max(evacuation.createdAt, Date.parse(restUntil(f) ?? "") || 0);
  // The API server's clock may be ahead of ours.
  const waited = Math.max(0, now.getTime() - since) / 1000;
  const isKubeVirtsTurn = waited < settings.evacuation.adoptSeconds;
  return isKubeVirtsTurn ? { standing: "LeftToKubeVirt" } : { standing: "Ready" };
}
