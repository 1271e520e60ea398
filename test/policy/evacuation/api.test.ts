/** Trying again: what can be, and which Evacuation of a person ends the back-off of another one. */
import { describe, expect, test } from "vitest";
import { retryOf } from "../../../shared/policy/evacuation/api.ts";
import { activeEvacuation } from "../../../shared/policy/evacuation/identity.ts";
import type { EvacuationFacts } from "../../../shared/policy/facts.ts";
import { at, endedEvacuation, evacuation, marked, settings, time } from "../fixtures.ts";
import { inShort, planned } from "../worlds.ts";

/** Two attempts have failed, 10 s ago the second: its back-off of 40 s ends in 30 s. */
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const backingOff = evacuation({ status: { ...resting, nextAttemptTime: time(30) } });
const another = { uid: "asked", name: "asked" };

function asked(seconds: number, tweak: Partial<EvacuationFacts["spec"]> = {}): EvacuationFacts {
  const spec = { ...evacuation().spec, cause: "Operator", requestedBy: "jane", ...tweak } as const;
  return evacuation({ ...another, createdAt: at(seconds).getTime(), spec, status: { conditions: [] } });
}

const ended = (e: EvacuationFacts): EvacuationFacts => ({ ...e, status: { ...e.status, phase: "Duplicate" } });

describe("what can be tried again", () => {
  const abandoned = endedEvacuation("Abandoned", { createdAt: at(-70).getTime() });
  // prettier-ignore
  test.each<readonly [string, readonly EvacuationFacts[], string | undefined]>([
    ["nothing: there is none",            [],                                                       undefined],
    ["one that backs off",                [backingOff],                                             "TryNow"],
    ["one that migrates: nothing failed", [evacuation({ status: { phase: "Migrating" } })],         undefined],
    ["one that was abandoned",            [abandoned],                                              "BeginAnew"],
    ["… and one since was cancelled",     [abandoned, endedEvacuation("Withdrawn", another)],       "BeginAnew"],
    ["one that was cancelled only",       [endedEvacuation("Withdrawn", another)],                  undefined],
    ["… and another one goes on",         [abandoned, evacuation(another)],                         undefined],
    ["… of another pod",                  [{ ...abandoned, status: { ...abandoned.status, podUID: "former" } }], undefined],
  ])("%s", (_, evacuations, expected) => expect(retryOf(marked(), evacuations)?.retry).toBe(expected));
});

describe("a back-off of 40 s, of which 10 have passed", () => {
  const ON = "BackingOff";
  const NOW_TRIED = "CreateMigration, Pending Pending, tell";
  // prettier-ignore
  test.each<readonly [string, readonly EvacuationFacts[], string]>([
    ["goes on",                                           [],                                          ON],
    ["ends when a person asks",                           [asked(0)],                                  NOW_TRIED],
    ["… also for one who looks later",                    [ended(asked(-5))],                          NOW_TRIED],
    ["… in the second of the failure",                    [asked(-10)],                                NOW_TRIED],
    ["goes on when they had asked before the failure",    [ended(asked(-11))],                         ON],
    ["goes on when they have taken it back",              [ended(asked(0, { intent: "Withdrawn" }))],  ON],
    ["goes on when a drain asks",                         [ended(asked(0, { cause: "ApiEviction" }))], ON],
    ["goes on when a scheduler asks",                     [ended(asked(0, { cause: "Descheduler" }))], ON],
  ])("%s", (_, others, expected) => {
    const actions = planned(backingOff, { evacuations: [backingOff, ...others] });
    const own = actions.filter((a) => !("evacuation" in a) || a.evacuation.name === backingOff.name);
    expect(inShort(own).replace(/^-$/, ON)).toBe(expected);
  });

  test("the one that was asked for ends as a duplicate: the older goes on, with its cause and its attempts", () => {
    const both = [backingOff, asked(0)];
    expect(activeEvacuation(marked(), both)?.uid).toBe(backingOff.uid);
    const written = planned(backingOff, { evacuations: both }).flatMap((a) => (a.verb === "WriteStatus" ? [a] : []));
    const phases = written.map((a) => [a.evacuation.uid, a.status.phase, a.status.attempts]);
    expect(phases).toContainEqual([backingOff.uid, "Pending", 2]);
    expect(phases).toContainEqual(["asked", "Duplicate", 0]);
  });

  test("the next failure backs off as long as it would have", () => {
    const failedAgain = { ...backingOff, status: { ...backingOff.status, attempts: 3, nextAttemptTime: time(80) } };
    const actions = planned(failedAgain, { evacuations: [failedAgain, ended(asked(-5))], settings: settings() });
    expect(inShort(actions)).toBe("-");
  });
});
