/** What a pod is under, by its condition or by Evacuations, and until when its deletion is refused; also where nothing can be learnt. */
import { describe, expect, test } from "vitest";
import type { EvacuationFacts, EvacuationStatus } from "../../../shared/kube/evacuation.ts";
import type { Phase } from "../../../shared/kube/evacuation.ts";
import { decideUndecided, type DeletionFacts } from "../../../shared/guard/decide.ts";
import type { GuardCause } from "../../../shared/settings/guarded.ts";
import {
  answerTo,
  begunBy,
  condition,
  created,
  disrupted,
  drained,
  guarded,
  KARPENTER,
  refused,
  REASON,
  REQUESTER,
  SCHEDULER,
  secondsLeft,
  target,
} from "../../support/guard/disruptions.ts";
import { at, hotplug, marked, NOW, pod, time } from "../../support/fixtures.ts";

const RESET = pod({ disruptionTarget: { active: false, since: time(0) } });
function left(cause: GuardCause, tweak: Parameters<typeof secondsLeft>[0]): number {
  return secondsLeft({ requester: REQUESTER[cause], ...tweak });
}

test("after the first refusal the Evacuation counts: kube-controller-manager resets the condition after 120 s", () => {
  const settings = guarded({ deadlineSeconds: { ...guarded().guard.deadlineSeconds, Preemption: 600 } });
  const begun = begunBy({ settings });
  const then = { vmi: marked(), evacuations: begun === undefined ? [] : [created(begun)], pod: RESET, settings };
  expect(answerTo({ ...then, now: at(121) })).toBe("Refuse");
  expect(refused({ ...then, now: at(121) }).actions).toEqual([]);
  expect(answerTo({ ...then, now: at(600) })).toBe("DeadlinePassed");
});

describe("the deadline", () => {
  // prettier-ignore
  test.each([
    // cause              condition   Evacuations                                                   left
    ["Preemption",        -50,        [],                                                           70],
    ["Preemption",        500,        [],                                                           120],
    ["Preemption",        NaN,        [],                                                           120],
    ["Preemption",        -50,        [disrupted("Preemption", 100)],                               70],
    ["Preemption",        -20,        [disrupted("Preemption", 70)],                                70],
    ["Preemption",        0,          [disrupted("NoExecuteTaint", 50)],                            50],
    ["Preemption",        0,          [drained(), disrupted("Preemption", 70, { status: { phase: "Duplicate" } })], 70],
    ["Preemption",        0,          [disrupted("Preemption", 70, { status: { phase: "Duplicate" } })], 120],
    ["Preemption",        0,          [disrupted("Preemption", 70, { status: { phase: "Withdrawn", nextAttemptTime: time(30) } })], 70],
    ["NoExecuteTaint",    0,          [],                                                           300],
    ["DeviceTaint",       -50,        [],                                                           250],
  ] as const)("%s: condition at %d s", (cause, since, evacuations, seconds) => {
    const conditioned = condition(cause, { since: Number.isNaN(since) ? "" : time(since) });
    expect(left(cause, { pod: pod({ disruptionTarget: conditioned }), vmi: marked(), evacuations })).toBe(seconds);
  });

  test("set anew after the reset, the condition does not move the deadline", () => {
    const anew = { vmi: marked(), evacuations: [disrupted("Preemption", 120)], pod: target("Preemption", 119) };
    expect(left("Preemption", { ...anew, now: at(119) })).toBe(1);
    expect(answerTo({ ...anew, now: at(120) })).toBe("DeadlinePassed");
  });

  // A drain goes on, for hours perhaps: nothing ends what its Duplicate records.
  test.each([
    ["Preemption", -31, 0, 120],
    ["Preemption", -29, 0, "DeadlinePassed"],
    ["NoExecuteTaint", -9999, 5000, 300],
    ["NoExecuteTaint", -9999, -9970, "DeadlinePassed"],
  ] as const)(
    "of an earlier %s, whose deadline was at %d s, is none of the one at %d s",
    (cause, late, since, left) => {
      const duplicate = disrupted(cause, late, { status: { phase: "Duplicate" } });
      const again = { pod: target(cause, since), requester: REQUESTER[cause], vmi: marked() };
      const given = { ...again, evacuations: [drained({ createdAt: at(-99_999).getTime() }), duplicate] };
      if (typeof left === "string") return expect(answerTo(given)).toBe(left);
      expect(secondsLeft(given)).toBe(left);
      expect(begunBy(given)?.spec).toMatchObject({ cause, deadline: time(left) });
    },
  );
});

/** In that phase, to be left alone for so many seconds more. */
function rests(phase: Phase, seconds: number): Partial<EvacuationStatus> {
  return { phase, nextAttemptTime: time(seconds) };
}

function preempted(status: Partial<EvacuationStatus> = {}): EvacuationFacts {
  return disrupted("Preemption", 60, { status });
}

const duplicate = preempted({ phase: "Duplicate" });

describe("without the condition, as after a reset", () => {
  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], expected: "Refuse" | "NotADisruption"]>([
    ["none",                          [],                                                                "NotADisruption"],
    ["one that was given up",         [preempted(rests("Abandoned", 30))],                               "Refuse"],
    ["… and has rested",              [preempted(rests("Abandoned", 0))],                                "NotADisruption"],
    ["one whose taint is gone",       [preempted({ phase: "Withdrawn" })],                               "NotADisruption"],
    ["a Duplicate of a drain's",      [drained(), duplicate],                                            "Refuse"],
    ["… of none, a drain since",      [{ ...drained(), createdAt: at(0).getTime() }, duplicate],         "NotADisruption"],
    ["one of another pod",            [preempted({ podUID: "former" })],                                 "NotADisruption"],
    ["one of another VM",             [disrupted("Preemption", 60, { spec: { vmiName: "db" } })],        "NotADisruption"],
    ["a drain's",                     [drained()],                                                       "NotADisruption"],
    ["one whose deadline is no time", [disrupted("Preemption", 60, { spec: { deadline: "soon" } })],     "NotADisruption"],
  ])("%s", (_, evacuations, expected) => {
    expect(answerTo({ pod: pod(), vmi: marked(), evacuations })).toBe(expected);
  });
});

describe("the gate that counts", () => {
  const settings = guarded({}, { featureGates: ["PreemptionEvictionLiveMigration"] });
  const byTaint = condition("Preemption", { reason: REASON.NoExecuteTaint });
  const newer = disrupted("NoExecuteTaint", 60, { name: "newer", createdAt: at(-1).getTime() });

  // prettier-ignore
  test.each([
    ["is that of the condition while it is True", [preempted()],        byTaint,                      "NotADisruption"],
    ["else that of the Evacuation",               [preempted()],        { active: false, since: "" }, "Refuse"],
    ["… of the newest one",                       [preempted(), newer], { active: false, since: "" }, "NotADisruption"],
  ])("%s", (_, evacuations, disruptionTarget, expected) => {
    expect(answerTo({ settings, vmi: marked(), evacuations, pod: pod({ disruptionTarget }) })).toBe(expected);
  });
});

type Seen = Partial<Pick<DeletionFacts, "pod" | "requester" | "deleteBy">>;

function retriedAfter(tweak: Seen = {}, settings = guarded()) {
  const decision = decideUndecided({ pod: target("Preemption", -50), requester: SCHEDULER, ...tweak }, "why", {
    settings,
    now: NOW,
  });
  return decision.verdict === "Refuse" ? decision.retryAfterSeconds : decision.reason;
}

describe("undecided", () => {
  // prettier-ignore
  test.each<[string, Seen, seconds: number]>([
    ["a preemption",                     {},                                                                   5],
    ["a hotplug pod",                    { pod: hotplug({ disruptionTarget: condition("Preemption") }) },      5],
    ["a node that ends later",           { pod: pod(), requester: KARPENTER, deleteBy: at(100).getTime() },    5],
    ["its deadline is near",             { pod: target("Preemption", -117.5) },                                3],
  ])("%s: refused until the deadline that the request itself shows", (_, tweak, seconds) => {
    expect(retriedAfter(tweak)).toBe(seconds);
  });

  // prettier-ignore
  test.each([
    ["no time to count from",   { pod: pod({ disruptionTarget: condition("Preemption", { since: "" }) }) }],
    ["a node that is to end, nobody knows when", { requester: KARPENTER }],
    ["another requester",       { requester: "admin" }],
    ["the condition reset",     { pod: RESET }],
    ["not a VM's pod",          { pod: target("Preemption", 0, { labels: {} }) }],
  ])("%s: goes", (_, tweak) => expect(retriedAfter(tweak)).toBe("Undecided"));
});
