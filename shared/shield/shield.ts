/**
 * The shield lets VMs migrate after SIGTERM. While a VM's shield label contains a time, virt-handler does not shut the
 * guest down after SIGTERM. Lifeboat labels a VM before SIGTERM, because virt-handler reacts to SIGTERM immediately.
 * Lifeboat ends the shield in time, because the launcher kills a guest that is still running at the end of its grace
 * period. Only Events of refused shutdowns show the time of SIGTERM. The time in the label is the time at which
 * Lifeboat reads these Events.
 */
import type { Action, Plan } from "../kube/action.ts";
import { canMigrate } from "../settings/strategy.ts";
import { activeEvacuation, ofVmi } from "../evacuation/identity.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, NodeFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import type { Moment } from "../settings/time.ts";
import { isFinal } from "../kube/objects.ts";

/**
 * The shortest grace period, in seconds, in which a VM can migrate, or can still shut down after a failed migration.
 * The shield's Plugin uses the same value.
 */
export const MIN_GRACE_SECONDS = 300;
/** The shortest useful time for a migration, in seconds. */
const MIN_HOLD_SECONDS = 60;
/** The launcher kills the guest this many seconds after the end of its grace period. */
const LAUNCHER_GRACE_SECONDS = 15;
/**
 * The maximum delay before Lifeboat ends a shield, in seconds. Lifeboat checks once a minute, and its requests also
 * take time.
 */
const LATE_SECONDS = 75;

/**
 * The value of the label after the shield has ended. The shield can start again only after the node's pressure and the
 * VM's Evacuations have ended.
 */
export const OVER = "over";

/** The times at which the shield refused to let virt-handler shut a guest down, in milliseconds since the epoch. */
export interface RefusedShutdown {
  readonly first: number;
  readonly last: number;
}

export interface Shielded {
  readonly vmi: VmiFacts;
  readonly node?: NodeFacts | undefined;
  /**
   * `Unknown` if the Events could not be read. Absent if no shutdown was refused. Also absent if Lifeboat did not read
   * the Events, because the time in the label has not come.
   */
  readonly refusal?: RefusedShutdown | "Unknown" | undefined;
  /** The VMI's migrations. Lifeboat reads them only if the shield might have to end. */
  readonly migrations: readonly MigrationFacts[];
}

export interface ShieldWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  readonly pressured: readonly { readonly vmsOnNode: readonly { readonly vmi: VmiFacts }[] }[];
  /** Evacuations of these VMIs, including ended Evacuations. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly shielded: readonly Shielded[];
}

/**
 * Returns for how many seconds the shield can refuse a shutdown so that the guest still has enough time to shut down
 * cleanly afterwards.
 */
export function holdSeconds({ graceSeconds = 0 }: VmiFacts, { shield }: Settings): number {
  const killed = Math.min(graceSeconds + LAUNCHER_GRACE_SECONDS, shield.maxPodGracePeriodSeconds);
  return killed - shield.shutdownSeconds - LATE_SECONDS;
}

export function isShieldable(vmi: VmiFacts, settings: Settings): boolean {
  const { graceSeconds = 0, phase } = vmi;
  const isLong = graceSeconds >= MIN_GRACE_SECONDS && holdSeconds(vmi, settings) >= MIN_HOLD_SECONDS;
  return isLong && phase === "Running" && canMigrate(vmi, settings);
}

/**
 * Returns the time in the label, in milliseconds since the epoch. Returns 0 for a value that Lifeboat did not write.
 */
function untilOf({ shield }: VmiFacts): number {
  return /^\d{1,12}$/.test(shield ?? "") ? Number(shield) * 1000 : 0;
}

function longest(vmi: VmiFacts, settings: Settings, now: Date): number {
  return now.getTime() + holdSeconds(vmi, settings) * 1000;
}

/** Returns true if it is time to read the Events of refused shutdowns. */
export function isCheckDue(vmi: VmiFacts, { settings, now }: Moment): boolean {
  const until = untilOf(vmi);
  return vmi.shield !== OVER && (until <= now.getTime() || until > longest(vmi, settings, now) + 1000);
}

export function planShield(w: ShieldWorld): Plan {
  if (!w.settings.isShieldOn) {
    const left = w.vmis.filter(({ shield }) => shield !== undefined);
    return { chains: left.map((vmi) => [takeOff(vmi)]) };
  }
  return { chains: [...cover(w), ...w.shielded.flatMap((one) => judge(one, w))] };
}

/** Labels all VMs of a node, because the kubelet decides in which order it ends them. */
function cover({ pressured, settings, now }: ShieldWorld): readonly (readonly Action[])[] {
  const vmsOnNode = pressured.flatMap(({ vmsOnNode }) => vmsOnNode).map(({ vmi }) => vmi);
  return vmsOnNode.filter((vmi) => isOpen(vmi, settings)).map((vmi) => [putOn(vmi, longest(vmi, settings, now))]);
}

/**
 * Returns the action that adds the label to a moving VM. Without the label, virt-handler could shut the guest down
 * while the target pod starts, or after a failed migration.
 */
export function armFor(
  vmi: VmiFacts,
  { settings, now, evacuations }: Moment & Pick<ShieldWorld, "evacuations">,
): readonly Action[] {
  const isMoving = vmi.isMigrating || activeEvacuation(vmi, evacuations)?.status.phase === "Migrating";
  if (!settings.isShieldOn || !isMoving || !isOpen(vmi, settings)) return [];
  return [{ ...putOn(vmi, longest(vmi, settings, now)), optional: true }];
}

function isOpen(vmi: VmiFacts, settings: Settings): boolean {
  return vmi.shield === undefined && isShieldable(vmi, settings);
}

function judge(one: Shielded, w: ShieldWorld): readonly (readonly Action[])[] {
  const { vmi, node, migrations } = one;
  const { settings, now, evacuations } = w;
  if (!isShieldable(vmi, settings) || !isInDanger(vmi, node, evacuations)) return [[takeOff(vmi)]];
  if (!isCheckDue(vmi, w)) return [];
  const hold = holdSeconds(vmi, settings) * 1000;
  const since = refusedSince(one, hold, now);
  if (since === undefined) return [[putOn(vmi, now.getTime() + hold)]];
  if (since + hold > now.getTime()) return [[putOn(vmi, since + hold)]];
  // Deletes unfinished migrations. A guest cannot shut down during a migration, so the launcher would kill it at the
  // end of its grace period.
  const unfinished = migrations.filter((migration) => !isFinal(migration) && !migration.deleting);
  const end = unfinished.map((migration): Action => ({ verb: "DeleteMigration", migration }));
  return [[{ verb: "Shield", vmi, value: OVER }, ...end]];
}

/**
 * Returns true if the node of the VM is under pressure, or if the VM has an active Evacuation from the node. The cause
 * of the Evacuation does not matter, because a preempted VM can already be migrating for a drain.
 */
function isInDanger(vmi: VmiFacts, node: NodeFacts | undefined, evacuations: readonly EvacuationFacts[]): boolean {
  if (node !== undefined && node.pressures.length > 0) return true;
  return ofVmi(evacuations, vmi).some((e) => isActive(e) && (e.status.sourceNode ?? vmi.nodeName) === vmi.nodeName);
}

/**
 * Returns the time of the first refused shutdown since the label was set. If the refusals are unknown, returns the time
 * at which the label was set.
 */
function refusedSince({ vmi, refusal }: Shielded, hold: number, now: Date): number | undefined {
  // Another client might have set a time that is too far in the future.
  const since = Math.min(untilOf(vmi) - hold, now.getTime());
  if (refusal === "Unknown") return since;
  if (refusal === undefined || refusal.last < since) return undefined;
  return Math.max(refusal.first, since);
}

function putOn(vmi: VmiFacts, until: number) {
  return { verb: "Shield", vmi, value: String(Math.floor(until / 1000)) } as const;
}

function takeOff(vmi: VmiFacts): Action {
  return { verb: "Shield", vmi };
}
