/** Back-offs: KubeVirt's own, until when and what is said of it; and how a person's retry ends one. */
import { describe, expect, test } from "vitest";
import { kubevirtBackoff } from "../../../shared/evacuation/attempts.ts";
import type { MigrationFacts } from "../../../shared/kube/facts.ts";
import {
  at,
  evacuation,
  migration,
  NODE,
  NOW,
  time,
  without,
  endedEvacuation,
  marked,
} from "../../support/fixtures.ts";
import { inShort, planned, statusAfter } from "../../support/worlds.ts";
import { retryOf } from "../../../shared/evacuation/identity.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";

/** KubeVirt's for the mark; the one that waits was created when the last one failed. */
const OWN = { automatic: true, evacuates: NODE } as const;
const next = migration({ ...OWN, name: "next", uid: "next", phase: "Pending", createdAt: at(-10).getTime() });
const ended = (phase: string, seconds: number, tweak: Partial<MigrationFacts> = {}): MigrationFacts =>
  migration({
    ...OWN,
    uid: `${phase}${seconds}`,
    phase,
    createdAt: at(seconds - 5).getTime(),
    failedAt: at(seconds).getTime(),
    ...tweak,
  });
const failed = (seconds: number, tweak: Partial<MigrationFacts> = {}) => ended("Failed", seconds, tweak);

describe("it lasts", () => {
  // prettier-ignore
  test.each<readonly [what: string, MigrationFacts, before: readonly MigrationFacts[], seconds: number | undefined]>([
    ["40 s after the second",                            next, [failed(-10), failed(-60)],                                 30],
    ["160 s after the fourth",                           next, [failed(-10), failed(-60), failed(-120), failed(-240)],     150],
    ["whatever the order in which they are listed",      next, [failed(-60), failed(-10)],                                 30],
    ["not when it is over",                              next, [failed(-20)],                                              undefined],
    ["… counted from the last success",                  next, [failed(-10), ended("Succeeded", -60), failed(-120)],       10],
    ["not when the last one succeeded",                  next, [ended("Succeeded", -5), failed(-10)],                      undefined],
    ["… without failures that are being deleted",        next, [failed(-10), failed(-60, { deleting: true })],             10],
    ["… without those that a person created",            next, [failed(-10), without(failed(-60), "automatic")], 10],
    ["not for one that a person created",                without(next, "automatic"), [failed(-10)],        undefined],
    ["not for one that skips it",                        { ...next, skipsBackoff: true }, [failed(-10)],                   undefined],
    ["not for one that has its target pod",              { ...next, targetPod: "target" }, [failed(-10)],                  undefined],
    ["not for one that has begun",                       { ...next, phase: "Scheduling" }, [failed(-10)],                  undefined],
    ["not for one that is being deleted",                { ...next, deleting: true }, [failed(-10)],                       undefined],
    ["also for one that virt-controller is yet to see",  { ...next, phase: "" }, [failed(-10)],                            10],
  ])("%s", (_, waiting, before, seconds) => {
    const until = kubevirtBackoff(waiting, [waiting, ...before], NOW)?.until;
    expect(until && new Date(until).toISOString()).toBe(seconds === undefined ? undefined : time(seconds));
  });
});

describe("an evacuation whose next migration KubeVirt delays", () => {
  const last = failed(-10, { name: "first", failureReason: "no room" });
  const counted = { attempts: 1, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
  /** Shorter or longer: no setting of Lifeboat's changes what KubeVirt does. */
  const backingOff = (rest: number) =>
    evacuation({
      status: { ...counted, lastFailedMigration: { name: "first", uid: last.uid }, nextAttemptTime: time(rest) },
    });
  const migrations = [next, last];

  test.each([1, 300])("says so, and until when; Lifeboat's own would end in %d s", (rest) => {
    expect(statusAfter(backingOff(rest), { migrations })).toMatchObject({
      phase: "BackingOff",
      reason: "KubeVirtBackoff",
      message:
        "migration first has failed: no room; KubeVirt's own back-off delays migration next until 2026-03-01T12:00:10Z",
      nextAttemptTime: time(10),
      attempts: 1,
    });
    expect(statusAfter(backingOff(rest), { migrations, now: at(10) })).toMatchObject({
      phase: "Migrating",
      reason: "Queued",
    });
  });

  const UPDATE = without(next, "evacuates");

  // prettier-ignore
  test.each<readonly [string, retryAt: string | undefined, MigrationFacts, expected: string]>([
    ["nobody asks",                                 undefined, next,   "BackingOff KubeVirtBackoff"],
    ["a person asks: KubeVirt begins it now",       time(-5),  next,   "SkipBackoff, Migrating Queued"],
    ["… and it is a workload update, not ours",     time(-5),  UPDATE, "BackingOff KubeVirtBackoff"],
  ])("%s", (_, retryAt, waiting, expected) => {
    const { spec, ...rest } = backingOff(5);
    const subject = { ...rest, spec: { ...spec, retryAt } };
    expect(inShort(planned(subject, { migrations: [waiting, last] }))).toBe(expected);
  });
});

/** Two attempts have failed, 10 s ago the second: its back-off of 40 s ends in 30 s. */
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const waiting = evacuation({ status: { ...resting, nextAttemptTime: time(30) } });
const another = { uid: "asked", name: "asked" };

describe("what can be tried again", () => {
  const abandoned = endedEvacuation("Abandoned", { createdAt: at(-70).getTime() });
  // prettier-ignore
  test.each<readonly [string, readonly EvacuationFacts[], string | undefined]>([
    ["one that backs off",                [waiting],                                             "TryNow"],
    ["one that migrates: nothing failed", [evacuation({ status: { phase: "Migrating" } })],         undefined],
    ["one that was abandoned",            [abandoned],                                              "StartNew"],
    ["… and one since was cancelled",     [abandoned, endedEvacuation("Withdrawn", another)],       "StartNew"],
    ["one that was cancelled only",       [endedEvacuation("Withdrawn", another)],                  undefined],
    ["… and another one goes on",         [abandoned, evacuation(another)],                         undefined],
    ["… of another pod",                  [{ ...abandoned, status: { ...abandoned.status, podUID: "former" } }], undefined],
  ])("%s", (_, evacuations, expected) => expect(retryOf(marked(), evacuations)?.retry).toBe(expected));
});

describe("given a back-off of 40 s, of which 10 have passed", () => {
  const spec = { ...evacuation().spec, retryAt: time(-1) };
  const retried: EvacuationFacts = { ...waiting, spec };
  const status = { ...waiting.status, observedRetryAt: time(-1) };
  // prettier-ignore
  test.each<readonly [string, EvacuationFacts, string]>([
    ["a person's retry ends it",                         retried,                                                 "CreateMigration, Pending Pending, tell"],
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
