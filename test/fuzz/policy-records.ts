/**
 * Evacuation records, slots and counters of every kind: whoever may edit the objects they are kept in may have edited them.
 * Owns: generating them. Does not own: their parsing (test/cluster).
 */
import * as fc from "fast-check";
import { CAUSES } from "../../shared/policy/cause.ts";
import type { Counters } from "../../shared/policy/counters.ts";
import { type EvacuationRecord, OUTCOMES } from "../../shared/policy/record.ts";
import type { Slot } from "../../shared/policy/slots.ts";
import { facts, few, namespace, nodeName, time, uid, vmiName } from "./policy-words.ts";

const id = fc.constantFrom("0000000a", "0000000b");
const cause = fc.constantFrom(...CAUSES);
const ending = fc.record({ id, cause, outcome: fc.constantFrom(...OUTCOMES) });

export const record: fc.Arbitrary<EvacuationRecord> = facts(
  {
    id,
    cause,
    requestedBy: fc.string(),
    node: nodeName,
    since: time,
    attempts: fc.oneof(fc.nat(6), fc.maxSafeNat()),
  },
  {
    podUID: uid,
    notBefore: time,
    outcome: fc.constantFrom("Abandoned" as const, "Cancelled" as const, "Withdrawn" as const),
    uncounted: fc.array(ending, { maxLength: 3 }),
    resting: fc.array(fc.record({ id, attempts: fc.nat(6), notBefore: time }), { maxLength: 3 }),
  },
);

export const slot: fc.Arbitrary<Slot> = fc.record({
  namespace,
  name: few("m-1", "lifeboat-web-1"),
  vmi: vmiName,
  vmiUID: uid,
  node: nodeName,
  id: few("0000000a"),
  attempt: fc.integer(),
  cause,
});

export const counters: fc.Arbitrary<Counters> = fc.oneof(
  fc.constantFrom("Off" as const, "Unseen" as const),
  facts(
    {
      evacuations: fc.array(fc.record({ cause, outcome: fc.constantFrom(...OUTCOMES), count: fc.maxSafeNat() }), {
        maxLength: 3,
      }),
      counted: fc.array(few("uid-1/0000000a", "uid-2/0000000b"), { maxLength: 3 }),
    },
    { resourceVersion: fc.string() },
  ),
);
