/** Which Evacuations need more than their VMI to be read: a taint's is about a node, and a target pod may find none. */
import { expect, test } from "vitest";
import type { Cause } from "../../../shared/policy/cause.ts";
import { needsNode, needsPods } from "../../../shared/policy/evacuation/world.ts";
import { evacuation, migration, settings } from "../fixtures.ts";

test.each<[Cause, phase: string, node: boolean, pods: boolean]>([
  ["ApiEviction", "Running", false, false],
  ["ApiEviction", "Scheduling", false, true],
  ["DrainTaint", "Running", true, false],
  ["NoExecuteTaint", "Running", true, true],
])("%s, its migration is %s: node %s, pods %s", (...[cause, phase, node, pods]) => {
  const subject = evacuation({ spec: { cause } });
  expect([needsNode(subject, settings()), needsPods(subject, [migration({ phase })])]).toEqual([node, pods]);
});
