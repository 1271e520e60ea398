/** Holding: for how long, with how many beside it, and the record that it begins with. */
import { describe, expect, test } from "vitest";
import type { GuardMode } from "../../shared/policy/settings.ts";
import { guarded, held, heldCalled, markedBy, NODE_CONTROLLER, target } from "./disruptions.ts";
import { at, marked, NODE, pod, record, time, verbs, vmi } from "./fixtures.ts";

const MARKED = ["GrowBudget", "Mark"] as const;

describe("how long", () => {
  // prettier-ignore
  test.each([
    // mode     minor   preemption  taint
    ["Auto",    36,     25],
    ["Auto",    33,     25],
    ["Auto",    32,     0],
    ["Auto",    0,      0],
    ["Hold",    36,     25],
    ["Hold",    32,     25],
    ["Hold",    0,      25],
    ["Deny",    36,     0],
    ["Deny",    32,     0],
  ] as const satisfies readonly (readonly [GuardMode, number, number])[])("mode %s on 1.%i: %i s", (mode, serverMinor, seconds) => {
    const given = { settings: guarded({ mode }), serverMinor };
    expect(held(given).holdSeconds).toBe(seconds);
    const tainted = { pod: target("NoExecuteTaint"), requester: NODE_CONTROLLER };
    expect(held({ ...given, ...tainted }).holdSeconds).toBe(seconds);
  });

  test.each([25, 5, 0.5, 0])("no longer than the API server waits: %d s", (patienceSeconds) => {
    expect(held({ patienceSeconds }).holdSeconds).toBe(patienceSeconds);
  });

  test("no longer than to the deadline", () => {
    expect(held({ pod: target("Preemption", -110) }).holdSeconds).toBe(10);
    expect(held({ pod: target("Preemption", -119.5) }).holdSeconds).toBe(0.5);
  });

  test("denied at once or held, the VM is marked", () => {
    expect(verbs(held({ settings: guarded({ mode: "Deny" }) }).actions)).toEqual(MARKED);
  });
});

describe("beside others", () => {
  const three = ["a", "b", "c"].map((name, i) => heldCalled(name, 30 - i, "Preemption", "node02"));
  const neighbour = target("Preemption", -5, { uid: "pod-x", name: "virt-launcher-x-aaaaa" });

  test.each([
    [4, 25],
    [3, 1],
    [2, 1],
    [0, 1],
  ])("three held, %i allowed: %i s", (maxHolds, seconds) => {
    expect(held({ evacuating: three, settings: guarded({ maxHolds }) }).holdSeconds).toBe(seconds);
  });

  test("a short hold is no longer than patience or deadline either", () => {
    const crowded = { settings: guarded({ maxHolds: 0 }) };
    expect(held({ ...crowded, patienceSeconds: 0.4 }).holdSeconds).toBe(0.4);
    expect(held({ ...crowded, pod: target("Preemption", -119.75) }).holdSeconds).toBe(0.25);
    expect(held({ ...crowded, serverMinor: 32 }).holdSeconds).toBe(0);
  });

  test("whoever was there first keeps the hold", () => {
    const settings = guarded({ maxHolds: 2 });
    const mine = marked({}, { cause: "Preemption", since: time(-29.5) });
    expect(held({ vmi: mine, evacuating: [...three, mine], settings }).holdSeconds).toBe(25);
    const late = marked({}, { cause: "Preemption", since: time(-1) });
    expect(held({ vmi: late, evacuating: [...three, late], settings }).holdSeconds).toBe(1);
  });

  test("of the same time, by name", () => {
    const settings = guarded({ maxHolds: 1 });
    const mine = marked({}, { cause: "Preemption", since: time(-30) });
    const same = (name: string) => held({ vmi: mine, evacuating: [heldCalled(name, 30)], settings }).holdSeconds;
    expect([same("a"), same("z")]).toEqual([1, 25]);
  });

  // prettier-ignore
  test.each([
    ["past its deadline",        [heldCalled("a", 120)]],
    ["from the future",          [heldCalled("a", -600)]],
    ["that has ended",           [marked({ name: "a", uid: "a" }, { cause: "Preemption", outcome: "Abandoned" })]],
    ["of a VM that has moved",   [marked({ name: "a", uid: "a", nodeName: "node02" }, { cause: "Preemption" })]],
    ["that nobody marked",       [vmi({ name: "a", uid: "a", record: record({ cause: "Preemption" }) })]],
    ["of a drain",               [marked({ name: "a", uid: "a" })]],
  ] as const)("a record %s takes no place", (_, evacuating) => {
    expect(held({ evacuating, settings: guarded({ maxHolds: 1 }) }).holdSeconds).toBe(25);
  });

  test("a taint takes places too", () => {
    const evacuating = [heldCalled("a", 299, "NoExecuteTaint", "node09")];
    expect(held({ evacuating, settings: guarded({ maxHolds: 1 }) }).holdSeconds).toBe(1);
  });

  describe("too many", () => {
    const crowded = { evacuating: [...three, heldCalled("x", 5)], settings: guarded({ maxHolds: 3 }) };

    test("no further VM of that preemption is marked", () => {
      expect(held({ ...crowded, neighbours: [neighbour] })).toMatchObject({ holdSeconds: 1, actions: [], story: [] });
    });

    test("told by a pod of a VM that nobody evacuates: marked, for it is no victim's", () => {
      const impostor = target("Preemption", -5, { uid: "impostor", name: "virt-launcher-y-aaaaa" });
      expect(verbs(held({ ...crowded, neighbours: [impostor] }).actions)).toEqual(MARKED);
    });

    test("its first is: without a record nobody knew the deadline once the condition is reset", () => {
      expect(verbs(held(crowded).actions)).toEqual(MARKED);
      const later = target("Preemption", 5, { uid: "pod-x", name: "virt-launcher-x-aaaaa" });
      expect(verbs(held({ ...crowded, neighbours: [later, target("Preemption")] }).actions)).toEqual(MARKED);
    });

    test("what a taint drives away is marked however many there are", () => {
      const tainted = { pod: target("NoExecuteTaint"), requester: NODE_CONTROLLER };
      const { holdSeconds, actions } = held({ ...crowded, ...tainted, neighbours: [neighbour] });
      expect([holdSeconds, verbs(actions)]).toEqual([1, MARKED]);
    });
  });
});

describe("the record", () => {
  const joining = { id: "0000000b", attempts: 2, since: time(-600) };

  test.each([
    ["a drain", ["Record"], marked({}, joining)],
    ["an eviction abandoned by its mark", MARKED, vmi({ record: record(joining), evacuationLabel: "normal" })],
    ["the drain taint", MARKED, vmi({ record: record({ ...joining, cause: "DrainTaint" }) })],
    ["an earlier pod's", ["Record"], marked({}, { ...joining, cause: "Preemption", podUID: "former" })],
  ] as const)("joins %s: same id and attempts, the new cause and its time", (_, expected, subject) => {
    const { actions, story } = held({ vmi: subject });
    expect(verbs(actions)).toEqual(expected);
    expect(markedBy({ vmi: subject })).toEqual({ ...record(joining), ...BEGUN });
    expect(actions.at(-1)).toMatchObject({ urgency: "urgent" });
    expect(verbs(story)).toEqual(["Event"]);
  });

  test("an evacuation in back-off stays so", () => {
    const resting = marked({}, { ...joining, notBefore: time(40) });
    expect(markedBy({ vmi: resting })).toMatchObject({ id: joining.id, attempts: 2, notBefore: time(40) });
  });

  test.each([
    ["of another node", marked({ evacuationNodeName: "node00" }, { ...joining, node: "node00" })],
    ["that was given up", vmi({ record: record({ ...joining, outcome: "Abandoned", notBefore: time(90) }) })],
  ])("begins anew beside one %s: a disruption does not come again like a drain does", (_, subject) => {
    const begun = markedBy({ vmi: subject });
    expect(begun).toMatchObject({ ...BEGUN, attempts: 0 });
    expect(begun?.id).not.toBe(joining.id);
  });

  test("a mark without a record gets one", () => {
    const foreign = vmi({ evacuationNodeName: NODE });
    expect(verbs(held({ vmi: foreign }).actions)).toEqual(["Record"]);
  });

  test("asked for again under the same condition after a cancel has rested, the id is another", () => {
    const ids = [at(0), at(30)].map((now) => markedBy({ now })?.id);
    expect(new Set(ids).size).toBe(2);
  });

  test("there already: nothing is written and nothing told", () => {
    const mine = marked({}, { cause: "Preemption" });
    expect(held({ vmi: mine })).toMatchObject({ actions: [], story: [], holdSeconds: 25 });
    expect(held({ vmi: mine, pod: pod() })).toMatchObject({ actions: [], story: [] });
  });
});

const BEGUN = {
  cause: "Preemption",
  requestedBy: "system:kube-scheduler",
  node: NODE,
  podUID: "pod-uid",
  since: time(0),
} as const;
