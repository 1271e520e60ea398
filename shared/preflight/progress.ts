/** How far the emptying of a node is: what has gone, what is left, and what is in the way. */
import { type Cause, type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NodeFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import type { PodVerdict, PreflightFacts } from "./facts.ts";
import { REMEDY, remedyOf } from "../eviction/messages.ts";
import { failingPhase, isBlocked, isMinor, type Mood, type Row, rowOf, type Subject, subjectsOf } from "./subjects.ts";
import { carriesDrainTaint, keyOf } from "../kube/objects.ts";

/**
 * `Emptying`: VMs are asked to leave. `Emptied`: cordoned or tainted, and nothing is left that would leave. `Cordoned`: no new pods, but
 * no request asks its VMs to leave. `InUse`: none of these; single VMs may move.
 */
export type NodeState = "Emptying" | "Emptied" | "Cordoned" | "InUse";

export interface VmProgress {
  readonly subject: Subject;
  readonly row: Row;
}

/** Who leaves a node, and who has left it. */
export interface Departures {
  /** Evacuations of VMs that have left since this emptying began, newest first: as far as Evacuations are kept. */
  readonly gone: readonly EvacuationFacts[];
  /** Evacuations that have not ended, of VMs here. */
  readonly active: readonly EvacuationFacts[];
  /** Of the active ones, else of those that have gone; most frequent first. */
  readonly causes: readonly Cause[];
  readonly requestedBy: readonly string[];
  /** Milliseconds since the epoch: when the first of all these began. */
  readonly since: number | undefined;
}

export interface NodeProgress extends Departures {
  readonly state: NodeState;
  /** VMs that are still here and are to leave if the node is drained: what blocks first, then what moves. */
  readonly here: readonly VmProgress[];
  /** Ordinary pods that a drain evicts. */
  readonly pods: readonly Subject[];
}

export function nodeProgress(f: PreflightFacts, subjects: readonly Subject[] = subjectsOf(f)): NodeProgress {
  const here = vmsHere(subjects);
  const departures = departuresFrom(f);
  return {
    ...departures,
    state: nodeState(f, here.length, departures),
    here,
    pods: subjects.filter((one) => one.verdict.vmi === undefined && !isMinor(one)),
  };
}

/** What is known of a node without its pods. */
interface NodeAlone extends Pick<PreflightFacts, "evacuations" | "settings"> {
  readonly node: NodeFacts;
  readonly vmis: readonly Pick<VmiFacts, "namespace" | "name" | "nodeName">[];
}

export function departuresFrom({ node, settings, ...f }: NodeAlone): Departures {
  const vmis = new Set(f.vmis.filter(({ nodeName }) => nodeName === node.name).map(keyOf));
  const fromHere = f.evacuations.filter(({ status }) => status.sourceNode === node.name);
  const active = fromHere.filter((one) => isActive(one) && vmis.has(vmOf(one)));
  const began = beganAt(node, settings, active);
  const left = fromHere.filter((one) => hasLeft(one) && !vmis.has(vmOf(one)));
  const gone = newestOfEach(left).filter((one) => endOf(one) >= began);
  const shown = active.length > 0 ? active : gone;
  return {
    gone,
    active,
    causes: byFrequency(shown.map(({ spec }) => spec.cause)),
    requestedBy: byFrequency(shown.flatMap(({ spec }) => spec.requestedBy || [])),
    since: shown.length === 0 ? undefined : Math.min(...[...active, ...gone].map(({ createdAt }) => createdAt)),
  };
}

/** `here`: how many VMs are on the node that leave it in a drain. */
export function nodeState(
  { node, settings }: Pick<NodeAlone, "node" | "settings">,
  here: number,
  { active, gone }: Pick<Departures, "active" | "gone">,
): NodeState {
  const isClosed = node.unschedulable || carriesDrainTaint(node, settings);
  if (!isClosed) return active.length > 1 ? "Emptying" : "InUse";
  if (here === 0) return "Emptied";
  // What is left may be pinned: the drain asks for it again and again, and nothing of that is seen in the cluster.
  return active.length + gone.length > 0 ? "Emptying" : "Cordoned";
}

const ORDER = { blocked: 0, moving: 2, waiting: 3, gone: 4 } as const satisfies Record<Mood, number>;

/** Those that do not get on come before those that do. */
function rankOf({ row, subject }: VmProgress): number {
  return row.mood === "waiting" && failingPhase(subject) !== undefined ? 1 : ORDER[row.mood];
}

/** Each VM once: of several pods the first that says more than that it waits. */
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

/** What left before that left in another emptying: the cordon, else the first that is to leave now. Milliseconds since the epoch. */
function beganAt({ taints }: NodeFacts, { drainTaintKey }: Settings, active: readonly EvacuationFacts[]): number {
  const closing = ["node.kubernetes.io/unschedulable", drainTaintKey];
  const closed = taints.flatMap(({ key, timeAdded = "" }) =>
    closing.includes(key) ? Date.parse(timeAdded) || [] : [],
  );
  const times = closed.length > 0 ? closed : active.map(({ createdAt }) => createdAt);
  return times.length > 0 ? Math.min(...times) : 0;
}

/** Also where no function has looked at it since. */
function hasLeft(evacuation: EvacuationFacts): boolean {
  const { phase } = evacuation.status;
  return phase === "Moved" || phase === "Gone" || isActive(evacuation);
}

/** Of each VM; the last that ended first. */
function newestOfEach(evacuations: readonly EvacuationFacts[]): readonly EvacuationFacts[] {
  const oldestFirst = evacuations.toSorted((a, b) => a.createdAt - b.createdAt);
  return [...new Map(oldestFirst.map((one) => [vmOf(one), one])).values()].toSorted((a, b) => endOf(b) - endOf(a));
}

function vmOf({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}

function endOf({ status: { completionTime }, createdAt }: EvacuationFacts): number {
  return Date.parse(completionTime ?? "") || createdAt;
}

function byFrequency<T extends string>(values: readonly T[]): readonly T[] {
  const groups = [...Map.groupBy(values, (value) => value)];
  return groups.toSorted(([, a], [, b]) => b.length - a.length).map(([value]) => value);
}

/**
 * `Blocked`: it needs action. `NoRoom`: no other node has room for the VM. `Waits`: it may end by itself. `ShutsDown`: it blocks no
 * drain, but a guest ends.
 */
const KINDS = ["Blocked", "NoRoom", "Waits", "ShutsDown"] as const;
export type BlockerKind = (typeof KINDS)[number];

/** The same reason once, with everything it holds up. */
export interface Blocker {
  readonly kind: BlockerKind;
  readonly reason: string;
  readonly remedy?: string;
  /** At least one; each with its own message. */
  readonly held: readonly { readonly subject: Subject; readonly message: string }[];
}

/** `roomOf`: what a preflight has found for a pod, which may be some time ago. */
export function blockersOf(
  subjects: readonly Subject[],
  roomOf: (pod: PodVerdict) => PodVerdict["room"] = ({ room }) => room,
): readonly Blocker[] {
  const groups = new Map<string, Blocker>();
  for (const subject of subjects) {
    const found = blockerOf(subject, roomOf(subject.verdict));
    if (found === undefined) continue;
    const key = `${found.kind} ${found.reason}`;
    const known = groups.get(key) ?? found;
    groups.set(key, known === found ? found : { ...known, held: [...known.held, ...found.held] });
  }
  return [...groups.values()].toSorted(
    (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || b.held.length - a.held.length,
  );
}

function blockerOf(subject: Subject, room: PodVerdict["room"]): Blocker | undefined {
  const kind = kindOf(subject, room);
  if (kind === undefined) return undefined;
  if (kind === "NoRoom") {
    return { kind, reason: "NoRoom", remedy: REMEDY.NoRoom, held: [{ subject, message: room?.message ?? "" }] };
  }
  const failing = failingPhase(subject);
  const { reason, remedy } = failing === undefined ? subject.verdict : { reason: failing, remedy: remedyOf(failing) };
  return {
    kind,
    reason,
    ...(remedy !== undefined && { remedy }),
    held: [{ subject, message: messageOf(subject, kind) }],
  };
}

function kindOf(subject: Subject, room: PodVerdict["room"]): BlockerKind | undefined {
  // Of a budget's pods one is replaced after the other, in every drain.
  if (isBlocked(subject)) return subject.verdict.reason === "BudgetExhausted" ? "Waits" : "Blocked";
  if (subject.vmi?.isMigrating === true) return undefined;
  if (room?.fits === false) return "NoRoom";
  if (subject.verdict.outcome === "ShutsDown") return "ShutsDown";
  return isHeldUp(subject) ? "Waits" : undefined;
}

/** Not for its turn only. */
function isHeldUp(subject: Subject): boolean {
  const { outcome, remedy } = subject.verdict;
  return (outcome === "Waits" && remedy !== undefined) || failingPhase(subject) !== undefined;
}

/** The Evacuation's message says more than an eviction's answer, but for a refusal that is not Lifeboat's. */
function messageOf(subject: Subject, kind: BlockerKind): string {
  const { verdict, evacuation } = subject;
  const isLifeboats = kind === "Waits" && !isBlocked(subject);
  return (isLifeboats ? evacuation?.status.message : undefined) ?? verdict.message;
}
