/**
 * Tests how Lifeboat reads a disruption from a pod's condition, and the deadline until which the guard refuses the
 * deletion.
 */
import { describe, expect, test } from "vitest";
import type { GuardCause } from "../../../shared/settings/guarded.ts";
import {
  answerTo,
  evacuationOf,
  condition,
  disrupted,
  drained,
  guarded,
  REQUESTER,
  secondsLeft,
  target,
} from "../../support/guard/disruptions.ts";
import { at, marked, pod, time } from "../../support/fixtures.ts";

const RESET = pod({ disruptionTarget: { active: false, since: time(0) } });
function left(cause: GuardCause, tweak: Parameters<typeof secondsLeft>[0]): number {
  return secondsLeft({ requester: REQUESTER[cause], ...tweak });
}

describe("the guard's deadline", () => {
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
    ["DeviceTaint",       -50,        [],                                                           250],
  ] as const)("for a %s whose condition was set at %d s", (cause, since, evacuations, seconds) => {
    const conditioned = condition(cause, { since: Number.isNaN(since) ? "" : time(since) });
    expect(left(cause, { pod: pod({ disruptionTarget: conditioned }), vmi: marked(), evacuations })).toBe(seconds);
  });

  test("does not move when the condition is set again", () => {
    const anew = { vmi: marked(), evacuations: [disrupted("Preemption", 120)], pod: target("Preemption", 119) };
    expect(left("Preemption", { ...anew, now: at(119) })).toBe(1);
    expect(answerTo({ ...anew, now: at(120) })).toBe("DeadlinePassed");
  });

  // A drain's Evacuation can exist for hours, and so can an Evacuation that ended as its Duplicate. The deadline of the
  // Duplicate does not apply to a disruption that starts more than 30 s after this deadline.
  test.each([
    ["Preemption", -31, 0, 120],
    ["Preemption", -29, 0, "DeadlinePassed"],
    ["DeviceTaint", -9999, 5000, 300],
    ["DeviceTaint", -9999, -9970, "DeadlinePassed"],
  ] as const)("of an earlier %s at %d s does not apply to a condition of %d s", (cause, late, since, left) => {
    const duplicate = disrupted(cause, late, { status: { phase: "Duplicate" } });
    const again = { pod: target(cause, since), requester: REQUESTER[cause], vmi: marked() };
    const given = { ...again, evacuations: [drained({ createdAt: at(-99_999).getTime() }), duplicate] };
    if (typeof left === "string") return expect(answerTo(given)).toBe(left);
    expect(secondsLeft(given)).toBe(left);
    expect(evacuationOf(given)?.spec).toMatchObject({ cause, deadline: time(left) });
  });
});

// kube-controller-manager sets the condition to False after 120 s, and client-go can still repeat the deletion.
// prettier-ignore
test.each([
  // the pod               its Evacuations                                                      the answer
  ["the condition False", RESET, [],                                                            "NotADisruption"],
  ["the condition False", RESET, [disrupted("Preemption", 60)],                                 60],
  ["the condition False", RESET, [disrupted("DeviceTaint", 60)],                                60],
  ["the condition False", RESET, [disrupted("DeviceTaint", 90), disrupted("Preemption", 60)],   60],
  ["the condition False", RESET, [disrupted("DeviceTaint", -31), disrupted("DeviceTaint", 60, { createdAt: at(0).getTime() })], 60],
  ["the condition False", RESET, [disrupted("NoExecuteTaint", 20), disrupted("DeviceTaint", 60)], 60],
  ["the condition False", RESET, [disrupted("Preemption", -1)],                                 "DeadlinePassed"],
  ["the condition False", RESET, [disrupted("Preemption", -31)],                                "NotADisruption"],
  ["the condition False", RESET, [disrupted("Preemption", 60, { status: { phase: "Withdrawn" } })], "NotADisruption"],
  ["the condition False", RESET, [disrupted("NoExecuteTaint", 60)],                             "NotADisruption"],
  ["the condition False", RESET, [disrupted("NodeTermination", 60)],                            "NotADisruption"],
  ["the condition False", RESET, [drained()],                                                   "NotADisruption"],
  ["no condition",        pod(), [disrupted("Preemption", 60)],                                 "NotADisruption"],
] as const)("the answer to the deletion of a pod with %s (row %#)", (_, subject, evacuations, answer) => {
  const given = { pod: subject, vmi: marked(), evacuations };
  if (typeof answer === "string") return expect(answerTo(given)).toBe(answer);
  expect(secondsLeft(given)).toBe(answer);
});

test("the feature gate of the condition's cause counts", () => {
  const settings = guarded({}, { featureGates: ["PreemptionEvictionLiveMigration"] });
  const given = { settings, vmi: marked(), evacuations: [disrupted("Preemption", 60)] };
  expect(answerTo({ ...given, pod: target("Preemption") })).toBe("Refuse");
  expect(answerTo({ ...given, pod: target("DeviceTaint") })).toBe("NotADisruption");
});
