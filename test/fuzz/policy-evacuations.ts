/**
 * Evacuations of every kind that the border lets through, whoever has written them.
 * Owns: generating them. Does not own: their parsing (test/cluster), those that fit a VMI (policy-fitting.ts).
 */
import * as fc from "fast-check";
import { CAUSES } from "../../shared/policy/cause.ts";
import type { EvacuationCondition, EvacuationFacts } from "../../shared/policy/facts.ts";
import { ACTIVE_PHASES, CONDITION_TYPES, END_PHASES } from "../../shared/policy/evacuation/phase.ts";
import { anyText, facts, few, namespace, nodeName, now, number, uid, vmiName } from "./policy-words.ts";

const attempts = fc.oneof(fc.nat(6), fc.nat());
/** By the API server's clock. */
export const createdAt = fc.oneof(
  number,
  now.map((at) => at.getTime()),
);
const word = fc.constantFrom("Pending", "MigrationFailed", "External");
const named = fc.record({ name: few("m-1", "m-2"), uid });

const condition: fc.Arbitrary<EvacuationCondition> = fc.record({
  type: fc.constantFrom(...CONDITION_TYPES),
  status: fc.constantFrom("True" as const, "False" as const),
  reason: word,
  message: fc.string(),
  lastTransitionTime: anyText,
});

export const evacuation: fc.Arbitrary<EvacuationFacts> = fc.record({
  namespace,
  name: few("web-1", "web-2", "db-1"),
  uid,
  resourceVersion: fc.string(),
  createdAt,
  spec: facts(
    {
      vmiName,
      cause: fc.constantFrom(...CAUSES),
      requestedBy: fc.string(),
      intent: fc.constantFrom("Evacuate" as const, "Evacuate" as const, "Withdrawn" as const),
    },
    {
      deadline: anyText,
      pod: facts({ uid }, { name: fc.string() }),
      inherited: facts({ attempts }, { notBefore: anyText }),
    },
  ),
  status: facts(
    { attempts, conditions: fc.array(condition, { maxLength: 3 }) },
    {
      virtualMachineInstanceUID: uid,
      podName: fc.string(),
      podUID: uid,
      sourceNode: nodeName,
      phase: fc.constantFrom(...ACTIVE_PHASES, ...END_PHASES),
      reason: word,
      message: fc.string(),
      migration: named,
      lastFailedMigration: named,
      targetNode: nodeName,
      startTime: anyText,
      completionTime: anyText,
      nextAttemptTime: anyText,
    },
  ),
});
