/** Tests that the Lease allows one cycle at a time, even if a cycle fails, and records when the next cycle is due. */
import { expect, test } from "vitest";
import { isHeld } from "../../../../shared/kube/lease.ts";
import type { LeaseFacts } from "../../../../shared/kube/schemas/lease.ts";
import { isCycleDue, LEASE_SECONDS } from "../../../../shared/descheduling/deschedule.ts";
import { failing } from "../../../support/cluster.ts";
import { at, NOW, time } from "../../../support/fixtures.ts";
import { clusterOf, cycle, holdLease, leaving, nth } from "./cycles.ts";
import { vmPod } from "../../../support/descheduling/worlds.ts";

// prettier-ignore
test.each<[acquiredAt: string | undefined, interval: number, due: boolean]>([
  [undefined,  60, true ],
  [undefined,   0, false],
  [time(-60),  60, true ],
  [time(-59),  60, false],
  [time(-999),  0, false],
  // The clock of the Lease's writer is ahead, or the time is invalid.
  [time(30),   60, false],
  ["never",    60, true ],
])("after a cycle at %s with an interval of %s s, the next is due: %s", (acquiredAt, interval, due) => {
  expect(isCycleDue({ acquiredAt }, interval, NOW)).toBe(due);
});

// prettier-ignore
test.each<[string, LeaseFacts, boolean]>([
  ["that does not exist",               {},                                                                false],
  ["that was given back",               { holder: "", acquiredAt: time(-1), seconds: 300 },                false],
  ["that was just acquired",            { holder: "lifeboat", acquiredAt: time(0), seconds: 300 },         true ],
  ["that is about to expire",           { holder: "lifeboat", acquiredAt: time(-299), seconds: 300 },      true ],
  ["that has expired",                  { holder: "lifeboat", acquiredAt: time(-300), seconds: 300 },      false],
  ["acquired by a clock that is ahead", { holder: "lifeboat", acquiredAt: time(60), seconds: 300 },        true ],
  ["acquired far in the future",        { holder: "lifeboat", acquiredAt: time(301), seconds: 300 },       false],
])("a Lease %s is held: $2", (_, lease, held) => expect(isHeld(lease, LEASE_SECONDS, NOW)).toBe(held));

const order = ["a", "b"];
const some = () => clusterOf(vmPod("a"), vmPod("b"));

test("while another cycle holds the Lease, a cycle reads nothing and ends", async () => {
  const fake = some();
  holdLease(fake, time(-1), LEASE_SECONDS);
  const done = await cycle(fake, { order, before: failing(/^list/) });
  expect([done.ended, done.requests, done.nominations]).toEqual(["AnotherCycle", [], []]);
});

test("the Lease of a cycle that died expires, and the requests of the dead cycle count in the next cycle", async () => {
  const deaths = ["create evacuations", "create events"].flatMap((request) => [
    nth(1, new RegExp(`^${request}$`), dies),
    nth(2, new RegExp(`^${request}$`), dies),
  ]);
  for (const before of deaths) {
    const fake = some();
    const policy = { limits: { evictionsTotal: 1 } };
    await cycle(fake, { order: order.toReversed(), policy, before: dying(before) }).catch(() => undefined);
    await cycle(fake, { order, policy });
    fake.now = () => at(LEASE_SECONDS);
    await cycle(fake, { order, policy });
    expect(leaving(fake)).toHaveLength(1);
  }
});

class Death extends Error {}

function dies(): never {
  throw new Death();
}

/** Lets a cycle die. A dead cycle sends no more requests. */
function dying(before: (request: string) => unknown) {
  let isDead = false;
  return (request: string) => {
    try {
      if (!isDead) return before(request);
    } catch {
      isDead = true;
    }
    throw new Death();
  };
}
