/** Which Evacuations need more than their VMI to be read: a taint's is about a node, a preemption may be over, and a target pod may find none. */
import { expect, test } from "vitest";
import type { Cause } from "../../../shared/kube/evacuation.ts";
import { needsNode, needsPods } from "../../../shared/evacuation/world.ts";
import { evacuation, migration, NOW, time } from "../fixtures.ts";

test.each<[Cause, left: number, phase: string, node: boolean, pods: boolean]>([
  ["ApiEviction", 0, "Running", false, false],
  ["ApiEviction", 0, "Scheduling", false, true],
  ["DrainTaint", 0, "Running", true, false],
  ["NoExecuteTaint", 60, "Running", true, true],
  ["Preemption", -29, "Running", false, false],
  ["Preemption", -30, "Running", false, true],
])("%s, its deadline in %d s, its migration is %s: node %s, pods %s", (...[cause, left, phase, node, pods]) => {
  const subject = evacuation({ spec: { cause, deadline: time(left) } });
  const migrations = [migration({ phase })];
  expect([needsNode(subject), needsPods(subject, migrations, NOW)]).toEqual([node, pods]);
});
