/** Tests which recorded disruptions still apply, and which deletions a policy in the API server may refuse. */
import { expect, test } from "vitest";
import { knownDisruptions, mayBeHeld } from "../../../shared/guard/disruption-cause.ts";
import type { GuardCause } from "../../../shared/settings/guarded.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { NodeFacts, PodFacts } from "../../../shared/kube/facts.ts";
import {
  condition,
  disrupted,
  drained,
  gatesBut,
  guarded,
  KARPENTER,
  SCHEDULER,
  target,
} from "../../support/guard/disruptions.ts";
import { at, hotplug, node, NOW, pod, POD_UID, time, vmi } from "../../support/fixtures.ts";

const WITHDRAWN = { status: { phase: "Withdrawn", nextAttemptTime: time(60) } } as const;
const DUPLICATE = { status: { phase: "Duplicate" } } as const;
const OTHERS = { status: { phase: "Pending", podUID: "other" } } as const;
const terminating = (since: number) => target("DeviceTaint", since, { deleting: true });
const inactive = pod({ deleting: true, disruptionTarget: condition("DeviceTaint", { active: false }) });

// A recorded disruption expires 30 s after its deadline, because the clocks of two machines may differ.
// prettier-ignore
test.each<[what: string, recorded: readonly [GuardCause, number, Parameters<typeof disrupted>[2]?], pod: PodFacts, inForce: boolean]>([
  ["a preemption 29 s after its deadline",                                     ["Preemption", -29],                     pod(),                               true],
  ["a preemption 30 s after its deadline",                                     ["Preemption", -30],                     pod(),                               false],
  ["a preemption long after its deadline, whose pod terminates",               ["Preemption", -999],                    pod({ deleting: true }),             true],
  ["a preemption of a terminating pod that another one ends now",              ["Preemption", -999],                    terminating(-5),                     false],
  ["a preemption that was withdrawn, in its back-off",                         ["Preemption", -999, WITHDRAWN],         pod(),                               true],
  ["a preemption of another pod",                                              ["Preemption", 60, OTHERS],              pod(),                               false],
  ["a Duplicate of an Evacuation that continues",                              ["DeviceTaint", 60, DUPLICATE],          pod(),                               true],
  ["a taint long after its deadline, without a new condition",                 ["NoExecuteTaint", -999],                pod(),                               true],
  ["a taint long after its deadline, with a condition that is False",          ["NoExecuteTaint", -999],                inactive,                            true],
  ["a taint with a later condition",                                           ["NoExecuteTaint", -60],                 target("DeviceTaint", -29),          false],
  ["a taint with a condition at its end",                                      ["NoExecuteTaint", -60],                 target("DeviceTaint", -30),          true],
  ["a taint with an earlier condition",                                        ["NoExecuteTaint", -60],                 target("DeviceTaint", -31),          true],
  ["a taint that ends now, with a condition of a clock that is ahead",         ["NoExecuteTaint", -30],                 target("DeviceTaint", 999),          true],
  ["a node's end, with a later condition",                                     ["NodeTermination", -999],               target("DeviceTaint", -5),           true],
])("the record of %s is in force: $3", (_, recorded, of, inForce) => {
  const evacuations = [drained(), disrupted(...recorded)];
  const known = knownDisruptions({ pod: of, vmi: vmi(), evacuations, podUID: POD_UID }, NOW);
  expect(known.map((one) => one.cause)).toEqual(inForce ? [recorded[0]] : []);
});

// prettier-ignore
test.each<[what: string, evacuations: readonly EvacuationFacts[]]>([
  ["a drain",                            [drained()]],
  ["an Evacuation of a person with a deadline", [drained({ spec: { cause: "Operator", deadline: time(60) } })]],
  ["a disruption with no deadline",      [{ ...disrupted("Preemption", 60), spec: { ...drained().spec, cause: "Preemption" } }]],
  ["an ended disruption",                [disrupted("Preemption", 60, { status: { phase: "Moved" } })]],
  ["a back-off that ends now",           [disrupted("Preemption", 60, { status: { phase: "Withdrawn", nextAttemptTime: time(0) } })]],
  ["a disruption after its back-off, beside a drain", [drained(), disrupted("Preemption", 60, { status: { phase: "Withdrawn", nextAttemptTime: time(0) } })]],
  ["a Duplicate of a later Evacuation",  [drained({ createdAt: at(1).getTime() }), disrupted("Preemption", 60, DUPLICATE)]],
])("%s is no disruption in force", (_, evacuations) => {
  expect(knownDisruptions({ pod: pod(), vmi: vmi(), evacuations, podUID: POD_UID }, NOW)).toEqual([]);
});

test("a pod without a VMI has no disruption in force", () => {
  const evacuations = [disrupted("Preemption", 60)];
  expect(knownDisruptions({ pod: pod(), vmi: undefined, evacuations, podUID: POD_UID }, NOW)).toEqual([]);
});

const cordoned = node({ unschedulable: true });
const tainted = (key: string) => node({ taints: [{ key, effect: "NoSchedule" }] });
const preempted = target("Preemption");

interface Asked {
  readonly pod?: PodFacts;
  readonly node?: NodeFacts;
  readonly requester?: string;
  readonly graceSeconds?: number;
}
const ofNode = { requester: KARPENTER, graceSeconds: 60, node: cordoned };

// prettier-ignore
test.each<[what: string, asked: Asked, mayHold: boolean]>([
  ["a preempted launcher",                                     { pod: preempted },                                    true],
  ["a preempted hotplug pod",                                  { pod: hotplug({ disruptionTarget: condition("Preemption") }) }, true],
  ["a preempted pod that is no VM's",                          { pod: { ...preempted, labels: {} } },                 false],
  ["a preempted pod that terminates",                          { pod: { ...preempted, deleting: true } },             false],
  ["a preempted pod that has ended",                           { pod: { ...preempted, phase: "Failed" } },            false],
  ["a pod that the taint manager deletes",                     { pod: target("NoExecuteTaint") },                     false],
  ["a pod that a person deletes",                              { requester: "admin" },                                false],
  ["a pod of a cordoned node that ends",                       ofNode,                                                true],
  ["a pod of a node that ends, with 59 s left",                { ...ofNode, graceSeconds: 59 },                       false],
  ["a pod of a node that ends, with the default grace period", { requester: KARPENTER, node: cordoned },              false],
  ["a pod of a node that ends at a time",                      { ...ofNode, node: node({ endsAt: time(600) }) },      true],
  ["a pod of a node that Karpenter tainted",                   { ...ofNode, node: tainted("karpenter.sh/disrupted") }, true],
  ["a pod of a node that an older Karpenter tainted",          { ...ofNode, node: tainted("karpenter.sh/disruption") }, true],
  ["a pod of a node with another taint",                       { ...ofNode, node: tainted("maintenance") },           false],
  ["a pod of a node that shows no end",                        { ...ofNode, node: node() },                           false],
  ["a pod of an unread node",                                  { requester: KARPENTER, graceSeconds: 60 },            true],
])("whether a policy may hold the deletion of %s: $2", (_, { pod: of = pod(), requester = SCHEDULER, ...rest }, mayHold) => {
  const asked = { pod: of, requester, now: NOW, ...rest };
  expect(mayBeHeld({ ...asked, settings: guarded() })).toBe(mayHold);
  if (requester === KARPENTER)
    expect(mayBeHeld({ ...asked, settings: guarded({}, { featureGates: gatesBut("NodeTermination") }) })).toBe(false);
});
