/**
 * Simulates a maintenance several times. The simulations differ in the order of the VMs, in the choices of
 * kube-scheduler, and in the groups of nodes that are drained together. In one simulation, kube-scheduler prefers full
 * nodes. The plan promises only what happens in all simulations.
 */
import type { NodeVerdict, PodVerdict } from "../preflight/facts.ts";
import type { PlanOptions } from "./facts.ts";
import type { Given } from "./judge.ts";
import { PLAN_MESSAGES } from "./messages.ts";
import type { Placement } from "./placement.ts";
import { hasNoRoom, stepsOf, type Step } from "./sequence.ts";

type Template = PlanOptions["template"];

/** The result of all simulations for one node. */
export interface Doubt {
  /** Reasons why the plan might be wrong about this node: its pods might not fit, or its drain might not start. */
  readonly reasons: readonly string[];
  /** VMs, as `namespace/name`, that leave in some simulations and stay in others. */
  readonly unsure: readonly string[];
  /**
   * VMs, as `namespace/name`, whose guests an earlier drain shuts down. These VMs might start again on this node, and
   * the drain of this node then shuts them down again.
   */
  readonly mayEnd: readonly string[];
  /** True if the drain starts in no simulation. */
  readonly isRefused: boolean;
}

interface Outcome extends Pick<Step, "node" | "isRefused"> {
  readonly verdict: NodeVerdict;
  readonly homeless: readonly string[];
  readonly ending: readonly string[];
  readonly fates: ReadonlyMap<string, Fate>;
}

/** Returns what the simulations show about the node that each step drains. */
export function rehearsed(
  steps: readonly Step[],
  start: Placement,
  options: PlanOptions,
  given: Given,
): readonly Doubt[] {
  const others = waysOf(options, given).map(([way, shift]) =>
    Array.from(stepsOf(options.nodes, start, { ...options, shift }, way), outcomeOf),
  );
  const all = [steps.map(outcomeOf), ...others];
  const fates = all.map(worstFates);
  return steps.map((step, at) => {
    const homeless = new Set(others.flatMap((other) => homelessOn(other[at], step.node)));
    const starts = startsIn(
      all.flatMap((one) => one[at] ?? []),
      options.template.startIf,
    );
    const vms = step.found.pods.flatMap((pod) => (pod.vmi === undefined ? [] : [vmOf(pod)]));
    const doubts = hasNoRoom(step.found) || homeless.size === 0 ? [] : [PLAN_MESSAGES.mayHaveNoRoom([...homeless])];
    return {
      reasons: [...doubts, ...starts.reasons],
      isRefused: starts.isRefused,
      mayEnd: [...new Set(all.flatMap((one) => one.slice(0, at).flatMap(({ ending }) => ending)))].toSorted(),
      unsure: [...new Set(vms)].filter((vm) => new Set(fates.map((one) => one.get(vm))).size > 1).toSorted(),
    };
  });
}

function outcomeOf({ node, found, judged: { mayEnd }, isRefused }: Step): Outcome {
  const ofVms = found.pods.filter(({ vmi }) => vmi !== undefined);
  const ending = ofVms.filter(({ outcome }) => !isRefused && mayEnd && outcome === "ShutsDown");
  const fates = new Map<string, Fate>();
  for (const pod of ofVms) addFate(fates, vmOf(pod), isRefused ? "Stays" : fateOf(pod, mayEnd));
  return {
    node,
    isRefused,
    verdict: found.verdict,
    homeless: found.pods.filter(isHomeless).map(({ namespace, vmi, name }) => `${namespace}/${vmi ?? name}`),
    ending: ending.map(vmOf),
    fates,
  };
}

function vmOf({ namespace, vmi = "" }: PodVerdict): string {
  return `${namespace}/${vmi}`;
}

function startsIn(outcomes: readonly Outcome[], startIf: Template["startIf"]): Pick<Doubt, "reasons" | "isRefused"> {
  const [first, ...more] = outcomes.filter(({ isRefused }) => isRefused);
  if (first === undefined) return { reasons: [], isRefused: false };
  if (more.length === outcomes.length - 1) return { reasons: [], isRefused: true };
  const { node, verdict } = first;
  return { reasons: [PLAN_MESSAGES.mayBeRefused(node, startIf, verdict)], isRefused: false };
}

type Fate = "Stays" | "Ends" | "Moves";
const WORST_FIRST: readonly Fate[] = ["Stays", "Ends", "Moves"];

function worstFates(outcomes: readonly Outcome[]): ReadonlyMap<string, Fate> {
  const worst = new Map<string, Fate>();
  for (const { fates } of outcomes) for (const [vm, fate] of fates) addFate(worst, vm, fate);
  return worst;
}

function addFate(worst: Map<string, Fate>, vm: string, fate: Fate): void {
  const fates = [fate, worst.get(vm)];
  worst.set(vm, WORST_FIRST.find((one) => fates.includes(one)) ?? fate);
}

function fateOf(pod: PodVerdict, mayEnd: boolean): Fate {
  if (isHomeless(pod) || pod.outcome === "Blocked" || pod.outcome === "Stays") return "Stays";
  if (pod.outcome !== "ShutsDown") return "Moves";
  return mayEnd ? "Ends" : "Stays";
}

function waysOf({ parallel, template }: PlanOptions, given: Given): readonly (readonly [Given, number])[] {
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
  return ways.map(([way, shift], at) => [{ ...way, lots: at + 1 }, shift]);
}

function homelessOn(outcome: Outcome | undefined, node: string): readonly string[] {
  return outcome?.node === node ? outcome.homeless : [];
}

function isHomeless({ room, reason }: PodVerdict): boolean {
  return room?.fits === false || reason === "NoRestart";
}
