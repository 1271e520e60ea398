/**
 * Lists the reasons why a VM stays on its node although it can migrate. Lifeboat uses the first reason that applies.
 */
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { GuestAsks } from "../kube/guest.ts";
import { LONGEST_LABEL } from "../kube/names.ts";
import { isFinal, isWanted } from "../kube/objects.ts";
import { isTrouble } from "../evacuation/not-started.ts";
import { byAge, isAbout, ofVmi } from "../evacuation/identity.ts";
import { secondsSince } from "../settings/time.ts";
import { offBecause } from "../settings/limits.ts";
import { isBefore, VERSIONS } from "../settings/versions.ts";
import type { PreflightFacts } from "./facts.ts";
import type { FitNode } from "./fit.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { targetPodIn } from "./place.ts";

export interface HeldReason {
  readonly reason: string;
  readonly message: string;
}

type Rule = (vmi: VmiFacts, f: PreflightFacts) => HeldReason | undefined;

const RULES: readonly Rule[] = [migrationsOff, nameTooLong, leftOver, evacuationBlocked, bound];

/**
 * Returns the reason why the VM stays on its node, or undefined. The reasons do not apply to a migration that already
 * has a target pod.
 */
export function heldBy(vmi: VmiFacts, f: PreflightFacts): HeldReason | undefined {
  if (vmi.isMigrating || targetPodIn(vmi, f) !== undefined) return undefined;
  for (const rule of RULES) {
    const found = rule(vmi, f);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Migrations are switched off. */
function migrationsOff(_: VmiFacts, { settings }: PreflightFacts): HeldReason | undefined {
  const message = offBecause(settings);
  return message === undefined ? undefined : { reason: "MigrationsOff", message };
}

/**
 * The VM's name is too long for a label. KubeVirt labels each migration with the VM's name, so the API server refuses
 * the migration.
 */
function nameTooLong({ name }: VmiFacts, { settings }: PreflightFacts): HeldReason | undefined {
  const isWhole = isBefore(VERSIONS.shortNames, settings.kubevirtMinor);
  if (name.length <= LONGEST_LABEL || !isWhole) return undefined;
  return { reason: "NameTooLong", message: MESSAGES.nameTooLong(name.length) };
}

/** The VM has more launcher pods than it needs. KubeVirt creates no target pod while these pods exist. */
function leftOver(vmi: VmiFacts, f: PreflightFacts): HeldReason | undefined {
  if (Object.values(vmi.activePods).every((node) => node === f.node.name)) return undefined;
  const others = f.otherPods.filter((pod) => pod.namespace === vmi.namespace && Object.hasOwn(vmi.activePods, pod.uid));
  const [left] = others.filter((pod) => !isFinal(pod) && !pod.deleting && isLeftOver(vmi, f));
  return left && { reason: "LeftOver", message: MESSAGES.secondLauncher(left) };
}

const MOMENTS_SECONDS = 60;

/**
 * Returns true if no migration explains a second launcher pod of the VM: no migration is in progress, and no migration
 * has just ended.
 */
export function isLeftOver(vmi: VmiFacts, { migrations, now }: Pick<PreflightFacts, "migrations" | "now">): boolean {
  const isMoving = migrations.some((m) => m.namespace === vmi.namespace && m.vmiName === vmi.name && !isFinal(m));
  const hasJustMoved = vmi.movedAt !== undefined && secondsSince(vmi.movedAt, now) < MOMENTS_SECONDS;
  return !isMoving && !vmi.isMigrating && vmi.decentralized === undefined && !hasJustMoved;
}

/** The VM's Evacuation is Blocked. */
function evacuationBlocked(vmi: VmiFacts, { evacuations }: PreflightFacts): HeldReason | undefined {
  const active = ofVmi(evacuations, vmi).find((e) => isActive(e) && e.status.phase === "Blocked");
  if (active === undefined) return undefined;
  const { reason = "Blocked", message = "" } = active.status;
  return { reason, message: MESSAGES.evacuationBlocked(active, message) };
}

/** No other node matches the VM's own node selector and affinity. */
function bound(vmi: VmiFacts, { otherNodes }: PreflightFacts): HeldReason | undefined {
  const message = boundBecause(vmi.asks, otherNodes);
  return message === undefined ? undefined : { reason: "BoundToNode", message };
}

/** Returns why the VM's node selector and affinity exclude all other nodes. Returns undefined if they do not. */
export function boundBecause(
  { nodeSelector, required }: GuestAsks,
  otherNodes: readonly Pick<FitNode, "name" | "labels">[],
): string | undefined {
  const selected = Object.entries(nodeSelector).map(([key, value]) => `${key}=${value}`);
  if (selected.length === 0 && required === undefined) return undefined;
  const placement = { nodeSelector, ...(required && { required }) };
  if (otherNodes.length === 0 || otherNodes.some((node) => isWanted(placement, node))) return undefined;
  return MESSAGES.boundToNode(selected, required !== undefined);
}

/** Lists the reasons why it is uncertain whether the VM moves. */
export function doubtsAbout(vmi: VmiFacts, f: PreflightFacts): readonly string[] {
  const { evacuations, settings } = f;
  const mayBeShort = vmi.name.length > LONGEST_LABEL && !isBefore(VERSIONS.shortNames, settings.kubevirtMinor);
  const name = mayBeShort ? [MESSAGES.longName] : [];
  const last = ofVmi(evacuations, vmi)
    .filter((e) => isAbout(e, vmi))
    .toSorted(byAge)
    .at(-1);
  return [...name, ...failedBefore(last), ...notPlaced(vmi, f)].map((why) => MESSAGES.whetherItMoves(vmi, why));
}

function failedBefore(last: EvacuationFacts | undefined): readonly string[] {
  if (last === undefined) return [];
  const { phase, reason, attempts, message = "" } = last.status;
  if (phase === "Abandoned") return [MESSAGES.wasAbandoned(message)];
  if (isActive(last) && phase === "Migrating" && isTrouble(reason)) return [message];
  return isActive(last) && attempts > 0 ? [MESSAGES.attemptsFailed(attempts, message)] : [];
}

function notPlaced(vmi: VmiFacts, f: PreflightFacts): readonly string[] {
  const own = f.migrations.find((m) => m.namespace === vmi.namespace && m.vmiName === vmi.name && !isFinal(m));
  if (own?.phase !== "Scheduling" || targetPodIn(vmi, f) !== undefined) return [];
  return [MESSAGES.targetNotPlaced(own)];
}
