/** What a pod is under, by its condition or by Evacuations, and until when it is held: who shares that, what blindness makes of it. */
import { describe, expect, test } from "vitest";
import type { EvacuationFacts, EvacuationStatus } from "../../../shared/policy/facts.ts";
import type { Phase } from "../../../shared/policy/evacuation/phase.ts";
import { blindHoldSeconds } from "../../../shared/policy/guard/deletion.ts";
import type { GuardCause } from "../../../shared/policy/guard/guarded.ts";
import {
  answerTo,
  begunBy,
  condition,
  created,
  disrupted,
  drained,
  guarded,
  held,
  heldCalled,
  REASON,
  REQUESTER,
  SCHEDULER,
  target,
} from "./disruptions.ts";
import { at, hotplug, marked, newborn, NOW, pod, time } from "../fixtures.ts";

const RESET = pod({ disruptionTarget: { active: false, since: time(0) } });
/** Longer than any deadline, so that the hold shows what is left. */
const PATIENT = { patienceSeconds: 10_000 };

function left(cause: GuardCause, tweak: Parameters<typeof held>[0]): number {
  return held({ ...PATIENT, requester: REQUESTER[cause], ...tweak }).holdSeconds;
}

describe("the first sighting", () => {
  test("needs the True condition", () => {
    expect(answerTo({ pod: RESET })).toBe("NotADisruption");
    expect(answerTo({ pod: target("Preemption") })).toBe("Hold");
  });

  test("afterwards the Evacuation counts: kube-controller-manager resets the condition after 120 s", () => {
    const settings = guarded({ deadlineSeconds: { ...guarded().guard.deadlineSeconds, Preemption: 600 } });
    const begun = begunBy({ settings });
    const then = { vmi: marked(), evacuations: begun === undefined ? [] : [created(begun)], pod: RESET, settings };
    expect(answerTo({ ...then, now: at(121) })).toBe("Hold");
    expect(held({ ...then, now: at(121) }).actions).toEqual([]);
    expect(answerTo({ ...then, now: at(600) })).toBe("DeadlinePassed");
  });

  test("first seen late, the Evacuation says until when all the same", () => {
    expect(begunBy({ pod: target("Preemption", -60) })?.spec.deadline).toBe(time(60));
  });
});

describe("the deadline", () => {
  // prettier-ignore
  test.each([
    // cause              condition   Evacuations                                                   left
    ["Preemption",        0,          [],                                                           120],
    ["Preemption",        -50,        [],                                                           70],
    ["Preemption",        500,        [],                                                           120],
    ["Preemption",        NaN,        [],                                                           120],
    ["Preemption",        -50,        [disrupted("Preemption", 100)],                               70],
    ["Preemption",        -20,        [disrupted("Preemption", 70)],                                70],
    ["Preemption",        NaN,        [disrupted("Preemption", 70)],                                70],
    ["Preemption",        0,          [disrupted("Preemption", 1)],                                 1],
    ["Preemption",        0,          [disrupted("NoExecuteTaint", 50)],                            50],
    ["Preemption",        0,          [disrupted("NoExecuteTaint", 200)],                           120],
    ["Preemption",        0,          [drained(), disrupted("Preemption", 70, { status: { phase: "Duplicate" } })], 70],
    ["Preemption",        0,          [disrupted("Preemption", 70, { status: { phase: "Duplicate" } })], 120],
    ["Preemption",        0,          [disrupted("Preemption", 70, { status: { phase: "Withdrawn", nextAttemptTime: time(30) } })], 70],
    ["Preemption",        0,          [disrupted("Preemption", -9999, { status: { phase: "Abandoned", nextAttemptTime: time(-1) } })], 120],
    ["Preemption",        0,          [disrupted("Preemption", 70, { status: { podUID: "former" } })], 120],
    ["Preemption",        0,          [drained()],                                                  120],
    ["NoExecuteTaint",    0,          [],                                                           300],
    ["NoExecuteTaint",    -50,        [disrupted("NoExecuteTaint", 50)],                            50],
    ["NoExecuteTaint",    500,        [disrupted("NoExecuteTaint", 250), disrupted("Preemption", 40)], 40],
  ] as const)("%s: condition at %d s", (cause, since, evacuations, seconds) => {
    const conditioned = condition(cause, { since: Number.isNaN(since) ? "" : time(since) });
    expect(left(cause, { pod: pod({ disruptionTarget: conditioned }), vmi: marked(), evacuations })).toBe(seconds);
  });

  test("set anew after the reset, the condition does not move the deadline", () => {
    const anew = { vmi: marked(), evacuations: [disrupted("Preemption", 120)], pod: target("Preemption", 119) };
    expect(left("Preemption", { ...anew, now: at(119) })).toBe(1);
    expect(answerTo({ ...anew, now: at(120) })).toBe("DeadlinePassed");
  });

  test("the cause at work now is held by its own Evacuation", () => {
    expect(begunBy({ vmi: marked(), evacuations: [disrupted("NoExecuteTaint", 200)] })?.spec).toMatchObject({
      cause: "Preemption",
      deadline: time(120),
    });
  });
});

describe("victims of one node", () => {
  const first = target("Preemption", -100, { name: "virt-launcher-db-aaaaa", uid: "pod-db" });
  const active = [heldCalled("db", 100), heldCalled("c", 10)];

  test("share the earliest deadline", () => {
    const others = [first, target("Preemption", -10, { uid: "pod-c" })];
    expect(left("Preemption", { active, neighbours: others })).toBe(20);
    expect(begunBy({ active, neighbours: [first] })?.spec.deadline).toBe(time(20));
  });

  test("past it the next one goes at once: the preemptor does not wait for the sum", () => {
    expect(answerTo({ active, neighbours: [first], now: at(20) })).toBe("DeadlinePassed");
  });

  test("but only just past it: a victim that takes its time to end does not unprotect the node meanwhile", () => {
    const ending = { active, neighbours: [{ ...first, deleting: true }] };
    expect(answerTo({ ...ending, now: at(50) })).toBe("DeadlinePassed");
    expect(answerTo({ ...ending, now: at(51), pod: target("Preemption", 51) })).toBe("Hold");
  });

  // prettier-ignore
  test.each([
    ["a neighbour under no disruption",    pod({ uid: "pod-db" })],
    ["a condition that is False",          pod({ uid: "pod-db", disruptionTarget: condition("Preemption", { active: false, since: time(-100) }) })],
    ["one for a taint",                    target("NoExecuteTaint", -100, { uid: "pod-db" })],
    ["one from the future",                target("Preemption", 100, { uid: "pod-db" })],
    ["one without a time",                 pod({ uid: "pod-db", disruptionTarget: condition("Preemption", { since: "" }) })],
    ["a pod that only looks like a VM's",  target("Preemption", -100, { uid: "impostor" })],
    ["a VM's pod, in another namespace",   target("Preemption", -100, { uid: "pod-db", namespace: "other" })],
  ])("%s does not count", (_, neighbour) => {
    expect(left("Preemption", { active, neighbours: [neighbour] })).toBe(120);
  });

  test("NoExecute is each one's own", () => {
    const neighbours = [first, target("NoExecuteTaint", -100, { uid: "c" })];
    expect(left("NoExecuteTaint", { pod: target("NoExecuteTaint"), active, neighbours })).toBe(300);
  });
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
  test.each<[string, readonly EvacuationFacts[], expected: "Hold" | "NotADisruption"]>([
    ["none",                          [],                                                                "NotADisruption"],
    ["one not looked at yet",         [newborn({ spec: preempted().spec })],                             "Hold"],
    ["one that goes on",              [preempted({ phase: "Migrating" })],                               "Hold"],
    ["one in back-off",               [preempted(rests("BackingOff", 30))],                              "Hold"],
    ["one that was given up",         [preempted(rests("Abandoned", 30))],                               "Hold"],
    ["… and has rested",              [preempted(rests("Abandoned", 0))],                                "NotADisruption"],
    ["one that was cancelled",        [preempted(rests("Withdrawn", 30))],                               "Hold"],
    ["one whose taint is gone",       [preempted({ phase: "Withdrawn" })],                               "NotADisruption"],
    ["a Duplicate of a drain's",      [drained(), duplicate],                                            "Hold"],
    ["… that was given up",           [drained({ status: rests("Abandoned", 30) }), duplicate],          "Hold"],
    ["… and has rested",              [drained({ status: rests("Abandoned", 0) }), duplicate],           "NotADisruption"],
    ["… of none, a drain since",      [{ ...drained(), createdAt: at(0).getTime() }, duplicate],         "NotADisruption"],
    ["… of none any more",            [duplicate],                                                       "NotADisruption"],
    ["one of another pod",            [preempted({ podUID: "former" })],                                 "NotADisruption"],
    ["one of a VM made anew",         [preempted({ virtualMachineInstanceUID: "former" })],              "NotADisruption"],
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
    ["… whatever is newer",                       [newer],              condition("Preemption"),      "Hold"],
    ["else that of the Evacuation",               [preempted()],        { active: false, since: "" }, "Hold"],
    ["… of the newest one",                       [preempted(), newer], { active: false, since: "" }, "NotADisruption"],
  ])("%s", (_, evacuations, disruptionTarget, expected) => {
    expect(answerTo({ settings, vmi: marked(), evacuations, pod: pod({ disruptionTarget }) })).toBe(expected);
  });
});

type Seen = Partial<Parameters<typeof blindHoldSeconds>[0]>;

function seconds(tweak: Seen = {}, guard = guarded()): number | undefined {
  return blindHoldSeconds({ pod: target("Preemption", -50), requester: SCHEDULER, ...tweak }, guard, NOW);
}

describe("blind", () => {
  test("held as long as the request itself shows", () => {
    expect(seconds()).toBe(70);
    expect(seconds({ pod: target("NoExecuteTaint", -50) })).toBe(250);
    expect(seconds({ pod: hotplug({ disruptionTarget: condition("Preemption") }) })).toBe(120);
  });

  test("a time in the future does not extend it", () => expect(seconds({ pod: target("Preemption", 900) })).toBe(120));

  test("mode Deny denies at once", () => expect(seconds({}, guarded({ mode: "Deny" }))).toBe(0));

  // prettier-ignore
  test.each([
    ["past the deadline",       { pod: target("Preemption", -120) }],
    ["no time to count from",   { pod: pod({ disruptionTarget: condition("Preemption", { since: "" }) }) }],
    ["another requester",       { requester: "admin" }],
    ["a plain deletion",        { pod: pod() }],
    ["the condition reset",     { pod: RESET }],
    ["a completed pod",         { pod: target("Preemption", 0, { phase: "Succeeded" }) }],
    ["not a VM's pod",          { pod: target("Preemption", 0, { labels: {} }) }],
  ])("%s: goes", (_, tweak) => expect(seconds(tweak)).toBeUndefined());

  test.each([guarded({ mode: "Off" }), guarded({}, { featureGates: ["NoExecuteTaintEvictionLiveMigration"] })])(
    "guard or gate off: goes",
    (off) => expect(seconds({}, off)).toBeUndefined(),
  );
});
