/** How far the emptying of a node is: what has gone, what is left, and what is in the way. */
import type { Cause } from "../cause.ts";
import { isActive } from "../evacuation/phase.ts";
import { type EvacuationFacts, keyOf, type NodeFacts, type VmiFacts } from "../facts.ts";
import { carriesDrainTaint } from "../kube/taints.ts";
import type { PreflightFacts } from "../preflight/facts.ts";
import type { Settings } from "../settings.ts";
import { type Mood, type Row, rowOf } from "./stage.ts";
import { isMinor, type Subject, subjectsOf } from "./subjects.ts";

/**
 * `Emptying`: VMs are asked to leave. `Emptied`: cordoned or tainted, and nothing is left that would leave. `Cordoned`: no new pods, but
 * nobody asks its VMs to leave. `InUse`: none of these; single VMs may move.
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
interface Looked extends Pick<PreflightFacts, "evacuations" | "settings"> {
  readonly node: NodeFacts;
  readonly vmis: readonly Pick<VmiFacts, "namespace" | "name" | "nodeName">[];
}

export function departuresFrom(f: Looked): Departures {
  const isHere = vmisOn(f);
  const active = f.evacuations.filter((one) => isActive(one) && isFrom(one, f.node) && isHere(one));
  const gone = goneFrom(f, isHere).filter((one) => endOf(one) >= beganAt(f, active));
  const shown = active.length > 0 ? active : gone;
  return {
    gone,
    active,
    causes: byFrequency(shown.map(({ spec }) => spec.cause)),
    requestedBy: byFrequency(shown.flatMap(({ spec }) => (spec.requestedBy === "" ? [] : [spec.requestedBy]))),
    since: shown.length === 0 ? undefined : Math.min(...[...active, ...gone].map(({ createdAt }) => createdAt)),
  };
}

/** `here`: how many VMs are on the node that leave it in a drain. */
export function nodeState(
  { node, settings }: Pick<Looked, "node" | "settings">,
  here: number,
  { active, gone }: Pick<Departures, "active" | "gone">,
): NodeState {
  if (isClosed(node, settings)) {
    if (here === 0) return "Emptied";
    // What is left may be pinned: the drain asks for it again and again, and nothing of that is seen in the cluster.
    return active.length + gone.length > 0 ? "Emptying" : "Cordoned";
  }
  return active.length > 1 ? "Emptying" : "InUse";
}

function isClosed(node: NodeFacts, settings: Settings): boolean {
  return node.unschedulable || carriesDrainTaint(node, settings);
}

const ORDER = { blocked: 0, moving: 2, waiting: 3, gone: 4 } as const satisfies Record<Mood, number>;

/** Those that do not get on come before those that do. */
function rankOf({ row, subject }: VmProgress): number {
  const { phase } = subject.evacuation?.status ?? {};
  const isFailing = row.mood === "waiting" && (phase === "BackingOff" || phase === "Abandoned");
  return isFailing ? 1 : ORDER[row.mood];
}

/** Each VM once: of several pods the first that says more than that it waits. */
function vmsHere(subjects: readonly Subject[]): readonly VmProgress[] {
  const found = new Map<string, VmProgress>();
  for (const subject of subjects) {
    if (subject.verdict.vmi === undefined || isMinor(subject) || subject.verdict.outcome === "Ended") continue;
    const row = rowOf(subject, false);
    const known = found.get(subject.key);
    if (known === undefined || ORDER[row.mood] < ORDER[known.row.mood]) found.set(subject.key, { subject, row });
  }
  return [...found.values()].toSorted(
    (a, b) => rankOf(a) - rankOf(b) || b.row.stage - a.row.stage || (a.row.key < b.row.key ? -1 : 1),
  );
}

function isFrom({ status: { sourceNode } }: EvacuationFacts, { name }: Pick<NodeFacts, "name">): boolean {
  return sourceNode === name;
}

function vmisOn({ node, vmis }: Pick<Looked, "node" | "vmis">): (evacuation: EvacuationFacts) => boolean {
  const here = new Set(vmis.filter(({ nodeName }) => nodeName === node.name).map(keyOf));
  return ({ namespace, spec }) => here.has(keyOf({ namespace, name: spec.vmiName }));
}

/** What left before that left in another emptying: the cordon, else the first that is to leave now. Milliseconds since the epoch. */
function beganAt({ node, settings }: Pick<Looked, "node" | "settings">, active: readonly EvacuationFacts[]): number {
  const closing = [UNSCHEDULABLE, settings.drainTaintKey];
  const closed = node.taints.flatMap(({ key, timeAdded }) =>
    closing.includes(key) ? Date.parse(timeAdded ?? "") || [] : [],
  );
  const asked = active.map(({ createdAt }) => createdAt);
  return closed.length > 0 ? Math.min(...closed) : asked.length > 0 ? Math.min(...asked) : 0;
}

const UNSCHEDULABLE = "node.kubernetes.io/unschedulable";

/** The newest of each VM that is not here any more, also where no function has looked at it since. */
function goneFrom(
  { evacuations, node }: Pick<Looked, "evacuations" | "node">,
  isHere: (evacuation: EvacuationFacts) => boolean,
): readonly EvacuationFacts[] {
  const newest = new Map<string, EvacuationFacts>();
  for (const one of evacuations) {
    const key = keyOf({ namespace: one.namespace, name: one.spec.vmiName });
    const hasLeft = one.status.phase === "Moved" || one.status.phase === "Gone" || isActive(one);
    if (!hasLeft || !isFrom(one, node) || isHere(one)) continue;
    const known = newest.get(key);
    if (known === undefined || known.createdAt < one.createdAt) newest.set(key, one);
  }
  return [...newest.values()].toSorted((a, b) => endOf(b) - endOf(a));
}

function endOf({ status: { completionTime }, createdAt }: EvacuationFacts): number {
  return Date.parse(completionTime ?? "") || createdAt;
}

function byFrequency<T extends string>(values: readonly T[]): readonly T[] {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([value]) => value);
}
