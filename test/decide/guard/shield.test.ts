/** Where the guard lets a deletion go: which VMs the shield covers before the answer. */
import { describe, expect, test } from "vitest";
import { decideDeletion, type DeletionFacts } from "../../../shared/guard/decide.ts";
import { answer, condition, deletion, guarded, target, termination } from "../../support/guard/disruptions.ts";
import { hotplug, NODE, node, pod, POD_UID, time, verbs, vmi } from "../../support/fixtures.ts";

describe("at the deadline the shield covers, before the answer", () => {
  const shielding = { shield: { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 }, isShieldOn: true };
  const given = { pod: target("Preemption", -120), settings: guarded({}, shielding) };
  const moving = { isMigrating: true, graceSeconds: 300 };

  const volume = hotplug({ disruptionTarget: condition("Preemption", { since: time(-120) }) });
  const arrived = {
    vmi: vmi({ ...moving, activePods: { [POD_UID]: NODE, target: "node02" }, guestOnTarget: true }),
    pod: target("Preemption", -120, { uid: "target", nodeName: "node02" }),
    node: node({ name: "node02" }),
  };

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, armed: boolean]>([
    ["a VM that has begun to move",             { vmi: vmi(moving) },                                          true ],
    ["… off a tainted node",                    { vmi: vmi(moving), pod: target("NoExecuteTaint", -300) },     true ],
    ["none that waits",                         { vmi: vmi({ ...moving, isMigrating: false }) },               false],
    ["none with too short a grace period",      { vmi: vmi({ ...moving, graceSeconds: 299 }) },                false],
    ["none that has the label",                 { vmi: vmi({ ...moving, shield: "over" }) },                   false],
    ["none where it is switched off",           { vmi: vmi(moving), settings: guarded() },                     false],
    ["none whose node ends",                    { vmi: vmi(moving), ...termination(0) },                       false],
    ["none for a hotplug pod's deletion",       { vmi: vmi(moving), pod: volume, launcher: pod() }, false],
    ["none for that of the pod it moves to",    arrived, false],
  ])("%s", (_, tweak, armed) => {
    const decision = decideDeletion(deletion({ ...given, ...tweak }));
    expect([answer(decision), verbs(decision.actions)]).toEqual(["DeadlinePassed", armed ? ["Shield"] : []]);
  });

  test("not where another reason lets it go", () => {
    const stopped = decideDeletion(deletion({ ...given, vmi: vmi({ ...moving, deleting: true }) }));
    expect([answer(stopped), stopped.actions]).toEqual(["VmiGone", []]);
  });
});
