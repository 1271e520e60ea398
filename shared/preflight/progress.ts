/** The progress of a drain: each pod that has to leave, and the state of the node. */
import { type Cause, type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, NodeFacts, VmiFacts } from "../kube/facts.ts";
import { carriesDrainTaint, keyOf } from "../kube/objects.ts";
import { isWorkloadUpdate } from "../evacuation/migration-cause.ts";
import { hasMigrationStarted, isTrouble } from "../evacuation/not-started.ts";
import type { Settings } from "../settings/settings.ts";
import type { PodVerdict, PreflightFacts, PreflightPod } from "./facts.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { verdictOfPod } from "./pod-verdict.ts";

/** A pod that has to leave the node, with the facts about its VM. */
export interface Subject extends Vm {
  /** `VM shop/web` for all launcher pods of this VM, or `pod shop/cart-0`. */
  readonly key: string;
  readonly pod: PreflightPod;
  readonly verdict: PodVerdict;
}

interface Vm {
  readonly vmi?: VmiFacts;
  readonly migration?: MigrationFacts;
  /** The active Evacuation, or the newest if none is active. */
  readonly evacuation?: EvacuationFacts;
}

/** Lists the pods that leave in a drain. `verdicts` contains one verdict for each pod, in the same order. */
export function subjectsOf(
  f: PreflightFacts,
  verdicts: readonly PodVerdict[] = f.pods.map((pod) => verdictOfPod(pod, f)),
): readonly Subject[] {
  const vms = vmsOf(f);
  return f.pods.flatMap((pod, i) => {
    const verdict = verdicts[i];
    if (verdict === undefined || verdict.outcome === "Stays") return [];
    const key = keyOf({ namespace: verdict.namespace, name: verdict.vmi ?? "" });
    return [{ key: subjectOf(verdict), pod, verdict, ...vms.get(key) }];
  });
}

function vmsOf({ vmis, migrations, evacuations }: PreflightFacts): ReadonlyMap<string, Vm> {
  const migrationOf = new Map(migrations.map((one) => [keyOf({ ...one, name: one.vmiName }), one]));
  // If a VM has several Evacuations, the map keeps only the last one in this order.
  const byInterest = evacuations.toSorted(
    (a, b) => Number(isActive(a)) - Number(isActive(b)) || a.createdAt - b.createdAt,
  );
  const evacuationOf = new Map(byInterest.map((one) => [keyOf({ ...one, name: one.spec.vmiName }), one]));
  return new Map(
    vmis.map((vmi) => {
      const [migration, evacuation] = [migrationOf.get(keyOf(vmi)), evacuationOf.get(keyOf(vmi))];
      return [keyOf(vmi), { vmi, ...(migration && { migration }), ...(evacuation && { evacuation }) }];
    }),
  );
}

export function subjectOf({ namespace, name, vmi }: PodVerdict): string {
  return vmi === undefined ? `pod ${namespace}/${name}` : `VM ${namespace}/${vmi}`;
}

export function isMinor({ verdict: { outcome, vmi } }: Subject): boolean {
  return outcome === "Follows" || (outcome === "Ended" && vmi === undefined);
}

/** Returns true if the VM stays until a person acts. A VM that is already migrating is not blocked. */
export function isBlocked({ verdict, vmi, migration }: Subject): boolean {
  const isOnItsWay = vmi?.isMigrating === true || (migration !== undefined && migration.blockedBy === undefined);
  return verdict.outcome === "Blocked" && !isOnItsWay;
}

/** Returns the phase of the last evacuation if it failed. The next eviction may still move the VM. */
export function failingPhase({ evacuation, verdict }: Subject): "BackingOff" | "Abandoned" | undefined {
  if (verdict.outcome !== "Moves" && verdict.reason !== "BackingOff") return undefined;
  const { phase } = evacuation?.status ?? {};
  return phase === "BackingOff" || phase === "Abandoned" ? phase : undefined;
}

function targetOf({ migration, vmi, evacuation }: Subject): string | undefined {
  return [migration?.targetNode, vmi?.targetNode, evacuation?.status.targetNode].find(Boolean);
}

export type Mood = "waiting" | "moving" | "blocked" | "gone";
export interface ProgressRow {
  readonly key: string;
  readonly isVm: boolean;
  readonly mood: Mood;
  readonly words: string;
}

export function rowOf(subject: Subject): ProgressRow {
  return { key: subject.key, isVm: subject.verdict.vmi !== undefined, ...placeOf(subject) };
}

const at = (mood: Mood, words: string): Pick<ProgressRow, "mood" | "words"> => ({ mood, words });

function placeOf(subject: Subject): Pick<ProgressRow, "mood" | "words"> {
  const { pod, verdict, vmi } = subject;
  switch (verdict.outcome) {
    case "Blocked":
      return migrating(subject) ?? at("blocked", MESSAGES.isBlocked(verdict.reason));
    case "Waits":
      return at("waiting", MESSAGES.waits(verdict.message));
    case "Moves":
      return (
        migrating(subject) ?? at("waiting", vmi?.evacuationNodeName === undefined ? MESSAGES.runs : MESSAGES.hasToMove)
      );
    case "ShutsDown":
    case "Ended":
    case "Evicted":
      return pod.deleting ? at("moving", MESSAGES.shutsDown) : at("waiting", MESSAGES.runs);
    case "Follows":
    case "Stays":
      return at("waiting", "");
  }
}

function migrating(subject: Subject): Pick<ProgressRow, "mood" | "words"> | undefined {
  const { migration } = subject;
  if (migration === undefined) return undefined;
  const waits = hasMigrationStarted(migration) ? undefined : waitingOf(migration, subject.evacuation);
  if (waits !== undefined) return at("waiting", waits);
  const words = MESSAGES.moves(migration.phase === "Running", targetOf(subject));
  return at("moving", isWorkloadUpdate(migration) ? MESSAGES.byWorkloadUpdate(words) : words);
}

/** Returns why the migration is waiting. The Evacuation's message is preferred, because it has more details. */
function waitingOf({ phase }: MigrationFacts, evacuation: EvacuationFacts | undefined): string | undefined {
  const { reason, message = "" } = evacuation?.status ?? {};
  if (reason === "KubeVirtBackoff") return MESSAGES.backsOff;
  if (isTrouble(reason)) return MESSAGES.waits(message);
  return phase === "Pending" ? MESSAGES.queued : undefined;
}

export function isInQueue({ words }: ProgressRow): boolean {
  return words === MESSAGES.queued;
}

/**
 * `Draining`: all VMs of the node have been asked to leave. `Drained`: the node is cordoned or tainted, and everything
 * has left. `Cordoned`: the node is cordoned, but the VMs have not been asked to leave. `InUse`: none of these.
 */
export type NodeState = "Draining" | "Drained" | "Cordoned" | "InUse";

export interface VmProgress {
  readonly subject: Subject;
  readonly row: ProgressRow;
}

export interface Departures {
  /** Evacuations of VMs that have left since the start of this drain, newest first. */
  readonly gone: readonly EvacuationFacts[];
  readonly active: readonly EvacuationFacts[];
}

export interface NodeProgress extends Departures {
  readonly state: NodeState;
  /** VMs that are still on the node but have to leave it. Blocked VMs come first, then moving VMs. */
  readonly here: readonly VmProgress[];
  readonly pods: readonly Subject[];
  /** True if a running guest of the node may be missing in these lists. */
  readonly isPartlySeen: boolean;
  /** True if an Evacuation from the node may be missing in `active` and `gone`. */
  readonly areEvacuationsPartlySeen: boolean;
}

export function nodeProgress(f: PreflightFacts, subjects: readonly Subject[] = subjectsOf(f)): NodeProgress {
  const here = vmsHere(subjects);
  const departures = { ...departuresFrom(f), isPartlySeen: f.isPartlySeen === true };
  return {
    ...departures,
    areEvacuationsPartlySeen: f.areEvacuationsPartlySeen === true,
    state: nodeState(f, here.length, departures),
    here,
    pods: subjects.filter((one) => one.verdict.vmi === undefined && !isMinor(one)),
  };
}

interface NodeAlone extends Pick<PreflightFacts, "evacuations" | "settings"> {
  readonly node: NodeFacts;
  readonly vmis: readonly Pick<VmiFacts, "namespace" | "name" | "nodeName">[];
}

export function departuresFrom({ node, settings, ...f }: NodeAlone): Departures {
  const vmis = new Set(f.vmis.filter(({ nodeName }) => nodeName === node.name).map(keyOf));
  const fromHere = f.evacuations.filter(({ status }) => status.sourceNode === node.name);
  const active = fromHere.filter((one) => isActive(one) && vmis.has(vmOf(one)));
  const began = beganAt(node, settings, active);
  const left = fromHere.filter((one) => hasLeft(one) && !vmis.has(vmOf(one)) && endOf(one) >= began);
  return { active, gone: left.toSorted((a, b) => endOf(b) - endOf(a)) };
}

/** An Evacuation with one of these causes shows that all VMs have to leave the node, even if it is not cordoned. */
const DRAIN_CAUSES: ReadonlySet<Cause> = new Set(["NoExecuteTaint", "DrainTaint", "NodeTermination"]);

const ASKING_CAUSES: ReadonlySet<Cause> = new Set([...DRAIN_CAUSES, "ApiEviction", "NodeEvacuation"]);

/** Returns the state of the node. `here` is the number of VMs that still have to leave. */
export function nodeState(
  { node, settings }: Pick<NodeAlone, "node" | "settings">,
  here: number,
  { active, gone, isPartlySeen }: Pick<NodeProgress, "active" | "gone" | "isPartlySeen">,
): NodeState {
  if (!node.unschedulable && !carriesDrainTaint(node, settings)) {
    return active.some(({ spec }) => DRAIN_CAUSES.has(spec.cause)) ? "Draining" : "InUse";
  }
  if (here === 0 && !isPartlySeen) return "Drained";
  // The Evacuations show that a drain is in progress. The remaining VMs might have no Evacuation, because they cannot
  // migrate.
  const isAsked = [...active, ...gone].some(({ spec: { cause } }) => ASKING_CAUSES.has(cause));
  return isAsked ? "Draining" : "Cordoned";
}

const ORDER = { blocked: 0, moving: 2, waiting: 3, gone: 4 } as const satisfies Record<Mood, number>;

function rankOf({ row, subject }: VmProgress): number {
  return row.mood === "waiting" && failingPhase(subject) !== undefined ? 1 : ORDER[row.mood];
}

function vmsHere(subjects: readonly Subject[]): readonly VmProgress[] {
  const found = new Map<string, VmProgress>();
  for (const subject of subjects) {
    if (subject.verdict.vmi === undefined || isMinor(subject) || subject.verdict.outcome === "Ended") continue;
    const row = rowOf(subject);
    const known = found.get(subject.key);
    if (known === undefined || ORDER[row.mood] < ORDER[known.row.mood]) found.set(subject.key, { subject, row });
  }
  return [...found.values()].toSorted((a, b) => rankOf(a) - rankOf(b) || (a.row.key < b.row.key ? -1 : 1));
}

/**
 * Returns the start of the drain in milliseconds since the epoch. This is the time of the cordon or drain taint, or
 * else of the first active Evacuation.
 */
function beganAt({ taints }: NodeFacts, { drainTaintKey }: Settings, active: readonly EvacuationFacts[]): number {
  const closed = taints.find(({ key }) => key === "node.kubernetes.io/unschedulable" || key === drainTaintKey);
  if (closed?.timeAdded !== undefined) return Date.parse(closed.timeAdded) || 0;
  return active.length === 0 ? 0 : Math.min(...active.map(({ createdAt }) => createdAt));
}

function hasLeft(evacuation: EvacuationFacts): boolean {
  return isActive(evacuation) || ["Moved", "Restarted", "Stopped", "Gone"].includes(evacuation.status.phase ?? "");
}

function vmOf({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}

function endOf({ status: { completionTime }, createdAt }: EvacuationFacts): number {
  return Date.parse(completionTime ?? "") || createdAt;
}
