/**
 * The limits of a cycle: which is reached when, and what plugins make of it.
 */
import { describe, expect, test } from "vitest";
import type { DeschedulingLimits } from "../../../shared/descheduling/cycle/policy.ts";
import { Counters, LIMITS } from "../../../shared/descheduling/cycle/limits.ts";
import { plainPod, vmPod } from "../worlds.ts";

const VM = vmPod("vm");
const POD = plainPod("pod");
const ELSEWHERE = { nodeName: "node02", namespace: "shop" };

type Limit = keyof DeschedulingLimits;

// prettier-ignore
const rows: readonly (readonly [limit: Limit, before: "nothing" | "inProgress" | "evicted" | "elsewhere", vm: boolean, pod: boolean])[] = [
  // With a limit of 1, what there is already, and whether a VM and an ordinary pod of node01, apps are over it.
  ["evictionsTotal",          "nothing",    false, false],
  ["evictionsTotal",          "inProgress", true,  true ],
  ["evictionsTotal",          "evicted",    true,  true ],
  ["evictionsTotal",          "elsewhere",  true,  true ],
  ["evictionsPerNode",        "nothing",    false, false],
  ["evictionsPerNode",        "inProgress", true,  true ],
  ["evictionsPerNode",        "evicted",    true,  true ],
  ["evictionsPerNode",        "elsewhere",  false, false],
  ["evictionsPerNamespace",   "nothing",    false, false],
  ["evictionsPerNamespace",   "inProgress", true,  true ],
  ["evictionsPerNamespace",   "evicted",    true,  true ],
  ["evictionsPerNamespace",   "elsewhere",  false, false],
  ["evacuationsPerNode",      "nothing",    false, false],
  ["evacuationsPerNode",      "inProgress", true,  false],
  ["evacuationsPerNode",      "evicted",    false, false],
  ["evacuationsPerNode",      "elsewhere",  false, false],
  ["evacuationsPerNamespace", "nothing",    false, false],
  ["evacuationsPerNamespace", "inProgress", true,  false],
  ["evacuationsPerNamespace", "evicted",    false, false],
  ["evacuationsPerNamespace", "elsewhere",  false, false],
];

function counters(limits: DeschedulingLimits, before: (typeof rows)[number][1]): Counters {
  const inProgress = { nothing: [], inProgress: [vmPod("a")], evicted: [], elsewhere: [vmPod("a", ELSEWHERE)] };
  const made = new Counters(limits, inProgress[before]);
  if (before === "evicted") made.evicted(plainPod("b"));
  return made;
}

test.each(rows)("%s is 1, %s: VM over=%s, pod over=%s", (limit, before, vm, pod) => {
  const made = counters({ [limit]: 1 }, before);
  expect(made.limitReached(VM)).toBe(vm ? limit : undefined);
  expect(made.limitReached(POD)).toBe(pod ? limit : undefined);
});

describe("a limit", () => {
  test("there is a row for each, in every state", () => {
    const cells = LIMITS.flatMap((limit) =>
      ["nothing", "inProgress", "evicted", "elsewhere"].map((b) => `${limit}/${b}`),
    );
    expect(new Set(rows.map(([limit, before]) => `${limit}/${before}`))).toEqual(new Set(cells));
  });

  test.each(LIMITS)("%s of 0 lets nothing through", (limit) => {
    expect(new Counters({ [limit]: 0 }, []).limitReached(VM)).toBe(limit);
  });

  test("that is not set is none", () => {
    const made = new Counters(
      {},
      Array.from({ length: 50 }, (_, i) => vmPod(`vm-${i}`)),
    );
    expect(made.limitReached(VM)).toBeUndefined();
    expect(made.inProgress).toBe(50);
  });

  test("what is requested and evicted in this cycle counts at once", () => {
    const made = new Counters({ evictionsTotal: 2, evacuationsPerNode: 1 }, []);
    made.requested(vmPod("a"));
    expect([made.limitReached(VM), made.limitReached(POD)]).toEqual(["evacuationsPerNode", undefined]);
    made.evicted(plainPod("b"));
    expect([made.limitReached(VM), made.limitReached(POD)]).toEqual(["evictionsTotal", "evictionsTotal"]);
  });

  test("of several reached, the total is said, then the node's, then the namespace's: as upstream", () => {
    const all = { evictionsTotal: 1, evictionsPerNode: 1, evictionsPerNamespace: 1, evacuationsPerNode: 1 };
    const { evictionsTotal: _, ...rest } = all;
    expect(counters(all, "inProgress").limitReached(VM)).toBe("evictionsTotal");
    expect(counters(rest, "inProgress").limitReached(VM)).toBe("evictionsPerNode");
    expect(counters({ evictionsPerNamespace: 1, evacuationsPerNode: 1 }, "inProgress").limitReached(VM)).toBe(
      "evictionsPerNamespace",
    );
  });
});
