/**
 * Simulates the drains one after another. Each drain starts with the placement after the earlier drains. A drained node
 * returns to service without VMs.
 */
import type { Preflight } from "../preflight/facts.ts";
import type { PlanOptions } from "./facts.ts";
import { type Given, judge, type NodeJudged } from "./judge.ts";
import { type Placement, startFrom, withNode, withoutVmsOf, withPlaced } from "./placement.ts";

export interface Step extends NodeJudged {
  readonly node: string;
  /** Nodes with the same number are drained at the same time. */
  readonly wave: number;
}

/** Yields one step for each existing node. If `shift` is not 0, the first group has `shift` nodes. */
export function* stepsOf(
  nodes: readonly string[],
  start: Placement,
  { parallel, shift = 0 }: Pick<PlanOptions, "parallel"> & { readonly shift?: number },
  given: Given,
): Generator<Step, void> {
  let placement = startFrom(start);
  for (const [at, wave] of wavesOf(nodes, parallel, shift).entries()) {
    placement = wave.reduce((p, node) => withNode(p, node, true), placement);
    for (const node of wave) {
      const one = judge(node, placement, given);
      if (one === undefined) continue;
      yield { ...one, node, wave: at };
      placement = afterDrain(placement, one);
    }
    placement = backAgain(placement, wave, given);
  }
}

/** Returns the placement after a drain. If the drain does not start, the placement does not change. */
export function afterDrain(p: Placement, { isRefused, judged }: NodeJudged): Placement {
  return isRefused ? p : withoutVmsOf(p, judged);
}

/** Uncordons the nodes, and places the pods that did not fit on any node before. */
export function backAgain(p: Placement, nodes: readonly string[], { facts, scoring, lots }: Given): Placement {
  const back = nodes.reduce((sum, node) => withNode(sum, node, false), p);
  return withPlaced(back, { volumes: facts.volumes, scoring, lots });
}

function wavesOf(nodes: readonly string[], parallel: number, shift: number): readonly (readonly string[])[] {
  const first = nodes.slice(0, shift);
  const waves: (readonly string[])[] = first.length === 0 ? [] : [first];
  for (let at = shift; at < nodes.length; at += parallel) waves.push(nodes.slice(at, at + parallel));
  return waves;
}

export function hasNoRoom({ pods }: Pick<Preflight, "pods">): boolean {
  return pods.some(
    ({ outcome, room, reason }) => room?.fits === false || (outcome === "Blocked" && reason === "NoRestart"),
  );
}
