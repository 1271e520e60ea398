/**
 * Reconciles one VMI, the objects of an event, everything in progress, or the whole cluster. Several reconciles can run
 * at the same time, and a reconcile can be interrupted at any point.
 */
import { isDue } from "../evacuation/attempts.ts";
import { eachOf, rotated } from "../act/each-of.ts";
import { mayBeOver } from "../evacuation/world.ts";
import { type EvacuationFacts, isActive, isUnderWay, isUnfinished } from "../kube/evacuation.ts";
import type { NamespacedName, NodeFacts, VmiFacts } from "../kube/facts.ts";
import { isOpen, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { isNewsOf, ownerOf } from "../maintenance/world.ts";
import { isGateOn } from "../settings/guarded.ts";
import { attempt, carryOut, type Deps, isTime, NOTHING, type ReconcileRequest, type Result, sum } from "./carry-out.ts";
import { decideOnNodes } from "./nodes.ts";
import type { SignalsAsked } from "./pressure.ts";
import { scan } from "./scan.ts";
import { decideOnShield } from "./shield.ts";
import { decideAgain, decideFirst, type Known } from "./sources.ts";
import { reconcileTaints } from "./taints.ts";
import { reconcileMaintenance, type Which } from "./reconcile-maintenance.ts";
import { readActiveEvacuations, observeNamed, unfinishedEvacuations, vmiKeyOf, readVmisOn } from "../kube/requests.ts";
import { keyOf } from "../kube/objects.ts";
import { RECONCILE_MESSAGES as MESSAGES } from "./messages.ts";

/** The time limit for each VM, in seconds. Without it, requests without an answer could delay all other VMs. */
const VM_SECONDS = 5;
/** The maximum number of rounds. Each round acts on what the previous round wrote, for example on a new Evacuation. */
const MOST_RECONCILES = 4;
/** Reconciles one VMI. Never throws a ClusterError, so that the other VMIs are reconciled even if this one fails. */
export async function reconcileVmi(key: NamespacedName, deps: Deps, known: Known = {}): Promise<Result> {
  const results: Result[] = [];
  const { result } = await attempt(MESSAGES.reconcilingVmi(key), deps, async () => {
    for (let i = 0; i < MOST_RECONCILES; i++) {
      const { evacuations, plans } = await (i === 0 ? decideFirst(key, known, deps) : decideAgain(key, known, deps));
      const done = await carryOut(plans, deps);
      results.push({
        ...done,
        pressured: pressuredBy(evacuations),
        nodeEvacuations: nodeEvacuationsOf(evacuations, done),
      });
      if (!done.again) break;
    }
  });
  return sum([...results, result]);
}

function pressuredBy(evacuations: readonly EvacuationFacts[]): readonly string[] {
  const active = evacuations.filter((e) => isActive(e) && e.spec.cause === "NodePressure");
  return active.flatMap(({ status }) => status.sourceNode ?? []);
}

/** Returns the NodeEvacuations that may now move another VM, because a VM has left or cannot leave. */
function nodeEvacuationsOf(evacuations: readonly EvacuationFacts[], { done }: Result): readonly string[] {
  if (done["WriteStatus"] === undefined) return [];
  return evacuations.flatMap(({ spec }) => spec.nodeEvacuation?.name ?? []);
}

function pressuredNodes({ pressured }: Result): readonly ReconcileRequest[] {
  return pressured.map((name) => ({ kind: "Node", name }));
}

function observerOf({ cluster, settings, clock, onFailure }: Deps) {
  return { cluster, settings, now: clock(), onFailure };
}

async function reconcileOneOfMany(key: NamespacedName, deps: Deps, known: Known): Promise<Result> {
  return await reconcileVmi(key, { ...deps, cluster: deps.connect(VM_SECONDS) }, known);
}

export async function reconcileActive(deps: Deps): Promise<Result> {
  const active = await unfinishedEvacuations(deps.cluster);
  const ofVmis = await reconcileVmisOf(active, deps);
  const requests = pressuredNodes(ofVmis);
  const ofNodes = await reconcileNodes({ requests, pods: [], vmis: [], evacuations: active }, deps);
  const maintained = await empty(deps, { isConcerned: concernedBy(active, []), isThorough: true, isRolling: true });
  const others = [maintained, underWay(active), await reconcileTaints(deps, requeue), await reconcileShield(deps)];
  return sum([ofVmis, ofNodes, ...others]);
}

/**
 * Selects NodeEvacuations that have not ended, and NodeEvacuations whose cleanup is not complete. For example, an
 * earlier reconcile could not parse the Evacuation of a stopped VM. Lifeboat 0.3 started stopped VMs before it ended
 * the NodeEvacuation. The Evacuations of these VMs have the condition Released=True.
 */
function concernedBy(evacuations: readonly EvacuationFacts[], nodes: readonly NodeFacts[]) {
  const uids = new Set(evacuations.filter((e) => isActive(e) || isHeld(e)).map(({ spec }) => spec.nodeEvacuation?.uid));
  const cordons = new Set(nodes.map(({ cordonedBy }) => cordonedBy));
  return (ne: NodeEvacuationFacts) => isOpen(ne) || uids.has(ne.uid) || cordons.has(ownerOf(ne));
}

function isHeld({ status }: EvacuationFacts): boolean {
  return status.conditions.some((one) => one.type === "Released" && one.status === "False");
}

/** Reconciles VMs that are leaving and nodes that are being drained. Runs several times a minute. */
export async function reconcileUnderWay(deps: Deps): Promise<Result> {
  const active = (await unfinishedEvacuations(deps.cluster)).filter(isUnderWay);
  const nodes = Map.groupBy(active, ({ status }) => status.sourceNode ?? "");
  const ofNodes = [...nodes].map(([node, leaving]) =>
    attempt(MESSAGES.listingVmis(node), deps, async () => dueOf(leaving, await readVmisOn(node, deps.cluster), deps)),
  );
  const found = await Promise.all(ofNodes);
  const ofVmis = await reconcileVmisOf(
    found.flatMap((one) => one.found ?? []),
    deps,
  );
  const which = {
    isConcerned: (ne: NodeEvacuationFacts) => isOpen(ne) && isNewsOf(ne),
    isThorough: false,
    isRolling: false,
  };
  return sum([ofVmis, ...found.map(({ result }) => result), await empty(deps, which), underWay(active)]);
}

function underWay(evacuations: readonly EvacuationFacts[]): Result {
  return { ...NOTHING, isUnderWay: evacuations.some(isUnderWay) };
}

function dueOf(evacuations: readonly EvacuationFacts[], here: readonly VmiFacts[], { settings, clock }: Deps) {
  const now = clock();
  return evacuations.filter((e) => {
    const vmi = here.find(({ uid }) => uid === e.status.virtualMachineInstanceUID);
    return vmi === undefined || isDue(e, vmi, { settings, now });
  });
}

async function empty(deps: Deps, which: Which): Promise<Result> {
  return await reconcileMaintenance(deps, which, (key) => reconcileOneOfMany(key, liveOf(deps), {}));
}

async function reconcileVmisOf(evacuations: readonly EvacuationFacts[], deps: Deps): Promise<Result> {
  const byVmi = Map.groupBy(evacuations, (e) => keyOf(vmiOf(e)));
  const reconcile = async (ofVmi: readonly EvacuationFacts[]) => {
    const [key] = ofVmi.map(vmiOf);
    if (key === undefined) return NOTHING;
    const needsAll = deps.watched !== undefined || isGateOn("NoExecuteTaint", deps.settings) || ofVmi.some(mayBeOver);
    return await reconcileOneOfMany(key, deps, needsAll ? {} : { evacuations: ofVmi });
  };
  const { results, left } = await eachOf(rotated([...byVmi.values()], deps.clock()), reconcile, isTime(deps));
  return sum([...results, { ...NOTHING, left }]);
}

function vmiOf({ namespace, spec }: EvacuationFacts): NamespacedName {
  return { namespace, name: spec.vmiName };
}

export async function reconcileRequested(requests: readonly ReconcileRequest[], deps: Deps): Promise<Result> {
  const { cluster } = deps;
  const named = requests.filter((r) => r.kind === "Pod" || r.kind === "EndingPod");
  const reads = await Promise.all(
    named.map((r) => attempt(MESSAGES.readingPod(r), deps, () => cluster.get("pods", r))),
  );
  const pods = reads.flatMap(({ found }) => found ?? []);
  const vmis = requests.filter((r) => r.kind === "VirtualMachineInstance");
  const keys = [...new Map([...vmis, ...pods.flatMap(vmiKeyOf)].map((key) => [keyOf(key), key])).values()];
  const podsOf = Map.groupBy(pods, (pod) => vmiKeyOf(pod).map(keyOf).join());
  const reconcile = (key: NamespacedName) => reconcileOneOfMany(key, deps, { pods: podsOf.get(keyOf(key)) ?? [] });
  const { results, left } = await eachOf(keys, reconcile, isTime(deps));
  const ofVmis = sum([...reads.map(({ result }) => result), ...results, { ...NOTHING, left }]);
  const concerned = requests.filter((r) => r.kind === "Node" || r.kind === "EndingPod");
  const ofNodes = [...concerned, ...pressuredNodes(ofVmis)];
  const maintained = await emptyConcerned(requests, ofVmis, deps);
  if (ofNodes.length === 0) return sum([ofVmis, maintained]);
  const seen = await Promise.all(
    keys.map((key) => attempt(MESSAGES.readingVmi(key), deps, () => observeNamed(key, cluster))),
  );
  const subjects = seen.flatMap(({ found }) => found ?? []);
  const around = {
    requests: ofNodes,
    pods,
    vmis: subjects.flatMap(({ vmi }) => vmi ?? []),
    evacuations: subjects.flatMap(({ evacuations }) => evacuations),
  };
  const { found, result } = await attempt("reconciling nodes", deps, () => reconcileNodes(around, deps));
  const all = [ofVmis, maintained, ...seen.map((one) => one.result), found ?? NOTHING, result];
  return sum([...all, await reconcileShield(deps)]);
}

async function emptyConcerned(
  requests: readonly ReconcileRequest[],
  { nodeEvacuations }: Result,
  deps: Deps,
): Promise<Result> {
  const namesOf = (kind: ReconcileRequest["kind"]) => requests.filter((r) => r.kind === kind).map(({ name }) => name);
  const [names, nodes] = [new Set([...namesOf("NodeEvacuation"), ...nodeEvacuations]), new Set(namesOf("Node"))];
  const rolling = new Set(namesOf("RollingMaintenance"));
  if (names.size + nodes.size + rolling.size === 0) return NOTHING;
  const isNamed = ({ name, spec, owner }: NodeEvacuationFacts) =>
    names.has(name) || nodes.has(spec.nodeName) || rolling.has(owner?.name ?? "");
  const isConcerned = (ne: NodeEvacuationFacts) => isOpen(ne) && isNamed(ne);
  return await empty(deps, { isConcerned, isThorough: false, isRolling: rolling.size > 0 });
}

async function reconcileNodes(around: SignalsAsked, deps: Deps): Promise<Result> {
  if (around.requests.length === 0) return NOTHING;
  const decided = await decideOnNodes(around, observerOf(deps));
  const started = await carryOut(decided.plans, deps);
  const forTaints = decided.evacuations.filter((e) => isActive(e) && e.spec.cause === "NoExecuteTaint");
  return sum([started, await requeue(decided, started, deps), await reconcileVmisOf(forTaints, liveOf(deps))]);
}

/** Reads from the API server, because watches may not show a new object yet. */
const liveOf = (deps: Deps): Deps => ({ ...deps, watched: undefined });

async function requeue(
  before: { readonly evacuations: readonly EvacuationFacts[] },
  started: Result,
  deps: Deps,
): Promise<Result> {
  if (started.done["CreateEvacuation"] === undefined) return NOTHING;
  const known = new Set(before.evacuations.map(({ uid }) => uid));
  const unfinished = await unfinishedEvacuations(deps.cluster);
  const fresh = unfinished.filter(({ uid }) => !known.has(uid)).map((e) => keyOf(vmiOf(e)));
  return await reconcileVmisOf(
    unfinished.filter((e) => fresh.includes(keyOf(vmiOf(e)))),
    liveOf(deps),
  );
}

/** Reconciles the whole cluster, including changes for which no event has arrived. */
export async function reconcileAll(deps: Deps): Promise<Result> {
  const { plans, evacuations, nodes, isRolling } = await scan(observerOf(deps));
  const scanned = await Promise.all(plans.map((plan) => carryOut([plan], deps)));
  const unfinished = evacuations.filter(isUnfinished);
  const ofVmis = sum([await reconcileVmisOf(unfinished, deps), underWay(unfinished)]);
  const isConcerned = concernedBy(evacuations, nodes);
  const maintained = await empty(deps, { isConcerned, isThorough: true, isRolling });
  return sum([
    ...scanned,
    ofVmis,
    await requeue({ evacuations }, sum(scanned), deps),
    maintained,
    await reconcileShield(deps),
  ]);
}

async function reconcileShield(deps: Deps): Promise<Result> {
  if (!deps.settings.isShieldOn) return NOTHING;
  const work = async () => {
    return await carryOut(await decideOnShield(await readActiveEvacuations(deps.cluster), observerOf(deps)), deps);
  };
  const { found, result } = await attempt(MESSAGES.decidingOnShield, deps, work);
  return found ?? result;
}
