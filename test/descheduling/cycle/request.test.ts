/**
 * The protocol of a request: what is written before it is made, what stays, what is taken back, what is told.
 */
import { describe, expect, test } from "vitest";
import type { Step, StepResult } from "../../../shared/descheduling/cycle/step.ts";
import { NOW, time } from "../../policy/fixtures.ts";
import { annotationsOf, answering, clusterOf, cycle, type Done, ending, nameOf, results } from "./cycles.ts";
import { IN_PROGRESS, plainPod, REQUESTED, vmPod } from "../worlds.ts";

function verbs({ steps }: Done): readonly string[] {
  return steps.map(nameOf);
}

describe("the protocol of a request", () => {
  // prettier-ignore
  test.each([
    ["a VM",                "vm",  true,  ["Write", "AnnotatePod", "Evict", "Event", "Write"]],
    ["an ordinary pod",     "pod", true,  ["Write", "Evict", "Event", "Write"]],
    ["a VM, gate off",      "vm",  false, ["Write", "Evict", "Write"]],
    ["nothing to request",  "",    true,  []],
  ])("%s", (_, name, inBackground, expected) => {
    const cluster = clusterOf(vmPod("vm"), plainPod("pod"));
    expect(verbs(cycle(cluster, { order: [name], inBackground }))).toEqual(expected);
  });

  test("the time is on the pod before the request, and the reservation before that", () => {
    const cluster = clusterOf(vmPod("vm"));
    cycle(cluster, {
      order: ["vm"],
      perform: (step) => {
        if (step.step === "Evict") {
          expect(annotationsOf(cluster, "pod-vm")[REQUESTED]).toBe(time(0));
          expect(cluster.register.reservations.map(({ uid }) => uid)).toEqual(["pod-vm"]);
        }
        return undefined;
      },
    });
    expect(annotationsOf(cluster, "pod-vm")[REQUESTED]).toBe(time(0));
    expect(cluster.register.reservations).toEqual([]);
  });

  // prettier-ignore
  test.each([
    // Outcome of the eviction, time kept on the pod, counted as in progress, verdict for the plugin.
    ["Background", true,  1, "Accepted"],
    ["Refused",    false, 0, "Skipped" ],
    ["Unknown",    true,  1, "Skipped" ],
    ["Evicted",    true,  0, "Accepted"],
    ["Gone",       true,  0, "Skipped" ],
  ] as const)("answered %s: time kept=%s, in progress %s, the plugin hears %s", (outcome, kept, inProgress, verdict) => {
    const cluster = clusterOf(vmPod("vm"));
    const perform = answering(outcome);
    const done = cycle(cluster, { order: ["vm"], perform });
    expect(REQUESTED in annotationsOf(cluster, "pod-vm")).toBe(kept);
    expect(done.inProgress).toBe(inProgress);
    expect(done.heard).toEqual([["vm", verdict]]);
    expect(cluster.register.counts).toEqual([{ profile: "vms", plugin: "Scripted", result: outcome, count: 1 }]);
    expect(cluster.register.reservations).toEqual([]);
  });

  test.each(["Conflict", "Failed"] as const)(
    "refused, and its time cannot be taken back (%s): it counts",
    (outcome) => {
      const cluster = clusterOf(vmPod("vm"));
      const refused = answering("Refused");
      const perform = (step: Step): StepResult | undefined => {
        const takesBack = step.step === "Act" && step.action.verb === "AnnotatePod" && step.action.remove.length > 0;
        return takesBack ? { step: "Act", outcome, now: NOW } : refused(step);
      };
      const done = cycle(cluster, { order: ["vm"], perform });
      expect([results(done), done.inProgress]).toEqual([["Refused"], 1]);
      expect(annotationsOf(cluster, "pod-vm")).toHaveProperty([REQUESTED]);
    },
  );

  test("a confirmed request needs its time no more", () => {
    const cluster = clusterOf(vmPod("vm", { annotations: { [REQUESTED]: time(-30), [IN_PROGRESS]: "true" } }));
    cycle(cluster, { order: [] });
    expect(annotationsOf(cluster, "pod-vm")).not.toHaveProperty([REQUESTED]);
    expect(annotationsOf(cluster, "pod-vm")).toHaveProperty([IN_PROGRESS]);
  });

  test("a pod that has changed since is skipped, and its reservation removed", () => {
    const cluster = clusterOf(vmPod("vm"), vmPod("other"));
    const perform = ending("AnnotatePod", "Conflict", "pod-vm");
    const done = cycle(cluster, { order: ["vm", "other"], perform });
    expect(results(done)).toEqual(["PodChanged", "Background"]);
    expect(cluster.requests.map(({ pod }) => pod.uid)).toEqual(["pod-other"]);
    expect(cluster.register.reservations).toEqual([]);
  });
});

describe("Events", () => {
  // prettier-ignore
  test.each([
    ["Background", false, ["Descheduled"]],
    ["Refused",    false, []],
    ["Refused",    true,  ["EvictionFailed"]],
    ["Unknown",    true,  ["EvictionFailed"]],
    ["Gone",       true,  []],
  ] as const)("%s, failures told=%s: %s", (outcome, notifyFailures, expected) => {
    const cluster = clusterOf(vmPod("vm"));
    const perform = answering(outcome);
    const { steps } = cycle(cluster, { order: ["vm"], policy: { notifyFailures }, perform });
    const told = steps.flatMap((s) => (s.step === "Act" && s.action.verb === "Event" ? [s.action] : []));
    expect(told.map(({ reason }) => reason)).toEqual(expected);
    for (const { about, message } of told) {
      expect(about).toMatchObject({ kind: "Pod", uid: "pod-vm" });
      expect(message).toContain("nominated on node node01 by vms/Scripted (told to)");
    }
  });
});
