/** Tests the end and the message of KubeVirt's back-off, and a person's retry, which ends the back-off. */
import { describe, expect, test } from "vitest";
import { kubevirtBackoff } from "../../../shared/evacuation/attempts.ts";
import type { MigrationFacts } from "../../../shared/kube/facts.ts";
import {
  at,
  evacuation,
  migration,
  NODE,
  node,
  NOW,
  pod,
  time,
  without,
  endedEvacuation,
  marked,
} from "../../support/fixtures.ts";
import { disrupted } from "../../support/guard/disruptions.ts";
import { inShort, planned, statusAfter } from "../../support/worlds.ts";
import { retryOf } from "../../../shared/evacuation/identity.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";

/**
 * Migrations that KubeVirt created because of the VMI's evacuationNodeName. KubeVirt created `next` after the last
 * failure.
 */
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

describe("KubeVirt's own back-off", () => {
  // prettier-ignore
  test.each<readonly [what: string, MigrationFacts, before: readonly MigrationFacts[], seconds: number | undefined]>([
    ["lasts 40 s after the second failure",                          next, [failed(-10), failed(-60)],                                 30],
    ["lasts 160 s after the fourth failure",                         next, [failed(-10), failed(-60), failed(-120), failed(-240)],     150],
    ["does not depend on the order of the list",                     next, [failed(-60), failed(-10)],                                 30],
    ["counts from the last failure of two in the same second",       next, [failed(-60, { createdAt: at(-70).getTime() }), failed(-10, { createdAt: at(-70).getTime() })], 30],
    ["counts from the last failure of two in the same second, in any order", next, [failed(-10, { createdAt: at(-70).getTime() }), failed(-60, { createdAt: at(-70).getTime() })], 30],
    ["has ended",                                                    next, [failed(-20)],                                              undefined],
    ["counts failures since the last success",                       next, [failed(-10), ended("Succeeded", -60), failed(-120)],       10],
    ["does not follow a success",                                    next, [ended("Succeeded", -5), failed(-10)],                      undefined],
    ["ignores failures that are being deleted",                      next, [failed(-10), failed(-60, { deleting: true })],             10],
    ["ignores failures of migrations that a person created",         next, [failed(-10), without(failed(-60), "automatic")], 10],
    ["does not delay a migration that a person created",             without(next, "automatic"), [failed(-10)],        undefined],
    ["does not delay a migration that skips it",                     { ...next, skipsBackoff: true }, [failed(-10)],                   undefined],
    ["does not delay a migration that has its target pod",           { ...next, targetPod: "target" }, [failed(-10)],                  undefined],
    ["does not delay a migration that has started",                  { ...next, phase: "Scheduling" }, [failed(-10)],                  undefined],
    ["does not delay a migration that is being deleted",             { ...next, deleting: true }, [failed(-10)],                       undefined],
    ["delays a migration that virt-controller has not handled yet",  { ...next, phase: "" }, [failed(-10)],                            10],
  ])("%s", (_, waiting, before, seconds) => {
    const until = kubevirtBackoff(waiting, [waiting, ...before], NOW)?.until;
    expect(until && new Date(until).toISOString()).toBe(seconds === undefined ? undefined : time(seconds));
  });
});

describe("an evacuation whose next migration KubeVirt delays", () => {
  const last = failed(-10, { name: "first", failureReason: "no room" });
  const counted = { attempts: 1, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
  const backingOff = (rest: number) =>
    evacuation({
      status: { ...counted, lastFailedMigration: { name: "first", uid: last.uid }, nextAttemptTime: time(rest) },
    });
  const migrations = [next, last];

  test.each([1, 300])("reports KubeVirt's back-off and its end, while Lifeboat's ends in %d s", (rest) => {
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
    ["waits without a retry",                                                  undefined, next,   "BackingOff KubeVirtBackoff"],
    ["continues with a person's retry, and KubeVirt starts the migration",     time(-5),  next,   "SkipBackoff, Migrating Queued"],
    ["waits despite a retry if the migration is a workload update's",          time(-5),  UPDATE, "BackingOff KubeVirtBackoff"],
  ])("%s", (_, retryAt, waiting, expected) => {
    const { spec, ...rest } = backingOff(5);
    const subject = { ...rest, spec: { ...spec, retryAt } };
    expect(inShort(planned(subject, { migrations: [waiting, last] }))).toBe(expected);
  });
});

/** Two attempts have failed, the second one 10 s ago. The back-off of 40 s ends in 30 s. */
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const waiting = evacuation({ status: { ...resting, nextAttemptTime: time(30) } });
// prettier-ignore
test.each<[string, EvacuationFacts, seconds: number]>([
  ["cancelled by a person is not followed by another evacuation",   evacuation({ spec: { intent: "Withdrawn" } }), 20],
  ["without its taint can be followed by another evacuation",       disrupted("NoExecuteTaint", 60),               0],
  ["without its preemption can be followed by another evacuation",  disrupted("Preemption", -30),                  0],
])("an evacuation that ends %s: for %d s", (_, e, seconds) => {
  expect(statusAfter(e, { nodes: [node()], pods: [pod()] }).nextAttemptTime).toBe(time(seconds));
});

const another = { uid: "asked", name: "asked" };

describe("a retry is possible or not for", () => {
  const abandoned = endedEvacuation("Abandoned", { createdAt: at(-70).getTime() });
  // prettier-ignore
  test.each<readonly [string, readonly EvacuationFacts[], string | undefined]>([
    ["an Evacuation in back-off",                              [waiting],                                             "TryNow"],
    ["a migrating Evacuation without failures: not",           [evacuation({ status: { phase: "Migrating" } })],         undefined],
    ["an abandoned Evacuation",                                [abandoned],                                              "StartNew"],
    ["an abandoned Evacuation followed by a cancelled one",    [abandoned, endedEvacuation("Withdrawn", another)],       "StartNew"],
    ["a cancelled Evacuation: not",                            [endedEvacuation("Withdrawn", another)],                  undefined],
    ["an abandoned Evacuation followed by an active one: not", [abandoned, evacuation(another)],                         undefined],
    ["an abandoned Evacuation of another pod: not",            [{ ...abandoned, status: { ...abandoned.status, podUID: "former" } }], undefined],
  ])("%s", (_, evacuations, expected) => expect(retryOf(marked(), evacuations)?.retry).toBe(expected));
});

describe("given a back-off of 40 s, 10 s of which have passed", () => {
  const spec = { ...evacuation().spec, retryAt: time(-1) };
  const retried: EvacuationFacts = { ...waiting, spec };
  const status = { ...waiting.status, observedRetryAt: time(-1) };
  // prettier-ignore
  test.each<readonly [string, EvacuationFacts, string]>([
    ["a person's retry ends the back-off",                         retried,                                                 "CreateMigration, Pending Pending, Event"],
    ["a retry that an attempt followed does not end the back-off", { ...retried, status },                                  "-"],
  ])("%s", (_, e, expected) => expect(inShort(planned(e))).toBe(expected));

  test("the retry is recorded once, and the count of attempts stays", () => {
    const observed = { observedRetryAt: time(-1), nextAttemptTime: time(0), attempts: 2, phase: "Pending" };
    expect(statusAfter(retried)).toMatchObject(observed);
  });

  test("a retry ends an inherited back-off", () => {
    const inherited = { attempts: 2, notBefore: time(30) };
    const e: EvacuationFacts = { ...evacuation(), createdAt: at(-1).getTime(), spec: { ...spec, inherited } };
    expect(statusAfter(e)).toMatchObject({ phase: "Pending", attempts: 2, nextAttemptTime: time(0) });
  });
});
