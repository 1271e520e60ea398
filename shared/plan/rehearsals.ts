/**
 * Rehearses the maintenance under other circumstances: another order of VMs, other lots of the scheduler, a scheduler
 * that fills nodes up, and drains at the same time. The plan promises only what holds in all of them.
 */
import type { PodVerdict } from "../preflight/facts.ts";
import type { PlanOptions } from "./facts.ts";
import type { Given } from "./judge.ts";
import type { Placement } from "./placement.ts";
import { hasNoRoom, sequenceOf, type Step } from "./sequence.ts";

/** Returns for each step why it may lack room in other circumstances. */
export function rehearsed(
  steps: readonly Step[],
  start: Placement,
  options: PlanOptions,
  given: Given,
): readonly (readonly string[])[] {
  const doubts: (readonly string[])[] = steps.map(() => []);
  for (const [way, shift] of waysOf(options, given)) {
    const { steps: others } = sequenceOf(options.nodes, start, { ...options, shift }, way);
    steps.forEach(({ found, node }, at) => {
      const other = others[at];
      if (other?.node !== node || hasNoRoom(found) || doubts[at]?.length !== 0) return;
      doubts[at] = doubtsIn(other);
    });
  }
  return doubts;
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

function doubtsIn({ found }: Step): readonly string[] {
  const first = found.pods.find(isHomeless);
  if (first === undefined) return [];
  const name = `${first.namespace}/${first.vmi ?? first.name}`;
  return [`whether every VM finds room: with other choices of the scheduler ${name} would not`];
}

function isHomeless({ room, reason }: PodVerdict): boolean {
  return room?.fits === false || reason === "NoRestart";
}
