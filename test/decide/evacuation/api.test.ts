/** Trying again: what can be, and how a retry ends a back-off. */
import { describe, expect, test } from "vitest";
import { retryOf } from "../../../shared/evacuation/identity.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { at, endedEvacuation, evacuation, marked, time } from "../../support/fixtures.ts";
import { inShort, planned } from "../../support/worlds.ts";

/** Two attempts have failed, 10 s ago the second: its back-off of 40 s ends in 30 s. */
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const backingOff = evacuation({ status: { ...resting, nextAttemptTime: time(30) } });
const another = { uid: "asked", name: "asked" };

describe("what can be tried again", () => {
  const abandoned = endedEvacuation("Abandoned", { createdAt: at(-70).getTime() });
  // prettier-ignore
  test.each<readonly [string, readonly EvacuationFacts[], string | undefined]>([
    ["nothing: there is none",            [],                                                       undefined],
    ["one that backs off",                [backingOff],                                             "TryNow"],
    ["one that migrates: nothing failed", [evacuation({ status: { phase: "Migrating" } })],         undefined],
    ["one that was abandoned",            [abandoned],                                              "StartNew"],
    ["… and one since was cancelled",     [abandoned, endedEvacuation("Withdrawn", another)],       "StartNew"],
    ["one that was cancelled only",       [endedEvacuation("Withdrawn", another)],                  undefined],
    ["… and another one goes on",         [abandoned, evacuation(another)],                         undefined],
    ["… of another pod",                  [{ ...abandoned, status: { ...abandoned.status, podUID: "former" } }], undefined],
  ])("%s", (_, evacuations, expected) => expect(retryOf(marked(), evacuations)?.retry).toBe(expected));
});

const statusAfter = (e: EvacuationFacts) => planned(e).find((action) => action.verb === "WriteStatus")?.status;

describe("given a back-off of 40 s, of which 10 have passed", () => {
  const spec = { ...evacuation().spec, retryAt: time(-1) };
  const retried: EvacuationFacts = { ...backingOff, spec };
  const status = { ...backingOff.status, observedRetryAt: time(-1) };
  // prettier-ignore
  test.each<readonly [string, EvacuationFacts, string]>([
    ["it continues",                                     backingOff,                                              "-"],
    ["a person's retry ends it",                         retried,                                                 "CreateMigration, Pending Pending, tell"],
    ["… by a clock that is ahead",                       { ...retried, spec: { ...spec, retryAt: time(3600) } },  "CreateMigration, Pending Pending, tell"],
    ["it continues where an attempt followed the retry", { ...retried, status },                                  "-"],
  ])("%s", (_, e, expected) => expect(inShort(planned(e))).toBe(expected));

  test("the retry is observed once, and what was counted stays", () => {
    const observed = { observedRetryAt: time(-1), nextAttemptTime: time(0), attempts: 2, phase: "Pending" };
    expect(statusAfter(retried)).toMatchObject(observed);
  });

  test("a back-off that it inherited ends as well", () => {
    const inherited = { attempts: 2, notBefore: time(30) };
    const e: EvacuationFacts = { ...evacuation(), createdAt: at(-1).getTime(), spec: { ...spec, inherited } };
    expect(statusAfter(e)).toMatchObject({ phase: "Pending", attempts: 2, nextAttemptTime: time(0) });
  });
});
