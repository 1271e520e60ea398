/**
 * Where one `Evacuation` stands.
 * Owns: the closed list of standings, and which facts mean which, in order. Does not own: what is done about them
 * (evacuation.ts).
 */
import { blockedBecause, type MigrationQueue, succeeded, uncountedFailures, whyFailed } from "./attempt.ts";
import { activeEvacuation, podUIDOf, restSeconds, sourceNodeOf } from "./evacuation-identity.ts";
import type { EvacuationFacts, MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "./facts.ts";
import { isFinal } from "./facts.ts";
import { carriesDrainTaint } from "./drain-taint.ts";
import { isLive, isMarked, strategyOf } from "./marked.ts";
import { drivingTaint } from "./no-execute.ts";
import { isAlive } from "./node-alive.ts";
import type { Settings } from "./settings.ts";
import { MIGRATES } from "./strategy.ts";

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
  | { readonly standing: "Migrating"; readonly migration: MigrationFacts }
  | { readonly standing: "Unmarked" }
  | { readonly standing: "WaitingForOwner" }
  | { readonly standing: "Blocked"; readonly reason: string; readonly why: string }
  | { readonly standing: "BackingOff" }
  /** Marked, and KubeVirt's evacuation controller has time left to migrate it. */
  | { readonly standing: "LeftToKubeVirt" }
  | { readonly standing: "Ready" };

export interface StandingFacts {
  readonly evacuation: EvacuationFacts;
  readonly vmi?: VmiFacts;
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

type Live = StandingFacts & { readonly vmi: VmiFacts };

export function standingOf(f: StandingFacts): Standing {
  const { vmi, evacuation } = f;
  const { virtualMachineInstanceUID: uid = vmi?.uid } = evacuation.status;
  if (vmi === undefined) return { standing: "Gone", why: "there is no VirtualMachineInstance of this name" };
  if (vmi.uid !== uid) return { standing: "Gone", why: "the VirtualMachineInstance has been deleted and made anew" };
  if (vmi.deleting || isFinal(vmi)) return { standing: "Gone", why: "the VM has ended" };
  return ended({ ...f, vmi }) ?? underWay({ ...f, vmi });
}

function ended(f: Live): Standing | undefined {
  const { evacuation, vmi, migrations, siblings } = f;
  const moved = movedTo(f, succeeded(evacuation, migrations));
  if (moved !== undefined) return moved;
  const first = activeEvacuation(vmi, siblings, podUIDOf(evacuation));
  if (first !== undefined && first.uid !== evacuation.uid) return { standing: "Duplicate", of: first };
  return withdrawn(f) ?? hopeless(f);
}

function movedTo({ evacuation, vmi }: Live, migration: MigrationFacts | undefined): Standing | undefined {
  if (migration !== undefined) {
    const targetNode = migration.targetNode ?? vmi.nodeName;
    return { standing: "Moved", ...(targetNode === undefined ? {} : { targetNode }) };
  }
  const { nodeName } = vmi;
  const from = evacuation.status.sourceNode ?? sourceNodeOf(evacuation, vmi);
  if (nodeName === undefined || from === nodeName) return undefined;
  return { standing: "Moved", targetNode: nodeName };
}

function withdrawn({ evacuation, vmi, node, launchers, settings }: Live): Standing | undefined {
  const { intent, cause } = evacuation.spec;
  if (intent === "Withdrawn") return { standing: "Withdrawn", by: "Intent", why: "spec.intent is Withdrawn" };
  // A node that was not read says nothing.
  if (node === undefined || node.name !== vmi.nodeName) return undefined;
  if (cause === "DrainTaint" && !isMarked(vmi) && !carriesDrainTaint(node, settings)) {
    return { standing: "Withdrawn", by: "Taint", why: `node ${node.name} does not carry the drain taint any more` };
  }
  const pod = launchers.find((one) => one.uid === podUIDOf(evacuation));
  if (cause !== "NoExecuteTaint" || pod === undefined || !isAlive(node) || drivingTaint(node, pod) !== undefined) {
    return undefined;
  }
  return { standing: "Withdrawn", by: "Taint", why: `the NoExecute taint of node ${node.name} is gone` };
}

/** An attempt that was inherited does not count against a new evacuation: it has at least one of its own. */
function hopeless({ evacuation, vmi, settings, migrations }: Live): Standing | undefined {
  const { spec, status } = evacuation;
  const own = status.attempts > (spec.inherited?.attempts ?? 0);
  if (own && status.attempts >= settings.evacuation.maxAttempts) return { standing: "GivenUp" };
  const strategy = strategyOf(vmi, settings);
  if (strategy === "None") {
    const why = "its eviction strategy is None: KubeVirt does not migrate it";
    return { standing: "Impossible", reason: "StrategyNone", why };
  }
  const byHand = spec.cause === "Operator" && !isMarked(vmi) && migrations.every(isFinal);
  if (!byHand || strategy === "External" || vmi.liveMigratable.migratable) return undefined;
  return { standing: "Impossible", ...pinned(vmi) };
}

function pinned({ liveMigratable }: VmiFacts): { readonly reason: string; readonly why: string } {
  const { reason = "NotLiveMigratable", message = "KubeVirt gives no reason" } = liveMigratable;
  return { reason, why: `the VM is not live-migratable: ${message}` };
}

function underWay(f: Live): Standing {
  const { evacuation, vmi, migrations } = f;
  const failed = uncountedFailures(evacuation, migrations);
  const last = failed.at(-1);
  if (last !== undefined) return { standing: "AttemptFailed", failed, why: whyFailed(last, vmi) };
  const migration = migrations.find((m) => !isFinal(m));
  if (migration !== undefined && !(isTakenBack(f) && migration.phase !== "Running")) return migrating(f, migration);
  return isMarkMissing(f) ? unmarked(f) : waiting(f);
}

/** What KubeVirt creates anew during the back-off is not a new attempt: it is looked at when that is over. */
function migrating(f: Live, migration: MigrationFacts): Standing {
  const { attempts, nextAttemptTime } = f.evacuation.status;
  const why = migration.deleting ? undefined : blockedBecause(migration, { ...f, attempts });
  if (why === undefined) return { standing: "Migrating", migration };
  return restSeconds(nextAttemptTime, f.now) > 0 ? { standing: "BackingOff" } : { standing: "Stuck", migration, why };
}

/** KubeVirt migrates VMs off a node with the drain taint without a mark. */
function isMarkMissing({ evacuation, vmi }: Live): boolean {
  return !isMarked(vmi) && evacuation.spec.cause !== "DrainTaint";
}

function isTakenBack(f: Live): boolean {
  const seen = f.evacuation.status.conditions.some((c) => c.type === "Marked" && c.status === "True");
  return isMarkMissing(f) && f.vmiIsNewer && seen;
}

function unmarked(f: Live): Standing {
  if (isTakenBack(f)) return { standing: "Withdrawn", by: "Mark", why: "the mark was removed" };
  const { vmi, settings } = f;
  const isPinned = strategyOf(vmi, settings) !== "External" && !vmi.liveMigratable.migratable;
  return isPinned ? { standing: "Blocked", ...pinned(vmi) } : { standing: "Unmarked" };
}

function waiting({ evacuation, vmi, settings, now }: Live): Standing {
  const { spec, status, createdAt } = evacuation;
  if (!isLive(vmi)) return { standing: "Blocked", reason: "NotScheduled", why: "the VM is not on a node yet" };
  if (!MIGRATES[strategyOf(vmi, settings)]) return { standing: "WaitingForOwner" };
  if (!vmi.liveMigratable.migratable) return { standing: "Blocked", ...pinned(vmi) };
  const restUntil = status.nextAttemptTime ?? spec.inherited?.notBefore;
  if (restSeconds(restUntil, now) > 0) return { standing: "BackingOff" };
  const since = Math.max(createdAt, Date.parse(restUntil ?? "") || 0);
  const isAdopting = (now.getTime() - since) / 1000 < settings.evacuation.adoptSeconds;
  return isAdopting ? { standing: "LeftToKubeVirt" } : { standing: "Ready" };
}
