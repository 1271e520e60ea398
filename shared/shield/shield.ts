/**
 * The shield: which VMs may move after SIGTERM instead of shutting down, and when that ends. It covers a VM before SIGTERM, on which
 * virt-handler acts at once. It ends in time: the launcher destroys a guest that has neither moved nor shut down when its grace period is
 * over. Only Events of refusals show when SIGTERM came, so the label says when to look for these.
 */
import type { Action, Plan } from "../kube/action.ts";
import { canMigrate } from "../settings/strategy.ts";
import { activeEvacuation, ofVmi } from "../evacuation/identity.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, NodeFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import type { Moment } from "../settings/time.ts";
import { isFinal } from "../kube/objects.ts";

/** The Plugin's condition asks for it, too: what a move takes, and the shutdown if it fails. */
export const MIN_GRACE_SECONDS = 300;
/** With less time there is hardly a move that it would help. */
const MIN_HOLD_SECONDS = 60;
/** The time that the launcher adds to the guest's grace period before it destroys the guest. */
const LAUNCHER_GRACE_SECONDS = 15;
/** A label may come off so late: a tick is a minute, and then there are requests to send. */
const LATE_SECONDS = 75;

/** Value of the label, of a VM that shuts down if it has got the signal: it is not covered again while the danger lasts. */
export const OVER = "over";

/** When virt-handler was refused to shut a guest down, in milliseconds since the epoch. */
export interface RefusedShutdown {
  readonly first: number;
  readonly last: number;
}

/** A VMI with the label. */
export interface Shielded {
  readonly vmi: VmiFacts;
  readonly node?: NodeFacts | undefined;
  /** `Unknown`: they could not be read. Absent: none, or not looked for, because the label says that it is not time yet. */
  readonly refusal?: RefusedShutdown | "Unknown" | undefined;
  /** Read where it may be time to end. */
  readonly migrations: readonly MigrationFacts[];
}

export interface ShieldWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  /** Nodes under pressure, with their VMs. */
  readonly pressured: readonly { readonly vmsOnNode: readonly { readonly vmi: VmiFacts }[] }[];
  /** Evacuations of these VMIs, ended ones included. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly shielded: readonly Shielded[];
}

/** How long a shutdown may be refused, so that the guest can still shut down in order. */
export function holdSeconds({ graceSeconds = 0 }: VmiFacts, { shield }: Settings): number {
  const killed = Math.min(graceSeconds + LAUNCHER_GRACE_SECONDS, shield.maxPodGracePeriodSeconds);
  return killed - shield.shutdownSeconds - LATE_SECONDS;
}

export function isShieldable(vmi: VmiFacts, settings: Settings): boolean {
  const { graceSeconds = 0, phase } = vmi;
  const isLong = graceSeconds >= MIN_GRACE_SECONDS && holdSeconds(vmi, settings) >= MIN_HOLD_SECONDS;
  return isLong && phase === "Running" && canMigrate(vmi, settings);
}

/** Milliseconds since the epoch; of a value that Lifeboat has not written, 0. */
function untilOf({ shield }: VmiFacts): number {
  return /^\d{1,12}$/.test(shield ?? "") ? Number(shield) * 1000 : 0;
}

/** Milliseconds since the epoch. */
function longest(vmi: VmiFacts, settings: Settings, now: Date): number {
  return now.getTime() + holdSeconds(vmi, settings) * 1000;
}

/** Whether it is time to look for refusals. */
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

/** All of them: the kubelet ends VMs in an order of its own. */
function cover({ pressured, settings, now }: ShieldWorld): readonly (readonly Action[])[] {
  const vmsOnNode = pressured.flatMap(({ vmsOnNode }) => vmsOnNode).map(({ vmi }) => vmi);
  return vmsOnNode.filter((vmi) => isOpen(vmi, settings)).map((vmi) => [putOn(vmi, longest(vmi, settings, now))]);
}

/** virt-handler leaves a guest alone whose memory is being copied, but not one whose target starts, nor one whose migration has failed. */
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
  const { vmi, node, refusal, migrations } = one;
  const { settings, now, evacuations } = w;
  if (!isShieldable(vmi, settings) || !isInDanger(vmi, node, evacuations)) return [[takeOff(vmi)]];
  if (!isCheckDue(vmi, w)) return [];
  const hold = holdSeconds(vmi, settings) * 1000;
  const since = refusedSince(vmi, refusal, hold);
  if (since === undefined) return [[putOn(vmi, now.getTime() + hold)]];
  if (since + hold > now.getTime()) return [[putOn(vmi, since + hold)]];
  // A migration that continues would keep the guest from shutting down, until the launcher destroys it.
  const unfinished = migrations.filter((migration) => !isFinal(migration) && !migration.deleting);
  const end = unfinished.map((migration): Action => ({ verb: "DeleteMigration", migration }));
  return [[{ verb: "Shield", vmi, value: OVER }, ...end]];
}

/** While the node is under pressure, or the VM is about to leave: a drain may have started what a preemption waits for. */
function isInDanger(vmi: VmiFacts, node: NodeFacts | undefined, evacuations: readonly EvacuationFacts[]): boolean {
  if (node !== undefined && node.pressures.length > 0) return true;
  return ofVmi(evacuations, vmi).some((e) => isActive(e) && (e.status.sourceNode ?? vmi.nodeName) === vmi.nodeName);
}

/** Since the label was set or renewed: what was refused before concerned another pod. Unknown counts as from then on. */
function refusedSince(vmi: VmiFacts, refusal: Shielded["refusal"], hold: number): number | undefined {
  const since = untilOf(vmi) - hold;
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
