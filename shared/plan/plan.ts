/** A rolling maintenance, rehearsed: what happens on each node, in its order. */
import type { NodeVerdict, Outcome, PodVerdict, Preflight } from "../preflight/facts.ts";
import { concluded } from "../preflight/verdict.ts";
import type { NodePlan, PlanFacts, PlanOptions } from "./facts.ts";
import { type Given, givenBy } from "./judge.ts";
import { placementOf } from "./placement.ts";
import { hasNoRoom, type Sequence, sequenceOf, type Step } from "./sequence.ts";

export interface Plan {
  readonly nodes: readonly NodePlan[];
  readonly verdict: NodeVerdict;
  /** Nodes that do not exist. */
  readonly missing: readonly string[];
}

export function planOf(f: PlanFacts, options: PlanOptions): Plan {
  const given = givenBy(f, options);
  const start = placementOf(f);
  const { steps } = sequenceOf(options.nodes, start, options, given);
  const rehearsals = rehearsalsOf(options, given).map((rehearse) => rehearse(options.nodes));
  const nodes = steps.map((step, at) => nodePlanOf(step, doubtsOf(at, step, rehearsals)));
  const planned = new Set(steps.map(({ node }) => node));
  return {
    nodes,
    verdict: worstOf(nodes),
    missing: options.nodes.filter((node) => !planned.has(node)),
  };
}

/**
 * The same again as it may turn out otherwise: VMs that leave in another order, a scheduler that fills nodes up, and nodes that are emptied
 * beside others. Only what holds in each of them is a promise.
 */
function rehearsalsOf({ parallel, template }: PlanOptions, given: Given) {
  const ordered = (order: typeof template.virtualMachines.order): Given => ({
    ...given,
    options: { ...given.options, template: { ...template, virtualMachines: { ...template.virtualMachines, order } } },
  });
  const others = (["LargestFirst", "SmallestFirst"] as const).filter((one) => one !== template.virtualMachines.order);
  const ways: readonly (readonly [Given, number])[] = [
    ...others.map((order) => [ordered(order), 0] as const),
    [{ ...given, scoring: "MostAllocated" }, 0],
    ...(parallel > 1 ? [[given, 1] as const] : []),
  ];
  return ways.map(([way, shift]) => (nodes: readonly string[]): Sequence => {
    return sequenceOf(nodes, placementOf(given.facts), { parallel, shift }, way);
  });
}

function doubtsOf(at: number, { node, found }: Step, rehearsals: readonly Sequence[]): readonly string[] {
  if (hasNoRoom(found)) return [];
  const homeless = rehearsals.flatMap(({ steps }) => {
    const other = steps[at];
    return other?.node === node && hasNoRoom(other.found) ? other.found.pods.filter(isHomeless) : [];
  });
  const [first] = homeless;
  if (first === undefined) return [];
  const name = `${first.namespace}/${first.vmi ?? first.name}`;
  return [`whether every VM finds room: with other choices of the scheduler ${name} would not`];
}

function isHomeless({ room, reason }: PodVerdict): boolean {
  return room?.fits === false || reason === "NoRestart";
}

function nodePlanOf({ node, found }: Step, doubts: readonly string[]): NodePlan {
  const { verdict, summary, pods, unknown }: Preflight =
    doubts.length === 0 ? found : concluded({ ...found, unknown: [...found.unknown, ...doubts] });
  const of = (...outcomes: readonly Outcome[]) => vmsOf(pods.filter(({ outcome }) => outcomes.includes(outcome)));
  const ending = vmsOf(pods.filter(({ outcome, reason }) => outcome === "ShutsDown" && reason === "Restart"));
  const moves = vmsOf(pods.filter(({ outcome, room }) => (outcome === "Moves" || outcome === "Waits") && room?.fits));
  return {
    node,
    verdict,
    summary,
    vms: vmsOf(pods).size,
    moves: moves.size,
    restarts: ending.size,
    shutdowns: of("ShutsDown").size - ending.size,
    pods,
    unknown,
  };
}

function vmsOf(pods: readonly PodVerdict[]): ReadonlySet<string> {
  return new Set(pods.flatMap(({ namespace, vmi }) => (vmi === undefined ? [] : [`${namespace}/${vmi}`])));
}

const WORST_FIRST = ["WillBlock", "NoRoom", "Unknown", "WillSucceedWithShutdowns"] as const;

export function worstOf(nodes: readonly Pick<NodePlan, "verdict">[]): NodeVerdict {
  return WORST_FIRST.find((one) => nodes.some(({ verdict }) => verdict === one)) ?? "WillSucceed";
}
