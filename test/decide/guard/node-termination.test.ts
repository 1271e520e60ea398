/** The end of a node: who ends one, until when deletions of its VMs' pods are refused, and when the time that is left is better used otherwise. */
import { describe, expect, test } from "vitest";
import { type DeletionFacts } from "../../../shared/guard/decide.ts";
import { deleteByOf } from "../../../shared/guard/disruption-cause.ts";
import { at, marked, node, NOW, only, pod, POD_UID, time, vmi } from "../../support/fixtures.ts";
import { decideDeletion } from "../../../shared/guard/decide.ts";
import {
  answerTo,
  evacuationOf,
  deletion,
  disrupted,
  guarded,
  KARPENTER,
  secondsLeft,
  target,
  termination,
} from "../../support/guard/disruptions.ts";

const moving = vmi({ isMigrating: true });
const ending = (endsAt: string) => ({ node: node({ endsAt }) });

describe("who ends nodes", () => {
  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, string]>([
    ["Karpenter, where it used to be installed",         { requester: "system:serviceaccount:karpenter:karpenter" },         "Refuse"],
    ["one of that name elsewhere",              { requester: "system:serviceaccount:shop:karpenter" },              "OtherRequester"],
    ["whom the administrator names",            { requester: "mcm", settings: guarded({ nodeTerminators: ["mcm"] }) }, "Refuse"],
    ["Karpenter, of a pod that ends already",   { pod: pod({ deleting: true }) },                                   "NotADisruption"],
  ])("%s", (_, tweak, expected) => expect(answerTo(termination(100, tweak))).toBe(expected));

  test("the cause is its own, whatever condition the pod has", () => {
    const started = evacuationOf(termination(100, { pod: target("Preemption", -90) }));
    expect(started?.spec).toMatchObject({ cause: "NodeTermination", requestedBy: KARPENTER, deadline: time(100) });
  });
});

describe("the time", () => {
  const shortened = guarded({ deadlineSeconds: { ...guarded().guard.deadlineSeconds, NodeTermination: 60 } });

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, left: number]>([
    ["by the grace period",                      termination(100),                                                       100],
    ["by the node's annotation",                 termination(100, ending(time(200))),                                    200],
    ["… if it is a time: else as without",       termination(100, ending("soon")),                                       100],
    ["by neither",                               { requester: KARPENTER, pod: pod(), node: node() },                     3600],
    ["later than what is allowed",               termination(100, { settings: shortened }),                              60],
    ["as first seen, if it moves away",          termination(100, { vmi: marked(), evacuations: [disrupted("NodeTermination", 40)] }), 40],
    ["the earlier one of two causes",            termination(100, { vmi: marked(), evacuations: [disrupted("Preemption", 30)] }), 30],
  ])("%s", (_, given, left) => expect(secondsLeft(given)).toBe(left));

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, string]>([
    ["has come",                                 termination(0, { vmi: moving }),                                        "DeadlinePassed"],
    ["is near, and nothing moves",               termination(14),                                                        "DeadlinePassed"],
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
    [undefined, undefined],
  ])("a grace period of %s s", (grace, expected) => expect(deleteByOf(grace, NOW)).toBe(expected));
});
