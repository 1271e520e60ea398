/** What a pod is under once its condition says nothing any more, by the Evacuations that name its VMI. */
import { describe, expect, test } from "vitest";
import type { EvacuationFacts, EvacuationStatus } from "../../../shared/policy/facts.ts";
import type { Phase } from "../../../shared/policy/evacuation/phase.ts";
import { answerTo, condition, disrupted, drained, guarded, REASON } from "./disruptions.ts";
import { at, marked, newborn, pod, time } from "../fixtures.ts";

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
