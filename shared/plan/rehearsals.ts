/**
 * Rehearses the maintenance under other circumstances: another order of VMs, other lots of the scheduler, a scheduler
 * that fills nodes up, and drains at the same time. The plan promises only what holds in all of them.
 */
import type { PodVerdict } from "../preflight/facts.ts";
import type { PlanOptions } from "./facts.ts";
import type { Given } from "./judge.ts";
import type { Placement } from "./placement.ts";
import { hasNoRoom, sequenceOf, type Step } from "./sequence.ts";

type Template = PlanOptions["template"];

/** The part of a plan for one node that depends on such circumstances. */
export interface Doubt {
  /** Why the node may have no room all the same. */
  readonly reasons: readonly string[];
  /** `namespace/name` of VMs that leave in some rehearsals and not in others. */
  readonly unsure: readonly string[];
  /**
   * `namespace/name` of VMs that may be on the node by then, and end there: their guests end on an earlier node, and start on the node that
   * kube-scheduler chooses.
   */
  readonly mayEnd: readonly string[];
  /** The drain starts in no rehearsal. */
  readonly isRefused: boolean;
}

/** Returns a doubt for each step. */
export function rehearsed(
  steps: readonly Step[],
  start: Placement,
  options: PlanOptions,
  given: Given,
): readonly Doubt[] {
  const others = waysOf(options, given).map(
    ([way, shift]) => sequenceOf(options.nodes, start, { ...options, shift }, way).steps,
  );
  const fates = [steps, ...others].map(worstFates);
  return steps.map((step, at) => {
    const { found } = step;
    const homeless = new Set(others.flatMap((all) => homelessOn(all[at], step.node)));
    const starts = startsIn([step, ...others.flatMap((all) => all[at] ?? [])], options.template.startIf);
    const vms = found.pods.flatMap(({ namespace, vmi }) => (vmi === undefined ? [] : [`${namespace}/${vmi}`]));
    return {
      reasons: [...(hasNoRoom(found) || homeless.size === 0 ? [] : [doubtAbout([...homeless])]), ...starts.reasons],
      isRefused: starts.isRefused,
      mayEnd: [...new Set([steps, ...others].flatMap((all) => all.slice(0, at).flatMap(endingOn)))].toSorted(),
      unsure: [...new Set(vms)].filter((vm) => new Set(fates.map((one) => one.get(vm))).size > 1).toSorted(),
    };
  });
}

function startsIn(steps: readonly Step[], startIf: Template["startIf"]): Pick<Doubt, "reasons" | "isRefused"> {
  const [first, ...more] = steps.filter(({ isRefused }) => isRefused);
  if (first === undefined) return { reasons: [], isRefused: false };
  if (more.length === steps.length - 1) return { reasons: [], isRefused: true };
  const { node, found } = first;
  const reason = `whether ${node} starts: startIf is ${startIf}, and with some choices of kube-scheduler the verdict is ${found.verdict}`;
  return { reasons: [reason], isRefused: false };
}

function endingOn({ found, judged, isRefused }: Step): readonly string[] {
  if (isRefused) return [];
  const ending = found.pods.filter(({ outcome, vmi }) => judged.mayEnd && outcome === "ShutsDown" && vmi !== undefined);
  return ending.map(({ namespace, vmi }) => `${namespace}/${vmi}`);
}

type Fate = "Stays" | "Ends" | "Moves";
const WORST_FIRST: readonly Fate[] = ["Stays", "Ends", "Moves"];

/** Returns the worst that happens to each VM on any node. */
function worstFates(steps: readonly Step[]): ReadonlyMap<string, Fate> {
  const worst = new Map<string, Fate>();
  for (const { found, judged, isRefused } of steps)
    for (const pod of found.pods) {
      const vm = `${pod.namespace}/${pod.vmi ?? ""}`;
      const fates = [isRefused ? "Stays" : fateOf(pod, judged.mayEnd), worst.get(vm)];
      worst.set(vm, WORST_FIRST.find((one) => fates.includes(one)) ?? "Moves");
    }
  return worst;
}

function fateOf(pod: PodVerdict, mayEnd: boolean): Fate {
  if (isHomeless(pod) || pod.outcome === "Blocked" || pod.outcome === "Stays") return "Stays";
  if (pod.outcome !== "ShutsDown") return "Moves";
  return mayEnd ? "Ends" : "Stays";
}

/** In each way other lots are drawn. */
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

function homelessOn(step: Step | undefined, node: string): readonly string[] {
  if (step?.node !== node) return [];
  return step.found.pods.filter(isHomeless).map(({ namespace, vmi, name }) => `${namespace}/${vmi ?? name}`);
}

const MOST_NAMED = 3;

function doubtAbout(homeless: readonly string[]): string {
  const named = homeless.slice(0, MOST_NAMED).join(", ");
  const rest = homeless.length > MOST_NAMED ? ` and ${homeless.length - MOST_NAMED} more` : "";
  return `whether every VM finds room: with other choices of kube-scheduler ${named}${rest} would not`;
}

function isHomeless({ room, reason }: PodVerdict): boolean {
  return room?.fits === false || reason === "NoRestart";
}
