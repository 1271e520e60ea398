/**
 * Tests whether an Evacuation continues although its cause is gone. It continues if an Evacuation with another cause
 * has ended as its Duplicate, because that cause still requires the VM to move.
 */
import { expect, test } from "vitest";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { evacuation, NOW, pod, node, vmi, at } from "../../support/fixtures.ts";
import { disrupted } from "../../support/guard/disruptions.ts";
import { inShort, planned } from "../../support/worlds.ts";

const byTaint = evacuation({ spec: { cause: "DrainTaint" }, status: { conditions: [] } });
const CREATED = "CreateMigration, Pending Pending, Event";
const WITHDRAWN = "Withdrawn TaintWithdrawn, Event";

type Tweak = Parameters<typeof disrupted>[2];

function duplicate({ status, ...tweak }: NonNullable<Tweak> = {}): EvacuationFacts {
  return disrupted("Preemption", 60, { createdAt: NOW.getTime(), ...tweak, status: { phase: "Duplicate", ...status } });
}

// prettier-ignore
test.each<[string, others: readonly EvacuationFacts[], expected: string]>([
  ["alone is withdrawn",                                        [],                                               WITHDRAWN],
  ["beside the Duplicate of a preemption continues",            [duplicate()],                                    CREATED],
  ["beside a Duplicate of its own cause is withdrawn",          [duplicate({ spec: { cause: "DrainTaint" } })],   WITHDRAWN],
  ["beside a Duplicate of another pod is withdrawn",            [duplicate({ status: { podUID: "other" } })],     WITHDRAWN],
  ["beside a Duplicate in another namespace is withdrawn",      [duplicate({ namespace: "other" })],              WITHDRAWN],
  ["beside a Duplicate of an earlier Evacuation is withdrawn",  [duplicate({ createdAt: at(-999).getTime() })],   WITHDRAWN],
  ["beside a cancelled Evacuation is withdrawn",                [duplicate({ status: { phase: "Withdrawn" } })],  WITHDRAWN],
  ["beside several, one of which is such a Duplicate, continues", [duplicate({ status: { podUID: "other" } }), duplicate()], CREATED],
])("the Evacuation of a removed drain taint %s", (_, others, expected) => {
  const given = { vmis: [vmi()], nodes: [node()], pods: [pod()], evacuations: [byTaint, ...others] };
  expect(inShort(planned(byTaint, given))).toBe(expected);
});
