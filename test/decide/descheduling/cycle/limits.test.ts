/** Tests when each limit of a cycle is reached. */
import { expect, test } from "vitest";
import type { DeschedulingLimits } from "../../../../shared/descheduling/cycle/policy.ts";
import { Counters, type LimitName } from "../../../../shared/descheduling/cycle/limits.ts";
import { plainPod, requestedPod, vmPod } from "../../../support/descheduling/worlds.ts";

const VM = vmPod("vm");
const POD = plainPod("pod");
const ELSEWHERE = { nodeName: "node02", namespace: "shop" };

type Before = "nothing" | "inProgress" | "evicted" | "elsewhere";

/** The pods for which a limit of 1 is reached: no pod, only a VM's launcher pod, or any pod. */
type Over = "neither" | "VM" | "both";

// prettier-ignore
const rows: Readonly<Record<LimitName, Readonly<Record<Before, Over>>>> = {
  evictionsTotal:          { nothing: "neither", inProgress: "both", evicted: "both",    elsewhere: "both"    },
  evictionsPerNode:        { nothing: "neither", inProgress: "both", evicted: "both",    elsewhere: "neither" },
  evictionsPerNamespace:   { nothing: "neither", inProgress: "both", evicted: "both",    elsewhere: "neither" },
  evacuationsPerNode:      { nothing: "neither", inProgress: "VM",   evicted: "neither", elsewhere: "neither" },
  evacuationsPerNamespace: { nothing: "neither", inProgress: "VM",   evicted: "neither", elsewhere: "neither" },
};

function counters(limits: DeschedulingLimits, before: Before): Counters {
  const inProgress = { nothing: [], inProgress: [vmPod("a")], evicted: [], elsewhere: [vmPod("a", ELSEWHERE)] };
  const made = new Counters(limits, inProgress[before]);
  if (before === "evicted") made.evicted(plainPod("b"));
  return made;
}

const NAMES: readonly LimitName[] = [
  "evictionsTotal",
  "evictionsPerNode",
  "evictionsPerNamespace",
  "evacuationsPerNode",
  "evacuationsPerNamespace",
];
const BEFORE = ["nothing", "inProgress", "evicted", "elsewhere"] as const;

test.each(NAMES.flatMap((limit) => BEFORE.map((before) => [limit, before] as const)))(
  "a limit %s of 1 is reached or not, with these earlier evictions: %s",
  (limit, before) => {
    const made = counters({ [limit]: 1 }, before);
    const over = { neither: [undefined, undefined], VM: [limit, undefined], both: [limit, limit] };
    expect([made.limitReached(VM), made.limitReached(POD)]).toEqual(over[rows[limit][before]]);
    // A pod with the annotation `request-evict-only` is treated like a VM's launcher pod.
    expect(made.limitReached(requestedPod("only"))).toBe(made.limitReached(VM));
  },
);

test("requests and evictions of the current cycle count at once, and the first limit in upstream's order is reported", () => {
  const made = new Counters({ evictionsTotal: 2, evacuationsPerNode: 1 }, []);
  made.requested(vmPod("a"));
  expect([made.limitReached(VM), made.limitReached(POD)]).toEqual(["evacuationsPerNode", undefined]);
  made.evicted(plainPod("b"));
  expect([made.limitReached(VM), made.limitReached(POD)]).toEqual(["evictionsTotal", "evictionsTotal"]);
});
