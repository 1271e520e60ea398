/** The end of a node: who ends one, until when deletions of its VMs' pods are refused, and when the time that is left is better used otherwise. */
import { describe, expect, test } from "vitest";
import { decideUndecided, type DeletionFacts } from "../../../shared/guard/decide.ts";
import { deleteByOf } from "../../../shared/guard/disruption-cause.ts";
import { at, EXTERNAL, marked, node, NOW, only, PINNED, pod, POD_UID, time, vmi } from "../../support/fixtures.ts";
import { decideDeletion } from "../../../shared/guard/decide.ts";
import {
  answerTo,
  begunBy,
  condition,
  deletion,
  disrupted,
  drained,
  guarded,
  refused,
  KARPENTER,
  SCHEDULER,
  secondsLeft,
  target,
  termination,
} from "../../support/guard/disruptions.ts";

const moving = vmi({ isMigrating: true });
const ending = (endsAt: string) => ({ node: node({ endsAt }) });

describe("who ends nodes", () => {
  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, string]>([
    ["Karpenter",                               {},                                                                 "Refuse"],
    ["… where it used to be installed",         { requester: "system:serviceaccount:karpenter:karpenter" },         "Refuse"],
    ["one of that name elsewhere",              { requester: "system:serviceaccount:shop:karpenter" },              "OtherRequester"],
    ["whom the administrator names",            { requester: "mcm", settings: guarded({ nodeTerminators: ["mcm"] }) }, "Refuse"],
    ["Karpenter, where nobody ends nodes",      { settings: guarded({ nodeTerminators: [] }) },                     "OtherRequester"],
    ["the scheduler, of a node that ends",      { requester: SCHEDULER, ...ending(time(60)) },                      "NotADisruption"],
    ["an administrator, of a node that ends",   { requester: "kubernetes-admin", ...ending(time(60)) },             "OtherRequester"],
    ["Karpenter, with the gate off",            { settings: guarded({}, { featureGates: ["PreemptionEvictionLiveMigration"] }) }, "NotADisruption"],
    ["Karpenter, of a pod that ends already",   { pod: pod({ deleting: true }) },                                   "NotADisruption"],
    ["… of a VM that it was held for before",   { pod: pod({ deleting: true }), vmi: marked(), evacuations: [disrupted("NodeTermination", 60)] }, "NotADisruption"],
  ])("%s", (_, tweak, expected) => expect(answerTo(termination(100, tweak))).toBe(expected));

  test("the cause is its own, whatever condition the pod has, and urgent", () => {
    expect(begunBy(termination(100))?.spec).toMatchObject({
      cause: "NodeTermination",
      requestedBy: KARPENTER,
      deadline: time(100),
    });
    expect(begunBy(termination(100, { pod: target("Preemption", -90) }))?.spec.cause).toBe("NodeTermination");
    expect(only("Label", refused(termination(100)).actions)).toMatchObject([{ urgency: "urgent" }]);
  });

  test("a drain's evacuation goes on: the new one only records the deadline", () => {
    const given = termination(100, { vmi: marked(), evacuations: [drained()] });
    expect(begunBy(given)?.spec).toMatchObject({ cause: "NodeTermination", deadline: time(100) });
  });
});

describe("the time", () => {
  const shortened = guarded({ deadlineSeconds: { ...guarded().guard.deadlineSeconds, NodeTermination: 60 } });

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, left: number]>([
    ["by the grace period",                      termination(100),                                                       100],
    ["by the node's annotation",                 termination(100, ending(time(200))),                                    200],
    ["… if sooner",                              termination(100, ending(time(50))),                                     50],
    ["… if it is a time: else as without",       termination(100, ending("soon")),                                       100],
    ["… nor an empty one",                       termination(100, ending("")),                                           100],
    ["by neither",                               { requester: KARPENTER, pod: pod(), node: node() },                     3600],
    ["later than what is allowed",               termination(100, { settings: shortened }),                              60],
    ["… by the annotation",                      termination(100, { settings: shortened, ...ending(time(9999)) }),       60],
    ["as first seen, if it moves away",          termination(100, { vmi: marked(), evacuations: [disrupted("NodeTermination", 40)] }), 40],
    ["the earlier one of two causes",            termination(100, { vmi: marked(), evacuations: [disrupted("Preemption", 30)] }), 30],
  ])("%s", (_, given, left) => expect(secondsLeft(given)).toBe(left));

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, string]>([
    ["has come",                                 termination(0, { vmi: moving }),                                        "DeadlinePassed"],
    ["is past, by the annotation",               termination(100, { vmi: moving, ...ending(time(-1)) }),                 "DeadlinePassed"],
    ["is near, and nothing moves",               termination(14),                                                        "DeadlinePassed"],
    ["… an External VM, likewise",               termination(14, { vmi: vmi({ ...EXTERNAL, ...PINNED }) }),              "DeadlinePassed"],
    ["is near, and the VM is moving",            termination(14, { vmi: moving }),                                       "Refuse"],
    ["is as far as a migration",                 termination(15),                                                        "Refuse"],
    ["a preemption's may be as near as it likes", { pod: target("Preemption", -119) },                                   "Refuse"],
  ])("%s", (_, given, expected) => expect(answerTo(given)).toBe(expected));

  test("an Event says when the node ends", () => {
    const { events } = decideDeletion(deletion(termination(14)));
    const message = `pod ${pod().name} is deleted by ${KARPENTER} (cause NodeTermination) and the VM with it: it has not moved, and its node ends at ${time(14)}`;
    expect(only("Event", events)).toMatchObject([{ reason: "DeletionAllowed", occasion: POD_UID, message }]);
  });

  // prettier-ignore
  test.each([
    [30,        at(30).getTime()],
    [2,         at(2).getTime()],
    // Karpenter asks for no less, however late it is.
    [1,         NOW.getTime()],
    [0,         NOW.getTime()],
    [undefined, undefined],
  ])("a grace period of %s s", (grace, expected) => expect(deleteByOf(grace, NOW)).toBe(expected));
});

describe("undecided", () => {
  const preempted = pod({ disruptionTarget: condition("Preemption") });

  // prettier-ignore
  test.each<[string, Parameters<typeof decideUndecided>[0], verdict: "Refuse" | "Allow"]>([
    ["refused until the request itself shows", { pod: pod(), requester: KARPENTER, deleteBy: at(100).getTime() }, "Refuse"],
    ["past it: goes",                          { pod: pod(), requester: KARPENTER, deleteBy: NOW.getTime() },     "Allow"],
    ["a time that only the pod shows: goes",   { pod: preempted, requester: KARPENTER },                          "Allow"],
  ])("%s", (_, given, verdict) => {
    expect(decideUndecided(given, "why", { settings: guarded(), now: NOW }).verdict).toBe(verdict);
  });
});
