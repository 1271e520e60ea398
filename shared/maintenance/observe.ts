/**
 * Observing what a NodeEvacuation depends on. While VMs move, that is the node, its VMs and the NodeEvacuation's own Evacuations; what
 * costs more (VirtualMachines, other pods, the room elsewhere) is read where something depends on it.
 */
import { isActive } from "../kube/evacuation.ts";
import { activeEvacuation } from "../evacuation/identity.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { type Client, named } from "../kube/client.ts";
import { evacuationsOf, kubeVirt, vmisOn } from "../kube/requests.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { isFinal, keyOf } from "../kube/objects.ts";
import { hasEnded, isOpen, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import type { PreflightFacts } from "../preflight/facts.ts";
import { readPodsOf as observePodsOf, readPreflight as observePreflight } from "../preflight/read.ts";
import { subjectsOf } from "../preflight/progress.ts";
import type { Observer } from "../settings/load-settings.ts";
import { boundAmong, flagsOf, restartObstacle } from "./forecast.ts";
import { aheadOf, placedFirst } from "./beside.ts";
import { isCalm, isShutdownDue } from "./blockers.ts";
import { viewsOf } from "./held-back.ts";
import { isRestarting } from "./leaving.ts";
import { returning } from "./returning.ts";
import { goneOf, keptOf, observeBound, MOST_VMS, othersOf, prioritiesOf } from "./observe-vms.ts";
import { nextOfNode, NOT_READ } from "./rules.ts";
import { heldUntil, inOrder, placesFree, viewOf, type VmView } from "./vms.ts";
import { type Candidate, hasStarted, isDue, type NodeWorld, type VmFacts } from "./world.ts";

export interface Looking extends Observer {
  /** Every NodeEvacuation. */
  readonly all: readonly NodeEvacuationFacts[];
  /** Whether the forecast of one that is scheduled, and the room for a restart that had none, are looked at again. */
  readonly isThorough: boolean;
}

const NOTHING = {
  vmis: [],
  evacuations: [],
  others: [],
  vms: new Map(),
  obstacles: new Map(),
  bound: new Map(),
  kept: new Map(),
  candidates: [],
  returning: [],
  gone: new Map(),
} as const;

export async function observeNode(ne: NodeEvacuationFacts, looking: Looking): Promise<NodeWorld> {
  const { cluster, settings, now, all } = looking;
  const before = all.find(({ name }) => name === ne.spec.schedule.after);
  const [node, nodeBefore, evacuations] = await Promise.all([
    cluster.get("nodes", named(ne.spec.nodeName)),
    before && cluster.get("nodes", named(before.spec.nodeName)),
    hasStarted(ne) ? ownEvacuations(ne, cluster) : [],
  ]);
  const rivals = all.filter(({ uid, spec }) => uid !== ne.uid && spec.nodeName === ne.spec.nodeName);
  const world = { settings, now, ne, node, rivals, before: { ne: before, node: nodeBefore }, ...NOTHING, evacuations };
  if (hasEnded(ne)) {
    const gone = await goneOf(world, cluster);
    const isBack = isOpen(ne) && node?.unschedulable === false;
    return { ...world, gone, returning: isBack ? await returning(world, cluster) : [] };
  }
  if (node === undefined) return world;
  if (hasStarted(ne)) return await observeLeaving(world, looking);
  return await observeWaiting(world, looking);
}

/** What one that has not begun would find, or one that a person is about to create. */
export async function observeForecast(
  ne: NodeEvacuationFacts,
  observer: Observer & Pick<Looking, "all">,
): Promise<NodeWorld> {
  const { settings, now } = observer;
  const world = { settings, now, ne, node: undefined, rivals: [], before: {}, ...NOTHING };
  return await withPreflight(world, { ...observer, isThorough: true });
}

/** One that is to start if what is found is good enough waits for the end of a rollout. */
async function observeWaiting(before: NodeWorld, looking: Looking): Promise<NodeWorld> {
  const isAsked = before.ne.spec.startIf !== "Always" && isDue(before.ne, before.now);
  const kubevirt = isAsked ? await kubeVirt(looking.cluster) : undefined;
  const world = { ...before, isRollingOut: kubevirt?.isRollingOut === true };
  return looking.isThorough || dependsOnPreflight(world) ? await withPreflight(world, looking) : world;
}

/** One that is to start, or that has not said yet what will happen. */
function dependsOnPreflight(world: NodeWorld): boolean {
  const next = nextOfNode(world);
  if (next === "Nothing" || next.phase !== "Scheduled") return false;
  return next === NOT_READ || world.ne.status.verdict === undefined;
}

async function ownEvacuations({ name, uid }: NodeEvacuationFacts, cluster: Client) {
  const found = await cluster.list("evacuations", { fields: { "spec.nodeEvacuation.name": name } });
  return found.filter(({ spec }) => spec.nodeEvacuation?.uid === uid);
}

async function withPreflight(world: NodeWorld, looking: Looking): Promise<NodeWorld> {
  const preflight = await observeBeside(world, looking);
  const bound = boundAmong(preflight?.vmis ?? [], preflight?.otherNodes ?? []);
  const known = { ...world, bound };
  const vms = await readVms(
    (preflight?.vmis ?? []).filter((vmi) => mayDepend(vmi, known)),
    looking,
  );
  return { ...known, preflight, vms };
}

/** So many other nodes that are being emptied are looked at: each is read in full. */
const MOST_AHEAD = 5;

async function observeBeside({ ne }: NodeWorld, looking: Looking): Promise<PreflightFacts | undefined> {
  const ahead = aheadOf(ne, looking.all, looking.now).slice(0, MOST_AHEAD);
  const [found, ...others] = await Promise.all([
    observePreflight(ne.spec.nodeName, flagsOf(ne.spec), looking),
    ...ahead.map(async (one) => ({
      ...(await observePodsOf(one.spec.nodeName, flagsOf(one.spec), looking)),
      ne: one,
    })),
  ]);
  return found && placedFirst(found, others);
}

async function observeLeaving(before: NodeWorld, looking: Looking): Promise<NodeWorld> {
  const { ne, node } = before;
  const { cluster, isThorough } = looking;
  const here = (await vmisOn(ne.spec.nodeName, cluster)).filter((vmi) => !isFinal(vmi));
  const vmis = inOrder(here, ne.spec.virtualMachines.order, await prioritiesOf(here, ne, cluster));
  const [others, gone, bound] = await Promise.all([
    othersOf(here, before, cluster),
    goneOf({ ...before, vmis: here }, cluster),
    observeBound(here, ne, cluster),
  ]);
  const world = { ...before, others, gone, bound };
  const pinned = vmis.filter((vmi) => mayDepend(vmi, world)).toSorted(goingFirst(world));
  const known = isThorough ? [] : ne.status.blockers.filter(({ reason }) => reason === "NoRestart");
  const obstacles = new Map(known.map((blocker) => [keyOf(blocker), blocker.message]));
  const read = { ...world, vmis, vms: await readVms([...turnedOff(world, vmis), ...pinned], looking), obstacles };
  const seen = { ...read, kept: await keptOf(read, cluster) };
  const isRunning = ne.spec.progress === "Running" && node?.unschedulable === true;
  const calm = await whenCalm(seen, looking);
  return isRunning ? await whenCalm(await withCandidates(calm, looking), looking) : calm;
}

/** With the pods of the node, if no VM moves. */
async function whenCalm(world: NodeWorld, looking: Looking): Promise<NodeWorld> {
  const { ne } = world;
  if (world.subjects !== undefined || !isCalm(viewsOf(world))) return world;
  const pods = await observePodsOf(ne.spec.nodeName, flagsOf(ne.spec), looking);
  const nowhere = { otherNodes: [], otherPods: [], migratingElsewhere: [], leavingElsewhere: [] };
  const around = { ...nowhere, volumes: [], finished: [] };
  const found = await looking.cluster.get("nodes", named(ne.spec.nodeName), { as: NodeWithResources });
  return found === undefined ? world : { ...world, subjects: subjectsOf({ ...pods, ...around, node: found }) };
}

const MAY_DEPEND: ReadonlySet<string> = new Set(["NotMigratable", "BoundToNode", "Abandoned"]);

/** Whether its VirtualMachine may say what becomes of it. */
function mayDepend(vmi: VmiFacts, w: NodeWorld): boolean {
  const { whenBlocked, ownersChoice, whenAttemptsFail } = w.ne.spec.virtualMachines;
  if (whenBlocked === "Wait" && ownersChoice === "Ignored" && whenAttemptsFail === "Wait") return false;
  const { fate, blocker } = viewOf(vmi, w);
  return fate === "Goes" || (fate === "Blocked" && MAY_DEPEND.has(blocker?.reason ?? ""));
}

/** Restarted, and not on the node any more: their owners may have stopped or deleted them meanwhile. */
function turnedOff({ evacuations }: NodeWorld, here: readonly VmiFacts[]): readonly NamespacedName[] {
  const restarting = evacuations.filter(({ status }) => status.phase === "Restarting");
  const vms = restarting.map(({ namespace, spec }) => ({ namespace, name: spec.vmiName }));
  return vms.filter((vm) => here.every((vmi) => keyOf(vmi) !== keyOf(vm)));
}

/** Those that their eviction ends make room for the others. */
function goingFirst(w: NodeWorld) {
  const stays = (vmi: VmiFacts) => Number(viewOf(vmi, w).fate !== "Goes");
  return (a: VmiFacts, b: VmiFacts) => stays(a) - stays(b);
}

async function readVms(vmis: readonly NamespacedName[], { cluster }: Looking): Promise<NodeWorld["vms"]> {
  const read = vmis.slice(0, MOST_VMS).map(async (vmi) => {
    return [keyOf(vmi), (await cluster.get("virtualmachines", vmi)) ?? "None"] as const;
  });
  return new Map(await Promise.all(read));
}

async function withCandidates(world: NodeWorld, looking: Looking): Promise<NodeWorld> {
  const views = viewsOf(world);
  const moving = await movable(views, world, looking);
  const due = views.filter((view) => isShutdownDue(view, world));
  const stops = due.filter(({ way }) => way === "ShutDown");
  const restarts = isRestarting(world) ? [] : due.filter(({ way }) => way === "Restart");
  const judged = restarts.length === 0 ? world : await withPreflight(world, looking);
  const all = new Map([...judged.vms, ...world.vms]);
  const obstacles = new Map(world.obstacles);
  let restart: VmView | undefined;
  for (const view of restarts) {
    const why = judged.preflight === undefined ? "the node is gone" : restartObstacle(view.vmi, judged.preflight, all);
    if (why !== undefined) obstacles.set(keyOf(view.vmi), `it would not start on another node: ${why}`);
    else restart ??= view;
  }
  // One that would not start again blocks the node: no guest ends for that.
  const isOpen = world.ne.spec.forceShutdowns || restarts.every(({ vmi }) => !obstacles.has(keyOf(vmi)));
  const shutdowns = await candidatesOf(isOpen ? [...stops, ...(restart ? [restart] : [])] : [], looking);
  const vms = new Map([...judged.vms, ...world.vms, ...moving.vms]);
  return { ...world, obstacles, vms, candidates: [...moving.candidates, ...shutdowns] };
}

async function candidateOf(vmi: VmiFacts, { cluster }: Looking): Promise<Candidate> {
  return { vmi, evacuations: await evacuationsOf(vmi, cluster) };
}

/** Another function may have begun since: of these there is one at a time. */
async function candidatesOf(views: readonly VmView[], looking: Looking): Promise<readonly Candidate[]> {
  const found = await Promise.all(views.map(({ vmi }) => candidateOf(vmi, looking)));
  return found.filter(({ evacuations }) => !evacuations.some((e) => isActive(e) && isShutdown(e)));
}

/** In their order, as many as places are free; those whose owner wants them to stay for now are passed over. */
async function movable(views: readonly VmView[], world: NodeWorld, looking: Looking) {
  let free = placesFree(views, world);
  const vms = new Map<string, VmFacts | "None">();
  const candidates: Candidate[] = [];
  for (const { vmi } of views.filter(({ fate }) => fate === "Next")) {
    if (free <= 0) break;
    const vm = await ownerOfVmi(vmi, world, looking);
    if (heldUntil(vm, world.ne.spec, world.now) !== undefined) vms.set(keyOf(vmi), vm);
    else {
      const candidate = await candidateOf(vmi, looking);
      // A drain, a person or another function has begun it.
      if (activeEvacuation(vmi, candidate.evacuations) === undefined) candidates.push(candidate);
      free -= 1;
    }
  }
  return { candidates, vms };
}

async function ownerOfVmi(vmi: VmiFacts, { ne }: NodeWorld, { cluster }: Looking): Promise<VmFacts | "None"> {
  if (ne.spec.virtualMachines.ownersChoice === "Ignored") return "None";
  return (await cluster.get("virtualmachines", vmi)) ?? "None";
}
