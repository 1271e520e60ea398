/** Selects the VMs that Lifeboat moves: VMs on nodes under pressure, and VMs whose pods a kubelet is ending. */
import { type Action, type Plan, recordEvent } from "../kube/action.ts";
import { activeEvacuation, backingOffEvacuation, newEvacuation, ofVmi } from "../evacuation/identity.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import type { Labels } from "../kube/scheduled-pod.ts";
import { markActions } from "../evacuation/mark.ts";
import { isMarked } from "../evacuation/mark.ts";
import { isToMove } from "../eviction/table.ts";
import { canMigrate, MIGRATES, strategyOf } from "../settings/strategy.ts";
import type { EvacuationFacts, Phase } from "../kube/evacuation.ts";
import { type FitNode, obstacleTo, type Room, roomWith, type Spot } from "../preflight/fit.ts";
import { type LauncherPod, type NextPod, renderTarget } from "../preflight/next-pod.ts";
import type { Settings } from "../settings/settings.ts";
import { type Moment, secondsSince } from "../settings/time.ts";
import { carriesDrainTaint, isAlive } from "../kube/objects.ts";
import { cooldownLeft } from "../evacuation/cooldown.ts";
import { PRESSURE_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * Returns true if the guest is running. A crashed guest has the phase Failed. A guest that a user has paused counts as
 * running, but a guest that is paused by an I/O error does not.
 */
function isGuestAlive({ phase, deleting, nodeName, pausedByIoError }: VmiFacts): boolean {
  return phase === "Running" && !deleting && nodeName !== undefined && pausedByIoError !== true;
}

export function shouldEvacuate(vmi: VmiFacts, settings: Settings): boolean {
  return isGuestAlive(vmi) && isToMove(vmi, settings);
}

function isLeaving(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return isMarked(vmi) || activeEvacuation(vmi, ofVmi(evacuations, vmi), podUID) !== undefined;
}

export interface VmOnNode {
  readonly vmi: VmiFacts;
  readonly pod: PodFacts & LauncherPod;
}

export interface CandidateNode {
  readonly node: FitNode;
  readonly room: Room;
}

/** A report that a kubelet is ending the pod of a guest. */
export interface KubeletSignal {
  readonly vmi: VmiFacts;
  readonly pod: Pick<PodFacts, "name" | "uid">;
  readonly reason: string;
  readonly node: NodeFacts | undefined;
}

export interface PressureWorld extends Moment {
  readonly pressured: readonly {
    readonly node: NodeFacts;
    readonly labels: Labels;
    readonly vmsOnNode: readonly VmOnNode[];
    readonly evacuations: readonly EvacuationFacts[];
  }[];
  readonly candidateNodes: readonly CandidateNode[];
  readonly signals: readonly KubeletSignal[];
  readonly evacuations: readonly EvacuationFacts[];
}

export function planPressure(w: PressureWorld): Plan {
  const gate = w.settings.featureGates.includes("NodePressureEvictionLiveMigration");
  if (!gate) return { chains: [] };
  const candidateNodes = w.candidateNodes.map((candidateNode) => ({ ...candidateNode }));
  const ending = endingOf(w);
  const reactive = [...ending.values()].map(({ vmi, reason, pod }) => markFor(vmi, `kubelet: ${reason}`, w, pod));
  const proactive = w.pressured.flatMap((node) => {
    const asked = w.evacuations.filter(({ status: { sourceNode = node.node.name } }) => sourceNode === node.node.name);
    const evacuations = [...asked, ...node.evacuations];
    return selectVictims(node, { ...w, evacuations, candidateNodes, ending });
  });
  const chains = [...reactive, ...proactive];
  return { chains, again: chains.length > 0 };
}

/**
 * Returns the kubelets' signals about guests that should migrate instead of being shut down. The result has one signal
 * for each VMI, keyed by UID.
 */
function endingOf({ signals, settings, evacuations }: PressureWorld) {
  const saved = signals.filter((signal) => {
    const { vmi, pod } = signal;
    const isEnding = isToMakeRoom(signal) && isGuestOf(vmi, pod.uid);
    return isEnding && shouldEvacuate(vmi, settings) && !isLeaving(vmi, evacuations);
  });
  return new Map(saved.map((signal) => [signal.vmi.uid, signal]));
}

const MAKES_ROOM: ReadonlySet<string> = new Set(["Evicted", "Preempting"]);

/**
 * Returns true if the kubelet ends the pod to make room, for example for a critical pod. A kubelet also reports
 * `Killing` after a failed liveness probe or during a node shutdown. Therefore, `Killing` is ignored on nodes without
 * pressure.
 */
function isToMakeRoom({ reason, node }: KubeletSignal): boolean {
  return MAKES_ROOM.has(reason) || (node !== undefined && isAlive(node) && node.pressures.length > 0);
}

/** Returns true if the guest runs in this pod. The guest does not stop if only the target pod of its migration ends. */
function isGuestOf(vmi: VmiFacts, podUID: string): boolean {
  return Object.keys(vmi.activePods).length === 0 || vmi.activePods[podUID] === vmi.nodeName;
}

interface Selecting extends PressureWorld {
  readonly candidateNodes: { readonly node: FitNode; room: Room }[];
  readonly ending: ReadonlyMap<string, unknown>;
}

/** In these phases KubeVirt does nothing for a VM, so another VM can leave the node instead. */
const STUCK: ReadonlySet<Phase> = new Set<Phase>(["BackingOff", "Blocked", "WaitingForExternalController"]);

/**
 * Returns true if the VM counts toward the node's limit of outbound migrations. A VM does not count if it has no
 * migration and its Evacuation is in a STUCK phase, so that other VMs can leave.
 */
function takesPlace({ vmi, pod }: VmOnNode, node: NodeFacts, { settings, ending, evacuations }: Selecting): boolean {
  // KubeVirt's limit includes migrations of users and of external controllers.
  if (ending.has(vmi.uid) || vmi.isMigrating) return true;
  const phase = activeEvacuation(vmi, ofVmi(evacuations, vmi), pod.uid)?.status.phase;
  const isToMigrate = canMigrate(vmi, settings) && (isMarked(vmi) || carriesDrainTaint(node, settings));
  return isToMigrate && !(phase !== undefined && STUCK.has(phase));
}

/**
 * Selects VMs until the node's migration limit is reached. The VM with the lowest cost (see `byCost`) comes first, and
 * a VM is selected only if it fits on another node. A VM that has recently moved comes last, and moves only if no other
 * VM is leaving.
 */
function selectVictims(
  { node, labels, vmsOnNode }: PressureWorld["pressured"][number],
  w: Selecting,
): readonly (readonly Action[])[] {
  const { parallelOutboundMigrationsPerNode } = w.settings.limits;
  const hasJustMoved = ({ vmi }: VmOnNode) => cooldownLeft(vmi, w) > 0;
  const candidates = vmsOnNode.filter((vmOnNode) => isCandidate(vmOnNode, w));
  const inTurn = candidates.toSorted((a, b) => Number(hasJustMoved(a)) - Number(hasJustMoved(b)) || byCost(a, b));
  const why = MESSAGES.condition(node.pressures);
  let leaving = vmsOnNode.filter((vmOnNode) => takesPlace(vmOnNode, node, w)).length;
  const chains = externalVictims(inTurn, vmsOnNode, w).map(({ vmi, pod }) => markFor(vmi, why, w, pod));
  for (const vmOnNode of inTurn.filter(({ vmi }) => canMigrate(vmi, w.settings))) {
    const { vmi, pod } = vmOnNode;
    const places = hasJustMoved(vmOnNode) ? 1 : parallelOutboundMigrationsPerNode;
    const next = renderTarget(pod, vmi, { name: node.name, labels }, w.settings);
    const candidateNode = leaving < places ? w.candidateNodes.find((one) => canTake(one, next)) : undefined;
    if (candidateNode === undefined) continue;
    candidateNode.room = roomWith(candidateNode.room, { ...next.pod, phase: pod.phase });
    leaving += 1;
    chains.push(markFor(vmi, why, w, pod));
  }
  return chains;
}

/**
 * Selects VMs with the strategy External. Lifeboat only sets their evacuationNodeName, and an external controller
 * decides where and when they move. If a VM has not moved within `stuckSeconds`, Lifeboat selects further VMs, so that
 * an idle controller blocks no other VM.
 */
function externalVictims(
  inTurn: readonly VmOnNode[],
  vmsOnNode: readonly VmOnNode[],
  { settings, evacuations, now }: Selecting,
): readonly VmOnNode[] {
  const isExternal = ({ vmi }: VmOnNode) => !MIGRATES[strategyOf(vmi, settings)];
  const hasTime = ({ vmi, pod }: VmOnNode) => {
    const asked = activeEvacuation(vmi, ofVmi(evacuations, vmi), pod.uid);
    return asked !== undefined && secondsSince(asked.createdAt, now) < settings.evacuation.stuckSeconds;
  };
  const leaving = vmsOnNode.filter((one) => isExternal(one) && (one.vmi.isMigrating || hasTime(one))).length;
  const places = Math.max(0, settings.limits.parallelOutboundMigrationsPerNode - leaving);
  return inTurn.filter(isExternal).slice(0, places);
}

function isCandidate({ vmi, pod }: VmOnNode, { ending, evacuations, settings, now }: Selecting): boolean {
  const isGuest = vmi.nodeName === pod.nodeName && !pod.deleting && !vmi.isMigrating;
  if (!isGuest || !shouldEvacuate(vmi, settings)) return false;
  const backingOff = backingOffEvacuation(vmi, ofVmi(evacuations, vmi), { now, podUID: pod.uid });
  return !isLeaving(vmi, evacuations, pod.uid) && !ending.has(vmi.uid) && backingOff === undefined;
}

/**
 * Compares two VMs. The VM with the lower priority comes first. If the priorities are equal, the VM with more guest
 * memory above its pod's memory request comes first.
 */
function byCost(a: VmOnNode, b: VmOnNode): number {
  return (a.pod.priority ?? 0) - (b.pod.priority ?? 0) || overRequest(b) - overRequest(a);
}

function overRequest({ vmi, pod }: VmOnNode): number {
  return (vmi.guestMemory ?? 0) - (pod.requests["memory"] ?? 0);
}

/**
 * Returns true if the scheduler can place the target pod on the node. Excludes all nodes under pressure, because most
 * pods tolerate the taint for memory pressure.
 */
export function canTake(spot: Spot, { pod, cpu, least }: NextPod<VmOnNode["pod"]>): boolean {
  const { name, pressures } = spot.node;
  const fits = (one: VmOnNode["pod"]) => obstacleTo(one, spot, { cpu }) === undefined;
  return name !== pod.nodeName && pressures.length === 0 && (fits(pod) || (least !== undefined && fits(least.pod)));
}

function markFor(vmi: VmiFacts, by: string, w: PressureWorld, pod: Pick<PodFacts, "name" | "uid">): readonly Action[] {
  const { settings, now, evacuations } = w;
  const says = cooldownLeft(vmi, w) > 0 ? MESSAGES.movesAgain : MESSAGES.moves;
  const origin = { cause: "NodePressure", requestedBy: by, pod: { name: pod.name, uid: pod.uid } } as const;
  const evacuation = newEvacuation(vmi, origin, { evacuations: ofVmi(evacuations, vmi), now });
  return [
    { verb: "CreateEvacuation", evacuation },
    ...markActions(vmi, "NodePressure", settings, pod),
    recordEvent(vmi, "NodeUnderPressure", says(by, vmi.nodeName), evacuation.name),
  ];
}
