/**
 * Reconciling: one VMI, what the relay was told of, everything under way, or the whole cluster.
 *
 * Every look reads what it decides on, so that any number of them may run at once and be ended anywhere.
 */
import { ClusterError, isOddObject } from "../cluster/failure.ts";
import { type EvacuationFacts, keyOf, type NamespacedName, type PodFacts } from "../policy/facts.ts";
import { isGateOn } from "../policy/guard/guarded.ts";
import { isActive, isUnfinished } from "../policy/evacuation/phase.ts";
import { isShieldOn } from "../policy/shield/shield.ts";
import { vmiNameOf } from "../policy/kube/pod-kind.ts";
import { observeAll } from "./observe-all.ts";
import { observeNodes } from "./observe-nodes.ts";
import { observeNamed } from "./observe-subject.ts";
import { observeShield } from "./observe-shield.ts";
import { type Known, observeVmi } from "./observe-vmi.ts";
import { type Deps, eachOf, NOTHING, type Result, runReconcilers, sum } from "./perform.ts";
import { OF_A_VMI, OF_ALL, OF_NODES, OF_SHIELDED } from "./reconciler.ts";
import type { Pointer, World } from "./world.ts";

/** What one VM may take in a look at many: a few whose requests get no answer must not use up a tick. */
const VM_SECONDS = 5;

/** Looks at one VMI: what one of them writes down, a new Evacuation, a failed attempt or an end, the next one acts on. */
const LOOKS = 4;

/** Never throws a ClusterError: one VMI's trouble is no other's. */
export async function reconcileVmi(key: NamespacedName, deps: Deps, known: Known = {}): Promise<Result> {
  const results: Result[] = [];
  try {
    for (let look = 0; look < LOOKS; look++) {
      // What the caller knows is old by the second look.
      const world = await observeVmi(key, observerOf(deps), look === 0 ? known : { pods: known.pods ?? [] });
      const result = await runReconcilers(OF_A_VMI, world, deps);
      results.push({ ...result, pressed: pressedBy(world) });
      if (!result.again) break;
    }
  } catch (error) {
    results.push(failed(`reconciling VMI ${keyOf(key)}`, error, deps));
  }
  return sum(results);
}

function pressedBy({ evacuations }: World): readonly string[] {
  const active = evacuations.filter((e) => isActive(e) && e.spec.cause === "NodePressure");
  return active.flatMap(({ status }) => status.sourceNode ?? []);
}

function pressedNodes({ pressed }: Result): readonly Pointer[] {
  return pressed.map((name) => ({ kind: "Node", name }));
}

function failed(doing: string, error: unknown, { onFailure }: Deps): Result {
  if (!(error instanceof ClusterError)) throw error;
  onFailure(doing, error);
  return { ...NOTHING, failures: 1, refused: isOddObject(error.failure) ? 1 : 0 };
}

function observerOf({ cluster, settings, clock, onFailure }: Deps) {
  return { cluster, settings, now: clock(), onFailure };
}

async function reconcileOneOfMany(key: NamespacedName, deps: Deps, known: Known): Promise<Result> {
  return await reconcileVmi(key, { ...deps, cluster: deps.connect(VM_SECONDS) }, known);
}

/** Every evacuation that has not ended, and the nodes that VMs leave because of pressure. */
export async function reconcileActive(deps: Deps): Promise<Result> {
  const active = await deps.cluster.listEvacuations("Unfinished");
  const underWay = await eachVmi(active, deps);
  const pointers = pressedNodes(underWay);
  const ofNodes = await reconcileNodes({ pointers, pods: [], vmis: [], evacuations: active }, deps);
  return sum([underWay, ofNodes, await reconcileShield(deps)]);
}

/** `evacuations`: every one that has not ended. A `Duplicate` may hold a deadline besides, or what else a VM has to leave for. */
async function eachVmi(evacuations: readonly EvacuationFacts[], deps: Deps): Promise<Result> {
  const needsDuplicates = isGateOn("NoExecuteTaint", deps.settings);
  const byVmi = Map.groupBy(evacuations, vmiOf);
  const { results, left } = await eachOf(rotated([...byVmi.values()], deps.clock()), deps, async (ofVmi) => {
    const [first] = ofVmi;
    if (first === undefined) return NOTHING;
    const key = { namespace: first.namespace, name: first.spec.vmiName };
    return await reconcileOneOfMany(key, deps, needsDuplicates ? {} : { evacuations: ofVmi });
  });
  return sum([...results, { ...NOTHING, left }]);
}

function vmiOf({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}

/** The golden ratio: starts that are so far apart are spread evenly, however many items there are. */
const STEP = (Math.sqrt(5) - 1) / 2;

/** Starts at another item every minute: those that used up the time of one tick are not the first of the next. */
function rotated<T>(items: readonly T[], now: Date): readonly T[] {
  const turns = Math.floor(now.getTime() / 60_000) * STEP;
  const first = Math.floor((turns % 1) * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}

/** What the relay was told of. */
export async function reconcilePointed(pointers: readonly Pointer[], deps: Deps): Promise<Result> {
  const { cluster } = deps;
  const named = pointers.flatMap((p) => (p.kind === "Pod" || p.kind === "EndingPod" ? [p] : []));
  const reads = await Promise.all(named.map((p) => attempt(`reading pod ${keyOf(p)}`, deps, () => cluster.getPod(p))));
  const pods = reads.flatMap(({ found }) => found ?? []);
  const keys = new Map([...pointers.flatMap(vmiKeyOf), ...pods.flatMap(vmiKeyOfPod)].map((key) => [keyOf(key), key]));
  const { results, left } = await eachOf([...keys.values()], deps, (key) => {
    return reconcileOneOfMany(key, deps, { pods: pods.filter((pod) => isOf(pod, key)) });
  });
  const underWay = sum([...reads.map(({ result }) => result), ...results, { ...NOTHING, left }]);
  const concerned = pointers.filter((p) => p.kind !== "VirtualMachineInstance" && p.kind !== "Pod");
  const told = [...concerned, ...pressedNodes(underWay)];
  if (told.length === 0) return underWay;
  const seen = await Promise.all(
    [...keys.values()].map((key) => attempt(`reading VMI ${keyOf(key)}`, deps, () => observeNamed(key, cluster))),
  );
  const vmis = seen.flatMap(({ found }) => found?.vmi ?? []);
  const evacuations = seen.flatMap(({ found }) => found?.evacuations ?? []);
  const { found: ofNodes = NOTHING, result } = await attempt("looking at nodes", deps, () =>
    reconcileNodes({ pointers: told, pods, vmis, evacuations }, deps),
  );
  return sum([underWay, ...seen.map((one) => one.result), ofNodes, result, await reconcileShield(deps)]);
}

/** What cannot be read is a failure, and no reason not to look at the rest. */
async function attempt<T>(
  doing: string,
  deps: Deps,
  work: () => Promise<T>,
): Promise<{ readonly found?: T; readonly result: Result }> {
  try {
    return { found: await work(), result: NOTHING };
  } catch (error) {
    return { result: failed(doing, error, deps) };
  }
}

function vmiKeyOf(p: Pointer): readonly NamespacedName[] {
  return p.kind === "VirtualMachineInstance" ? [{ namespace: p.namespace, name: p.name }] : [];
}

function vmiKeyOfPod(pod: PodFacts): readonly NamespacedName[] {
  const name = vmiNameOf(pod);
  return name === undefined ? [] : [{ namespace: pod.namespace, name }];
}

function isOf(pod: PodFacts, key: NamespacedName): boolean {
  return vmiKeyOfPod(pod).some((own) => keyOf(own) === keyOf(key));
}

/** Pressure and the drain taint; what begins by them is carried on at once. */
async function reconcileNodes(told: Parameters<typeof observeNodes>[0], deps: Deps): Promise<Result> {
  if (told.pointers.length === 0) return NOTHING;
  const world = await observeNodes(told, observerOf(deps));
  const begun = await runReconcilers(OF_NODES, world, deps);
  return sum([begun, await carryOn(world, begun, deps)]);
}

/** VMs for which a look at many has begun something. */
async function carryOn(before: World, begun: Result, deps: Deps): Promise<Result> {
  if (begun.done["CreateEvacuation"] === undefined) return NOTHING;
  const known = new Set(before.evacuations.map(({ uid }) => uid));
  const unfinished = await deps.cluster.listEvacuations("Unfinished");
  const vmis = new Set(unfinished.filter(({ uid }) => !known.has(uid)).map(vmiOf));
  return await eachVmi(
    unfinished.filter((e) => vmis.has(vmiOf(e))),
    deps,
  );
}

/** The full scan: everything under way, and whatever no event has told of. */
export async function reconcileAll(deps: Deps): Promise<Result> {
  const { world, unread } = await observeAll(observerOf(deps));
  const budgeted = { ...world, vmis: world.vmis.filter(({ namespace }) => !unread.has(namespace)) };
  const scanned = await Promise.all(
    OF_ALL.map((reconciler) => runReconcilers([reconciler], reconciler.name === "budget" ? budgeted : world, deps)),
  );
  const underWay = await eachVmi(world.evacuations.filter(isUnfinished), deps);
  return sum([...scanned, underWay, await carryOn(world, sum(scanned), deps), await reconcileShield(deps)]);
}

/** VMs that the shield covers; what has just begun counts. */
async function reconcileShield(deps: Deps): Promise<Result> {
  if (!isShieldOn(deps.settings)) return NOTHING;
  try {
    const world = await observeShield(await deps.cluster.listEvacuations("Active"), observerOf(deps));
    return await runReconcilers(OF_SHIELDED, world, deps);
  } catch (error) {
    return failed("looking after the shield", error, deps);
  }
}
