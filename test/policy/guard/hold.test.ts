/** Holding: for how long, with how many beside it, and the Evacuation that it begins with. */
import { describe, expect, test } from "vitest";
import {
  begunBy,
  disrupted,
  drained,
  guarded,
  held,
  heldCalled,
  NODE_CONTROLLER,
  SCHEDULER,
  target,
} from "./disruptions.ts";
import { marked, only, pod, POD_UID, time, verbs, vmi } from "../fixtures.ts";

const BEGUN = ["CreateEvacuation", "GrowBudget", "Mark"] as const;

describe("how long", () => {
  // prettier-ignore
  test.each([
    ["Hold", 25],
    ["Deny", 0],
  ] as const)("mode %s: %i s, and the VM is marked", (mode, seconds) => {
    const given = { settings: guarded({ mode }) };
    const tainted = { ...given, pod: target("NoExecuteTaint"), requester: NODE_CONTROLLER };
    for (const { holdSeconds, actions } of [held(given), held(tainted)]) {
      expect([holdSeconds, verbs(actions)]).toEqual([seconds, BEGUN]);
    }
  });

  test.each([25, 5, 0.5, 0])("no longer than the API server waits: %d s", (patienceSeconds) => {
    expect(held({ patienceSeconds }).holdSeconds).toBe(patienceSeconds);
  });

  test("no longer than to the deadline", () => {
    expect(held({ pod: target("Preemption", -110) }).holdSeconds).toBe(10);
    expect(held({ pod: target("Preemption", -119.5) }).holdSeconds).toBe(0.5);
  });
});

describe("beside others", () => {
  const three = ["a", "b", "c"].map((name, i) => heldCalled(name, 30 - i));
  const neighbour = target("Preemption", -5, { uid: "pod-x", name: "virt-launcher-x-aaaaa" });

  test.each([
    [4, 25],
    [3, 1],
    [2, 1],
    [0, 1],
  ])("three held, %i allowed: %i s", (maxHolds, seconds) => {
    expect(held({ active: three, settings: guarded({ maxHolds }) }).holdSeconds).toBe(seconds);
  });

  test("a short hold is no longer than patience or deadline either", () => {
    const crowded = { settings: guarded({ maxHolds: 0 }) };
    expect(held({ ...crowded, patienceSeconds: 0.4 }).holdSeconds).toBe(0.4);
    expect(held({ ...crowded, pod: target("Preemption", -119.75) }).holdSeconds).toBe(0.25);
    expect(held({ settings: guarded({ maxHolds: 0, mode: "Deny" }) }).holdSeconds).toBe(0);
  });

  // prettier-ignore
  test.each([
    // mine began      others                          seconds
    [-29500,           three,                          25],
    [-1000,            three,                          1],
    [-30_000,          [heldCalled("z", 30)],          25],
    [-30_000,          [heldCalled("a", 30)],          1],
  ])("the older Evacuation keeps the hold, of the same time the first by name: %i ms", (began, others, seconds) => {
    const mine = disrupted("Preemption", 90, { createdAt: Date.parse(time(0)) + began });
    const given = { vmi: marked(), evacuations: [mine], active: [...others, mine] };
    const maxHolds = Math.min(2, others.length);
    expect(held({ ...given, settings: guarded({ maxHolds }) }).holdSeconds).toBe(seconds);
  });

  // prettier-ignore
  test.each([
    ["not looked at yet",          heldCalled("a", 5, "Preemption", { status: { phase: "Pending", conditions: [] } }), 1],
    ["marked, in back-off",        heldCalled("a", 5, "Preemption", { status: { phase: "BackingOff" } }),              1],
    ["for a taint",                heldCalled("a", 299, "NoExecuteTaint"),                                             1],
    ["past its deadline",          heldCalled("a", 120),                                                               25],
    ["of a VM that cannot move",   heldCalled("a", 5, "Preemption", { status: { phase: "Blocked", conditions: [] } }), 25],
    ["of a drain",                 drained({ status: { podUID: "pod-a" } }),                                           25],
    ["without a deadline",         heldCalled("a", 5, "Preemption", { spec: { deadline: "soon" } }),                   25],
    ["about the same pod",         disrupted("NoExecuteTaint", 100),                                                   25],
  ] as const)("one %s: %s", (_, other, seconds) => {
    expect(held({ active: [other], settings: guarded({ maxHolds: 1 }) }).holdSeconds).toBe(seconds);
  });

  describe("too many", () => {
    const crowded = { active: [...three, heldCalled("x", 5)], settings: guarded({ maxHolds: 3 }) };

    test("no further VM of that preemption is marked", () => {
      expect(held({ ...crowded, neighbours: [neighbour] })).toMatchObject({ holdSeconds: 1, actions: [], story: [] });
    });

    test("told by a pod that no Evacuation is about: marked, for it is no victim's", () => {
      const impostor = target("Preemption", -5, { uid: "impostor", name: "virt-launcher-y-aaaaa" });
      expect(verbs(held({ ...crowded, neighbours: [impostor] }).actions)).toEqual(BEGUN);
    });

    test("its first is: without an Evacuation the deadline is forgotten once the condition is reset", () => {
      expect(verbs(held(crowded).actions)).toEqual(BEGUN);
      const later = target("Preemption", 5, { uid: "pod-x", name: "virt-launcher-x-aaaaa" });
      expect(verbs(held({ ...crowded, neighbours: [later, target("Preemption")] }).actions)).toEqual(BEGUN);
    });

    test("what a taint drives away is marked however many there are", () => {
      const tainted = { pod: target("NoExecuteTaint"), requester: NODE_CONTROLLER };
      const { holdSeconds, actions } = held({ ...crowded, ...tainted, neighbours: [neighbour] });
      expect([holdSeconds, verbs(actions)]).toEqual([1, BEGUN]);
    });
  });
});

describe("the Evacuation", () => {
  // prettier-ignore
  test.each([
    // of the same pod             VMI                                        cause             actions
    ["none",                       [],                              vmi(),    "Preemption",     BEGUN],
    ["none, KubeVirt has marked",  [],                              marked(), "NoExecuteTaint", ["CreateEvacuation"]],
    ["none, KubeVirt has marked",  [],                              marked(), "Preemption",     BEGUN],
    ["… and it is urgent already", [],       marked({ evacuationLabel: "urgent" }), "Preemption", ["CreateEvacuation"]],
    ["a drain's",                  [drained()],                     marked(), "NoExecuteTaint", ["CreateEvacuation"]],
    ["a drain's",                  [drained()],                     marked(), "Preemption",     BEGUN],
    ["a drain's, the mark lost",   [drained()],                     vmi(),    "NoExecuteTaint", BEGUN],
    ["the drain taint's",          [drained({ spec: { cause: "DrainTaint" } })], vmi(), "Preemption", BEGUN],
    ["a drain's, given up",        [drained({ status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", BEGUN],
    ["the taint's",                [disrupted("NoExecuteTaint", 200)], marked(), "Preemption",  BEGUN],
    ["the taint's, given up",      [disrupted("NoExecuteTaint", 200, { status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", []],
    ["its own",                    [disrupted("Preemption", 100)],  marked(), "Preemption",     []],
    ["its own, not looked at",     [disrupted("Preemption", 100, { status: { phase: "Pending", conditions: [] } })], vmi(), "Preemption", []],
    ["its own, given up",          [disrupted("Preemption", 100, { status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", []],
    ["its own, rested",            [disrupted("Preemption", 100, { status: { phase: "Abandoned", nextAttemptTime: time(0) } })], vmi(), "Preemption", BEGUN],
    ["its own, a drain's Duplicate", [drained(), disrupted("Preemption", 100, { status: { phase: "Duplicate" } })], marked(), "Preemption", []],
  ] as const)("%s", (...[, evacuations, subject, cause, expected]) => {
    const requester = cause === "Preemption" ? SCHEDULER : NODE_CONTROLLER;
    const { actions, story, holdSeconds } = held({ vmi: subject, evacuations, pod: target(cause), requester });
    expect([verbs(actions), verbs(story), holdSeconds]).toEqual([expected, expected.length > 0 ? ["Event"] : [], 25]);
  });

  test("says who asks, for which pod, until when", () => {
    expect(begunBy({ pod: target("Preemption", -20) })?.spec).toEqual({
      vmiName: "web",
      cause: "Preemption",
      requestedBy: SCHEDULER,
      intent: "Evacuate",
      deadline: time(100),
      pod: { name: pod().name, uid: POD_UID },
    });
  });

  test("an urgent one sets the label that the MigrationPolicy selects, also on a VM that is marked", () => {
    expect(only("Mark", held({ vmi: marked() }).actions)).toMatchObject([{ urgency: "urgent" }]);
  });

  test("begins anew beside one that was given up: a disruption does not come again like a drain does", () => {
    const ended = drained({ status: { phase: "Abandoned", attempts: 5, nextAttemptTime: time(90) } });
    const begun = begunBy({ evacuations: [ended] });
    expect(begun?.spec).toMatchObject({ requestedBy: SCHEDULER });
    expect(begun?.spec.inherited).toBeUndefined();
  });

  test("counts on where one of the same pod ended: each has a name of its own", () => {
    const ended = disrupted("Preemption", 100, { status: { phase: "Abandoned", nextAttemptTime: time(0) } });
    const names = [begunBy({}), begunBy({ evacuations: [ended] })].map((begun) => begun?.name);
    expect(names).toEqual([ended.name, ended.name.replace(/1$/, "2")]);
  });
});
