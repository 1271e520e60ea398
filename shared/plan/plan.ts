/** Simulates a rolling maintenance: what happens on each node, in which order and when. */
import { keyOf } from "../kube/objects.ts";
import { MAINTENANCE_MESSAGES } from "../maintenance/messages.ts";
import type { NodeVerdict, PodVerdict, Preflight } from "../preflight/facts.ts";
import { concluded } from "../preflight/verdict.ts";
import { hasCome } from "../settings/time.ts";
import { classText, type Evidence, evidenceOf, type VmClass } from "./evidence.ts";
import type { NodePlan, PlanFacts, PlanOptions, Range } from "./facts.ts";
import { type Given, givenBy, isUnjudged } from "./judge.ts";
import { PLAN_MESSAGES } from "./messages.ts";
import { type Ordered, plannedOrder, shortageOf } from "./order.ts";
import { type Placement, placementOf } from "./placement.ts";
import { powerOffObstacles } from "./power-off.ts";
import { type Doubt, rehearsed } from "./rehearsals.ts";
import { hasNoRoom, stepsOf, type Step } from "./sequence.ts";
import { type PlanTimes, timesOf } from "./time.ts";

export interface Plan {
  readonly verdict: NodeVerdict;
  readonly nodes: readonly NodePlan[];
  /** The start in RFC 3339. */
  readonly begins: string;
  readonly takes: Range;
  readonly basis: string;
  readonly evidence: Evidence;
  /**
   * Nodes that cannot be drained in any order that the plan tried, because their pods do not fit on other nodes. Absent
   * if the plan searched for no order.
   */
  readonly stuck?: readonly string[];
  readonly unread: readonly string[];
  readonly missing: readonly string[];
}

export function planOf(f: PlanFacts, asked: PlanOptions): Plan {
  const given = givenBy(f, asked);
  const start = placementOf(f);
  const planned = asked.order === "planned" ? plannedOrder(asked.nodes, start, asked.parallel, given) : undefined;
  const options = planned === undefined ? asked : { ...asked, nodes: planned.nodes };
  const steps = [...stepsOf(options.nodes, start, options, given)];
  const better = planned ?? orderBeside(steps, options, start, given);
  const evidence = evidenceOf(f);
  const times = timesOf(steps, f, options);
  const doubts = rehearsed(steps, start, options, given);
  const seen: Seen = { f, options, times, better };
  const leaving = leavingIn(steps, doubts, evidence);
  const nodes = steps.map((step, at) =>
    nodePlanOf(step, at, doubts[at] ?? NO_DOUBT, { ...seen, leaving: leaving[at] ?? new Map() }),
  );
  const exist = new Set(f.nodes.map(({ name }) => name));
  return {
    verdict: worstOf(nodes),
    nodes,
    begins: options.at.toISOString(),
    takes: times.total,
    basis: times.basis,
    evidence,
    ...(better && { stuck: better.stuck }),
    unread: [...f.unread, ...f.unreadAfterwards],
    missing: asked.nodes.filter((node) => !exist.has(node)),
  };
}

function orderBeside(steps: readonly Step[], { nodes, parallel }: PlanOptions, start: Placement, given: Given) {
  return steps.some(({ found }) => hasNoRoom(found)) ? plannedOrder(nodes, start, parallel, given) : undefined;
}

function classesOf({ classes }: Evidence): ReadonlyMap<string, VmClass> {
  return new Map(classes.flatMap((one) => one.vms.map((vm) => [vm, one] as const)));
}

/**
 * The VMs that leave a node, each with its class. The class is undefined if no running VM belongs to it now, for
 * example because no pod has the newest launcher image yet.
 */
type Leaving = ReadonlyMap<string, VmClass | undefined>;

/**
 * Returns the VMs that leave the node of each step. After a VM has left a node, it runs with the cluster's newest
 * launcher image, so its class changes for later steps.
 */
function leavingIn(steps: readonly Step[], doubts: readonly Doubt[], evidence: Evidence): readonly Leaving[] {
  const classes = classesOf(evidence);
  const renewed = new Set<string>();
  const classNow = (vm: string) => (renewed.has(vm) ? withLauncherNow(classes.get(vm), evidence) : classes.get(vm));
  return steps.map(({ found, judged }, at) => {
    if (doubts[at]?.isRefused) return new Map();
    const leaving = new Map([...vmsOf(found.pods, isMove)].map((vm) => [vm, classNow(vm)]));
    const ending = judged.mayEnd ? vmsOf(found.pods, ({ outcome }) => outcome === "ShutsDown") : [];
    for (const vm of [...leaving.keys(), ...ending]) renewed.add(vm);
    return leaving;
  });
}

function withLauncherNow(before: VmClass | undefined, { classes, launcher = "" }: Evidence): VmClass | undefined {
  return before && classes.find((one) => classText({ ...before, launcher }) === classText(one));
}

interface Seen {
  readonly f: PlanFacts;
  readonly options: PlanOptions;
  readonly times: PlanTimes;
  readonly better: Ordered | undefined;
}

interface NodeSeen extends Seen {
  readonly leaving: Leaving;
}

const NO_DOUBT: Doubt = { reasons: [], unsure: [], mayEnd: [], isRefused: false };
const NEVER: Range = { least: 0, most: 0 };

function nodePlanOf(step: Step, at: number, doubt: Doubt, seen: NodeSeen): NodePlan {
  return doubt.isRefused ? refusedPlanOf(step, at, seen) : drainedPlanOf(step, at, doubt, seen);
}

function refusedPlanOf(step: Step, at: number, seen: Seen): NodePlan {
  const { node, found } = step;
  const { starts, ends } = seen.times.steps[at] ?? { starts: NEVER, ends: NEVER };
  return {
    node,
    verdict: found.verdict,
    summary: found.summary,
    refusal: MAINTENANCE_MESSAGES.refused(seen.options.template.startIf, found.verdict, found.summary),
    vms: vmsOf(found.pods, () => true).size,
    moves: 0,
    restarts: 0,
    shutdowns: 0,
    waiting: 0,
    starts,
    ends,
    unproven: 0,
    failing: 0,
    ...lackOf(step, seen),
    unsure: [],
    powerOff: [PLAN_MESSAGES.notDrained],
    pods: found.pods,
    unknown: found.unknown,
  };
}

function drainedPlanOf(step: Step, at: number, { reasons, unsure, mayEnd }: Doubt, seen: NodeSeen): NodePlan {
  const { node, found } = step;
  const { starts, ends } = seen.times.steps[at] ?? { starts: NEVER, ends: NEVER };
  const failing = [...seen.leaving].filter(([, own]) => own?.proof === "Failing");
  const more = [
    ...reasons,
    ...startDoubts(step, seen.options.template),
    ...keptByOwners(step, starts, seen.options),
    ...failing.map(([vm, own]) => failingText(vm, own)),
  ];
  const concludes = more.length === 0 ? found : concluded({ ...found, unknown: [...found.unknown, ...more] });
  const { verdict, summary, unknown } = withShutdowns(concludes, mayEnd);
  const pods = step.judged.mayEnd ? concludes.pods : concludes.pods.map(heldBack);
  const restarts = vmsOf(pods, ({ outcome, reason }) => outcome === "ShutsDown" && reason === "Restart").size;
  const { until } = seen.options;
  return {
    node,
    verdict,
    summary,
    vms: vmsOf(pods, () => true).size,
    moves: seen.leaving.size,
    restarts,
    shutdowns: vmsOf(pods, ({ outcome }) => outcome === "ShutsDown").size - restarts,
    waiting: vmsOf(pods, ({ reason }) => reason === HELD_BACK).size,
    starts,
    ends,
    ...(until && { isInTime: seen.options.at.getTime() + ends.most * 1000 <= until.getTime() }),
    unproven: [...seen.leaving.values()].filter((own) => (own?.proof ?? "Unproven") === "Unproven").length,
    failing: failing.length,
    ...lackOf(step, seen),
    unsure,
    powerOff: powerOffObstacles(step, seen.f),
    pods,
    unknown,
  };
}

/**
 * Returns a note if it is uncertain whether the drain starts, because facts could not be read. Lifeboat might be
 * allowed to read more than the user, and might therefore reach another verdict than this plan.
 */
function startDoubts({ found, judged: { facts } }: Step, { startIf }: PlanOptions["template"]): readonly string[] {
  if (startIf === "Always" || !isUnjudged(found, facts)) return [];
  return [PLAN_MESSAGES.verdictUnknown(startIf)];
}

function keptByOwners({ found, judged: { vms } }: Step, { least }: Range, { at, template }: PlanOptions) {
  if (template.virtualMachines.ownersChoice === "Ignored") return [];
  const begins = new Date(at.getTime() + least * 1000);
  return [...vmsOf(found.pods, ({ outcome }) => outcome !== "Blocked")].flatMap((vm) => {
    const { notBefore } = vms.get(vm) ?? {};
    const isKept = notBefore !== undefined && !hasCome(notBefore, begins);
    return isKept ? [PLAN_MESSAGES.ownerKeeps(vm, notBefore)] : [];
  });
}

function lackOf(step: Step, seen: Seen): Pick<NodePlan, "shortage" | "roomAfter"> {
  const shortage = shortageOf(step);
  return shortage === undefined ? {} : { shortage, ...roomAfter(step.node, seen) };
}

/**
 * Adds to the summary the guests that can be shut down twice: first on a node that is drained before this node, and
 * then on this node after they have started again.
 */
function withShutdowns(found: Preflight, mayEnd: Doubt["mayEnd"]): Preflight {
  if (found.verdict !== "WillSucceed" || mayEnd.length === 0) return found;
  const summary = PLAN_MESSAGES.mayEndAgain(found.summary, mayEnd);
  return { ...found, verdict: "WillSucceedWithShutdowns", summary };
}

export const HELD_BACK = "HeldBack";

function heldBack(pod: PodVerdict): PodVerdict {
  if (pod.outcome !== "ShutsDown") return pod;
  const { room: _, remedy: __, ...rest } = pod;
  return { ...rest, outcome: "Waits", reason: HELD_BACK, message: PLAN_MESSAGES.heldBack(pod.message) };
}

function isMove({ outcome, room }: PodVerdict): boolean {
  return (outcome === "Moves" || outcome === "Waits") && room?.fits === true;
}

function failingText(vm: string, own: VmClass | undefined): string {
  const { times = 0, reason = "" } = own?.failed ?? {};
  return PLAN_MESSAGES.failing(vm, times, reason);
}

function roomAfter(node: string, { better }: Seen): { readonly roomAfter?: string } {
  if (better === undefined || better.stuck.includes(node)) return {};
  const before = better.nodes[better.nodes.indexOf(node) - 1];
  return before === undefined ? {} : { roomAfter: before };
}

function vmsOf(pods: readonly PodVerdict[], isIts: (pod: PodVerdict) => boolean): ReadonlySet<string> {
  return new Set(
    pods.flatMap((pod) =>
      pod.vmi !== undefined && isIts(pod) ? [keyOf({ namespace: pod.namespace, name: pod.vmi })] : [],
    ),
  );
}

const WORST_FIRST = ["WillBlock", "NoRoom", "Unknown", "WillSucceedWithShutdowns"] as const;

export function worstOf(nodes: readonly Pick<NodePlan, "verdict">[]): NodeVerdict {
  return WORST_FIRST.find((one) => nodes.some(({ verdict }) => verdict === one)) ?? "WillSucceed";
}
