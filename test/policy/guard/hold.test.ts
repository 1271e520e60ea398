/** Holding: for how long, with how many beside it, and the Evacuation that it begins with. */
import { describe, expect, test } from "vitest";
import { begunBy, disrupted, drained, guarded, held, heldCalled, REQUESTER, target } from "./disruptions.ts";
import { EXTERNAL, marked, only, PINNED, pod, POD_UID, time, verbs, vmi } from "../fixtures.ts";

const BEGUN = ["CreateEvacuation", "GrowBudget", "Mark"] as const;

const three = ["a", "b", "c"].map((name, i) => heldCalled(name, 30 - i));
const full = (maxHolds: number) => ({ active: three, settings: guarded({ maxHolds }) });

// prettier-ignore
test.each<[string, Parameters<typeof held>[0], seconds: number]>([
  ["mode Hold",                           {},                                                            25],
  ["mode Deny",                           { settings: guarded({ mode: "Deny" }) },                       0],
  ["as long as the API server waits",     { patienceSeconds: 0.5 },                                      0.5],
  ["… which does not",                    { patienceSeconds: 0 },                                        0],
  ["to the deadline",                     { pod: target("Preemption", -110) },                           10],
  ["… which is near",                     { pod: target("Preemption", -119.5) },                         0.5],
  ["three are held, four allowed",        full(4),                                                       25],
  ["three are held, three allowed",       full(3),                                                       1],
  ["three are held, none allowed",        full(0),                                                       1],
  ["too many, an impatient API server",   { ...full(0), patienceSeconds: 0.4 },                          0.4],
  ["too many, the deadline is near",      { ...full(0), pod: target("Preemption", -119.75) },            0.25],
  ["too many, mode Deny",                 { settings: guarded({ maxHolds: 0, mode: "Deny" }) },          0],
])("how long: %s: %d s", (_, tweak, seconds) => expect(held(tweak).holdSeconds).toBe(seconds));

test("mode Deny marks the VM all the same", () => {
  expect(verbs(held({ settings: guarded({ mode: "Deny" }) }).actions)).toEqual(BEGUN);
});

describe("beside others", () => {
  const neighbour = target("Preemption", -5, { uid: "pod-x", name: "virt-launcher-x-aaaaa" });

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
      const tainted = { pod: target("NoExecuteTaint"), requester: REQUESTER.NoExecuteTaint };
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
    ["none, External, pinned",     [],                              vmi({ ...EXTERNAL, ...PINNED }), "Preemption", ["CreateEvacuation", "Mark"]],
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
    const requester = REQUESTER[cause];
    const { actions, story, holdSeconds } = held({ vmi: subject, evacuations, pod: target(cause), requester });
    expect([verbs(actions), verbs(story), holdSeconds]).toEqual([expected, expected.length > 0 ? ["Event"] : [], 25]);
  });

  test.each([
    ["Preemption", "urgent", 100],
    ["NoExecuteTaint", "normal", 280],
  ] as const)("%s: says who asks, for which pod, until when; the mark is %s", (cause, urgency, seconds) => {
    const requestedBy = REQUESTER[cause];
    const hold = held({ pod: target(cause, -20), requester: requestedBy });
    const about = { vmiName: "web", pod: { name: pod().name, uid: POD_UID } };
    const spec = { ...about, cause, requestedBy, intent: "Evacuate", deadline: time(seconds) };
    expect(only("CreateEvacuation", hold.actions)).toMatchObject([{ evacuation: { namespace: "apps", spec } }]);
    expect(only("Mark", hold.actions)).toEqual([{ verb: "Mark", vmi: vmi(), urgency }]);
    expect(only("Event", hold.story)).toMatchObject([{ type: "Normal", reason: "DisruptionHeld" }]);
    const told = `deletion of pod "${pod().name}" (cause ${cause}) waits until VMI "apps/web" has moved, until ${time(seconds)} at the longest`;
    expect(hold.message).toBe(told);
  });

  test("begins anew beside one that was given up: a disruption does not come again like a drain does", () => {
    const ended = drained({ status: { phase: "Abandoned", attempts: 5, nextAttemptTime: time(90) } });
    const begun = begunBy({ evacuations: [ended] });
    expect(begun?.spec).toMatchObject({ requestedBy: REQUESTER.Preemption });
    expect(begun?.spec.inherited).toBeUndefined();
  });

  test("counts on where one of the same pod ended: each has a name of its own", () => {
    const ended = disrupted("Preemption", 100, { status: { phase: "Abandoned", nextAttemptTime: time(0) } });
    const names = [begunBy({}), begunBy({ evacuations: [ended] })].map((begun) => begun?.name);
    expect(names).toEqual([ended.name, ended.name.replace(/1$/, "2")]);
  });
});
