/**
 * The descheduling register: counts, text, and when a cycle is due.
 */
import { describe, expect, test } from "vitest";
import { counted, isDue, registerText, reservationOf, written } from "../../../shared/descheduling/cycle/register.ts";
import { NOW, time } from "../../policy/fixtures.ts";
import { register, vmPod } from "../worlds.ts";

// prettier-ignore
const rows: readonly (readonly [lastCycle: string | undefined, interval: number, due: boolean])[] = [
  [undefined,  60, true ],
  [undefined,   0, false],
  [time(-60),  60, true ],
  [time(-59),  60, false],
  [time(-999),  0, false],
  // By a clock that is ahead; by no clock at all.
  [time(30),   60, false],
  [time(61),   60, true ],
  ["never",    60, true ],
];

test.each(rows)("last cycle %s, interval %s s: due=%s", (lastCycle, interval, due) => {
  const last = register(lastCycle === undefined ? {} : { lastCycle });
  expect(isDue(last, interval, NOW)).toBe(due);
});

describe("counts", () => {
  const one = { profile: "vms", plugin: "PodLifeTime", result: "Background" } as const;

  test("grow by one, each for itself", () => {
    const counts = [one, one, { ...one, result: "Refused" as const }, one].reduce(counted, []);
    expect(counts).toEqual([
      { ...one, result: "Refused", count: 1 },
      { ...one, count: 3 },
    ]);
  });
});

describe("the text", () => {
  test("is JSON, one entry a line", () => {
    const full = register({
      lastCycle: time(0),
      reservations: [reservationOf(vmPod("web"), NOW), reservationOf(vmPod("db"), NOW)],
      counts: [{ profile: "vms", plugin: "PodLifeTime", result: "Evicted", count: 2 }],
    });
    const text = registerText(full);
    const { found: _, ...rest } = full;
    expect(JSON.parse(text)).toEqual(rest);
    expect(text.split("\n")).toHaveLength(6);
  });

  test("of an empty one, too", () => {
    expect(JSON.parse(registerText(register()))).toEqual({ revision: 0, reservations: [], counts: [] });
  });

  test("is never the same after a write, so a cycle notices every write of another", () => {
    const once = written(register());
    const twice = written({ ...once, reservations: [] });
    expect(once.found).not.toEqual(twice.found);
    expect(twice.revision).toBe(2);
  });
});
