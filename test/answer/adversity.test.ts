/**
 * Whatever becomes of one request: no VM is lost, nothing is left behind, and the evacuation ends as it does undisturbed. Each write of each flow
 * is refused, lost, or the last thing that its function does; each read is refused, lost, old or empty.
 */
import { describe, expect, test } from "vitest";
import { type Flow, run } from "./adversity.ts";
import { type Disturbance, READ_FAULTS, WRITE_FAULTS } from "./disturbance.ts";

const MOVES = { outcomes: [], evacuates: true } as const;
const MOVED = { node: "node02", phases: ["Moved"] } as const;

// prettier-ignore
const FLOWS: readonly Flow[] = [
  { name: "a drain",                                  ...MOVES, asks: "evicts",  end: MOVED },
  { name: "a preemption",                             ...MOVES, asks: "deletes", end: MOVED },
  { name: "a drain that Lifeboat migrates",           ...MOVES, evacuates: false, configuration: { evacuation: { adoptSeconds: 0, maxAttempts: 2 } }, asks: "evicts", end: MOVED },
  { name: "a drain that a person cancels",            ...MOVES, isFull: true, asks: "evicts", rounds: 3, person: { round: 3, does: "cancels" }, end: { node: "node01", phases: ["Withdrawn"] } },
  { name: "a drain that goes on after a cancel",      ...MOVES, asks: "evicts", person: { round: 1, does: "cancels" }, end: { node: "node02", phases: ["Moved", "Withdrawn"] } },
  { name: "a drain of which every attempt fails",     outcomes: ["Failed", "Failed"], evacuates: true, asks: "evicts", rounds: 4, end: { node: "node01", phases: ["Abandoned"] } },
  { name: "a failed attempt that a person retries",   outcomes: ["Failed"], evacuates: false, configuration: { evacuation: { adoptSeconds: 0, maxAttempts: 3, backoffSeconds: 200 } }, asks: "evicts", rounds: 2, person: { round: 6, does: "retries" }, end: MOVED },
];

async function each(flow: Flow, disturbance: Omit<Disturbance, "at">): Promise<number> {
  for (let at = 1; ; at++) {
    let label: string | undefined;
    try {
      label = await run(flow, { ...disturbance, at });
    } catch (cause) {
      throw new Error(`request ${at} of "${flow.name}"`, { cause });
    }
    if (label === undefined) return at - 1;
  }
}

const PREEMPTION = FLOWS.filter(({ asks }) => asks === "deletes");

test.each(["403", "422"])("a preempted VM moves although writes of a kind are refused for good: %s", async (code) => {
  const [, fault = () => Promise.reject(new TypeError())] =
    Object.entries(WRITE_FAULTS).find(([name]) => name.endsWith(code)) ?? [];
  for (const flow of PREEMPTION) await each(flow, { isWrite: true, isLasting: true, fault });
});

describe.each(FLOWS)("$name", (flow) => {
  test.each(Object.entries(WRITE_FAULTS))("each write once: it %s", async (_, fault) => {
    expect(await each(flow, { isWrite: true, fault })).toBeGreaterThan(5);
  });

  test.each(Object.entries(READ_FAULTS))("each read once: it %s", async (_, fault) => {
    expect(await each(flow, { isWrite: false, fault })).toBeGreaterThan(10);
  });
});
