/**
 * Tests the deletion of a node: the requesters, the deadline for the pods of VMs, and the remaining time for a
 * shutdown.
 */
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

describe("a deletion at the end of a node", () => {
  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, string]>([
    ["by Karpenter in its former namespace is refused",         { requester: "system:serviceaccount:karpenter:karpenter" },         "Refuse"],
    ["by a service account of the same name elsewhere is allowed",              { requester: "system:serviceaccount:shop:karpenter" },              "OtherRequester"],
    ["by a requester that the administrator names is refused",            { requester: "mcm", settings: guarded({ nodeTerminators: ["mcm"] }) }, "Refuse"],
    ["by Karpenter of a terminating pod is no disruption",   { pod: pod({ deleting: true }) },                                   "NotADisruption"],
  ])("%s", (_, tweak, expected) => expect(answerTo(termination(100, tweak))).toBe(expected));

  test("has its own cause, even if the pod has a condition", () => {
    const started = evacuationOf(termination(100, { pod: target("Preemption", -90) }));
    expect(started?.spec).toMatchObject({ cause: "NodeTermination", requestedBy: KARPENTER, deadline: time(100) });
  });
});

describe("the remaining time of a node", () => {
  const shortened = guarded({ deadlineSeconds: { ...guarded().guard.deadlineSeconds, NodeTermination: 60 } });

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, left: number]>([
    ["follows from the grace period",                           termination(100),                                                       100],
    ["follows from the node's annotation",                      termination(100, ending(time(200))),                                    200],
    ["ignores an annotation that is not a time",                termination(100, ending("soon")),                                       100],
    ["has a default without grace period and annotation",       { requester: KARPENTER, pod: pod(), node: node() },                     3600],
    ["is at most the configured deadline",                      termination(100, { settings: shortened }),                              60],
    ["does not grow once recorded",                             termination(100, { vmi: marked(), evacuations: [disrupted("NodeTermination", 40)] }), 40],
    ["is the earlier deadline of two causes",                   termination(100, { vmi: marked(), evacuations: [disrupted("Preemption", 30)] }), 30],
  ])("%s", (_, given, left) => expect(secondsLeft(given)).toBe(left));

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, string]>([
    ["0 s allow the deletion",                                 termination(0, { vmi: moving }),                                        "DeadlinePassed"],
    ["14 s allow the deletion if no migration runs",               termination(14),                                                        "DeadlinePassed"],
    ["14 s refuse the deletion if the VM is migrating",            termination(14, { vmi: moving }),                                       "Refuse"],
    ["15 s refuse the deletion, as a migration may still end in time",                 termination(15),                                                        "Refuse"],
    ["1 s of a preemption refuses the deletion", { pod: target("Preemption", -119) },                                   "Refuse"],
  ])("%s", (_, given, expected) => expect(answerTo(given)).toBe(expected));

  test("is reported in an Event", () => {
    const { events } = decideDeletion(deletion(termination(14)));
    const message = `${KARPENTER} deletes pod ${pod().name} (cause NodeTermination), and the VM ends with it: the VM has not moved, and its node is terminated at ${time(14)}`;
    expect(only("Event", events)).toMatchObject([{ reason: "DeletionAllowed", occasion: POD_UID, message }]);
  });

  // prettier-ignore
  test.each([
    [30,        at(30).getTime()],
    [2,         at(2).getTime()],
    // Karpenter requests a grace period of 1 s if no time is left.
    [1,         NOW.getTime()],
    [undefined, undefined],
  ])("follows from a grace period of %s s", (grace, expected) => expect(deleteByOf(grace, NOW)).toBe(expected));
});
