/**
 * Node pressure: which VMs leave a node before its kubelet kills them, and which while it does.
 * Owns: `shouldEvacuate`, and the choice of the cheapest. Does not own: noticing pressure (the relay, world.ts).
 *
 * The kubelet does not ask the API server. So the earliest sign, the node's condition, is acted upon proactively; what
 * is signalled while a guest is being shut down is acted upon too, but that is a race.
 */
import { type Action, tell } from "./action.ts";
import { beginRecord, isActive, restingRecord } from "./record.ts";
import { isFinal, type NodeFacts, type PodFacts, type VmiFacts } from "./facts.ts";
import { markActions } from "./mark.ts";
import type { Plan } from "./plan.ts";
import type { Settings } from "./settings.ts";
import { isToMigrate, strategyOf } from "./stage.ts";
import { MIGRATES, mobilityOf } from "./strategy.ts";

/** What a node agent sees of a guest; `gracefulShutdown`: its launcher has been told to shut it down. */
export interface Domain {
  readonly status: string;
  readonly gracefulShutdown: boolean;
}

/** Domain states (libvirt's, as KubeVirt names them) in which there is nothing to move. */
const DEAD_DOMAINS: ReadonlySet<string> = new Set(["", "Shutoff", "Crashed", "NoState", "Unknown"]);

/** Whether a guest that is being shut down should move instead. Every guard of the node pressure proposal. */
export function shouldEvacuate(vmi: VmiFacts, domain: Domain, settings: Settings): boolean {
  const running = vmi.phase === "Running" && !vmi.deleting && vmi.nodeName !== undefined;
  return running && !DEAD_DOMAINS.has(domain.status) && domain.gracefulShutdown && isToMove(vmi, settings);
}

/** External always: to be marked is all it asks for. */
function isToMove(vmi: VmiFacts, settings: Settings): boolean {
  const strategy = strategyOf(vmi, settings);
  return strategy === "External" || (MIGRATES[strategy] && mobilityOf(vmi) === "migratable");
}

function isLeaving(vmi: VmiFacts): boolean {
  return (
    isActive(vmi.record, vmi.nodeName) ||
    (vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName)
  );
}

export interface Resident {
  readonly vmi: VmiFacts;
  readonly pod: PodFacts;
}

/** A node that could take VMs, and how many bytes of memory its pods leave free. */
export interface Taker {
  readonly node: NodeFacts;
  readonly freeMemory: number;
}

export interface PressureWorld {
  readonly pressured: readonly {
    readonly node: NodeFacts;
    readonly residents: readonly Resident[];
    /** Launcher pods still there whose VM has moved: they hold memory yet, and its relief is still to come. */
    readonly departing?: number;
  }[];
  readonly takers: readonly Taker[];
  /** Guests that are being ended by a kubelet, or shut down: who says so. */
  readonly signals: readonly {
    readonly vmi: VmiFacts;
    readonly podUID?: string;
    readonly domain: Domain;
    readonly by: string;
  }[];
  readonly settings: Settings;
  readonly now: Date;
}

/** While a node is under pressure, how soon it is looked at again: a VM that has left makes room for the next. */
const LOOK_AGAIN_SECONDS = 5;

export function planPressure(w: PressureWorld): Plan {
  const gate = w.settings.featureGates.includes("NodePressureEvictionLiveMigration");
  if (!gate || !w.settings.reconcilers.pressure) return { chains: [] };
  const takers = w.takers.filter(({ node }) => isTaker(node)).map((taker) => ({ ...taker }));
  const ending = endingOf(w);
  const reactive = [...ending.values()].map(({ vmi, by, podUID }) => markFor(vmi, by, w, podUID));
  const proactive = w.pressured.flatMap((node) => relieve(node, { ...w, takers, ending }));
  const chains = [...reactive, ...proactive];
  // What is marked now is evacuated by whoever looks next.
  if (chains.length > 0) return { chains, requeueAfterSeconds: 0 };
  const waiting = w.pressured.some(({ residents }) => residents.some(({ vmi }) => isToMove(vmi, w.settings)));
  return { chains, ...(waiting ? { requeueAfterSeconds: LOOK_AGAIN_SECONDS } : {}) };
}

/** Guests to be saved from their end, by UID: each once, however many signals there are. */
function endingOf({ signals, settings }: PressureWorld): ReadonlyMap<string, PressureWorld["signals"][number]> {
  const saved = signals.filter(({ vmi, podUID, domain }) => {
    return shouldEvacuate(vmi, domain, settings) && !isLeaving(vmi) && isGuestOf(vmi, podUID);
  });
  return new Map(saved.map((signal) => [signal.vmi.uid, signal]));
}

/** The end of the pod that a migration goes to is not the guest's. */
function isGuestOf(vmi: VmiFacts, podUID: string | undefined): boolean {
  if (podUID === undefined || Object.keys(vmi.activePods).length === 0) return true;
  return vmi.activePods[podUID] === vmi.nodeName;
}

interface Relief extends PressureWorld {
  readonly takers: { readonly node: NodeFacts; freeMemory: number }[];
  /** Marked by this very plan, because they are being ended. */
  readonly ending: ReadonlyMap<string, unknown>;
}

/**
 * Whether it takes one of the places of its node: as good as under way. Not so for what only a record says, or for a VM that
 * is marked and waits for its owner: two of these, and whoever may edit them would keep the VMs of others there.
 */
function takesPlace(vmi: VmiFacts, node: NodeFacts, { settings, ending }: Relief): boolean {
  const draining = node.taints.some((t) => t.key === settings.drainTaintKey && t.effect === "NoSchedule");
  return ending.has(vmi.uid) || isToMigrate(vmi, new Set(draining ? [node.name] : []), settings);
}

/** As many as may leave a node at once, the cheapest first, each only if some other node has room for it. */
function relieve(
  { node, residents, departing = 0 }: PressureWorld["pressured"][number],
  w: Relief,
): readonly (readonly Action[])[] {
  const leaving = residents.filter(({ vmi }) => takesPlace(vmi, node, w)).length + departing;
  let places = w.settings.limits.parallelOutboundMigrationsPerNode - leaving;
  const chains: (readonly Action[])[] = [];
  for (const { vmi, pod } of residents.filter((r) => isCandidate(r, w)).toSorted(byCost)) {
    const taker = places > 0 ? w.takers.find((t) => canTake(t, node, pod)) : undefined;
    if (taker === undefined) continue;
    taker.freeMemory -= pod.memoryRequest ?? 0;
    places -= 1;
    chains.push(markFor(vmi, `node condition ${node.pressures.join(", ")}`, w, pod.uid));
  }
  return chains;
}

/** Whoever has just failed to leave is left alone until that has rested. */
function isCandidate({ vmi, pod }: Resident, { ending, settings, now }: Relief): boolean {
  const live =
    !vmi.deleting && !isFinal(vmi) && vmi.phase === "Running" && vmi.nodeName === pod.nodeName && !pod.deleting;
  const free = !isLeaving(vmi) && !ending.has(vmi.uid) && restingRecord(vmi, settings, now) === undefined;
  return live && free && MIGRATES[strategyOf(vmi, settings)] && mobilityOf(vmi) === "migratable";
}

/** Lowest priority first; then whoever can use most memory beyond what it requested. */
function byCost(a: Resident, b: Resident): number {
  return (a.pod.priority ?? 0) - (b.pod.priority ?? 0) || overRequest(b) - overRequest(a);
}

function overRequest({ vmi, pod }: Resident): number {
  return (vmi.guestMemory ?? 0) - (pod.memoryRequest ?? 0);
}

function canTake({ node, freeMemory }: Taker, from: NodeFacts, pod: PodFacts): boolean {
  return node.name !== from.name && freeMemory >= (pod.memoryRequest ?? 0);
}

/** Nodes that a VM may be scheduled to: the scheduler has the last word, but where it will say no nothing begins. */
export function isTaker(node: NodeFacts): boolean {
  const repels = node.taints.some((taint) => taint.effect === "NoSchedule" || taint.effect === "NoExecute");
  return node.ready && !node.unschedulable && node.pressures.length === 0 && !repels;
}

function markFor(vmi: VmiFacts, by: string, { settings, now }: PressureWorld, podUID?: string): readonly Action[] {
  const node = vmi.nodeName ?? "";
  const begin = { cause: "NodePressure", requestedBy: by, node, ...(podUID === undefined ? {} : { podUID }) } as const;
  const record = beginRecord(vmi, begin, now);
  return [
    ...markActions(vmi, record, { settings, now }),
    tell(vmi, "NodeUnderPressure", `${by}: moving the VM off node ${node}`, record.id),
  ];
}
