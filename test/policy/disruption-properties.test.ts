/** Disruptions under any facts: nothing twice, no hold too long, nobody else delayed. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "../../shared/policy/action.ts";
import { CAUSES } from "../../shared/policy/cause.ts";
import { decideDeletion, type DeletionFacts } from "../../shared/policy/deletion.ts";
import { planDisruptions } from "../../shared/policy/disruption.ts";
import type { PodFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { planPressure } from "../../shared/policy/pressure.ts";
import {
  REASON,
  deletion,
  disruptionWorld,
  GATES,
  guarded,
  heldCalled,
  node,
  NODE_CONTROLLER,
  SCHEDULER,
} from "./disruptions.ts";
import { at, marked, NODE, only, pod, POD_UID, record, time, vmi } from "./fixtures.ts";

const moment = fc.constantFrom(-9999, -300, -120, -119, -60, -1, -1, 0, 0, 1, 31, 9999).map(time);

const anyPod: fc.Arbitrary<PodFacts> = fc
  .record({
    active: fc.constantFrom(true, true, true, false),
    reason: fc.constantFrom(REASON.Preemption, REASON.Preemption, REASON.NoExecuteTaint, "EvictionByEvictionAPI"),
    since: fc.oneof(moment, fc.constant("")),
    phase: fc.constantFrom("Running", "Running", "Running", "Succeeded"),
    deleting: fc.constantFrom(true, true, false),
    uid: fc.constantFrom(POD_UID, POD_UID, "other"),
    nodeName: fc.constantFrom(NODE, NODE, "node02"),
  })
  .map(({ active, reason, since, ...tweak }) => pod({ ...tweak, disruptionTarget: { active, reason, since } }));

const anyRecord = fc
  .record({
    cause: fc.constantFrom(...CAUSES),
    since: moment,
    podUID: fc.constantFrom(POD_UID, "other"),
    node: fc.constantFrom(NODE, NODE, "node00"),
    attempts: fc.nat(5),
    outcome: fc.constantFrom(undefined, undefined, "Abandoned" as const),
    notBefore: fc.option(moment, { nil: undefined }),
  })
  .map(({ outcome, notBefore, ...r }) =>
    record({ ...r, ...(outcome && { outcome }), ...(notBefore && { notBefore }) }),
  );

const anyVmi: fc.Arbitrary<VmiFacts> = fc
  .record({
    evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrate", "LiveMigrateIfPossible", "External", "None", "Odd"),
    migratable: fc.constantFrom(true, true, false),
    deleting: fc.constantFrom(false, false, false, true),
    kept: fc.option(anyRecord, { nil: undefined }),
    mark: fc.option(fc.constantFrom(NODE, "node00"), { nil: undefined }),
    guestOnTarget: fc.boolean(),
  })
  .map(({ migratable, kept, mark, ...tweak }) =>
    vmi({
      ...tweak,
      liveMigratable: { migratable },
      ...(kept && { record: kept, recordText: JSON.stringify(kept) }),
      ...(mark && { evacuationNodeName: mark }),
    }),
  );

const anyDeletion: fc.Arbitrary<DeletionFacts> = fc
  .record({
    pod: anyPod,
    vmi: anyVmi,
    neighbours: fc.array(anyPod, { maxLength: 2 }),
    others: fc.array(fc.tuple(fc.constantFrom("a", "z"), fc.constantFrom(1, 60, 200)), { maxLength: 3 }),
    requester: fc.constantFrom(SCHEDULER, NODE_CONTROLLER),
    patienceSeconds: fc.constantFrom(0, 0.5, 5, 25),
    serverMinor: fc.constantFrom(0, 32, 33, 36),
    mode: fc.constantFrom("Auto" as const, "Hold" as const, "Deny" as const),
    maxHolds: fc.constantFrom(0, 1, 2, 8),
    gates: fc.constantFrom(GATES, GATES, GATES.slice(0, 1)),
  })
  .map(({ others, neighbours, mode, maxHolds, gates, ...tweak }) =>
    deletion({
      ...tweak,
      // Some of them those of the others.
      neighbours: neighbours.map((neighbour, i) => ({ ...neighbour, uid: `pod-a${i}` })),
      node: node({ name: tweak.pod.nodeName ?? NODE }),
      evacuating: others.map(([name, ago], i) => heldCalled(`${name}${i}`, ago)),
      settings: guarded({ mode, maxHolds }, { featureGates: gates }),
    }),
  );

function always<T>(facts: fc.Arbitrary<T>, holds: (given: T) => void): void {
  fc.assert(fc.property(facts, holds), { seed: 20_260_301, numRuns: 3000 });
}

/** The VMI as it is when the action is done. */
function after(actions: readonly Action[], before: VmiFacts): VmiFacts {
  const written = [...only("Mark", actions), ...only("Record", actions)].find((action) => action.vmi === before);
  if (written === undefined) return before;
  const { record: kept, verb } = written;
  const mark = verb === "Mark" ? { evacuationNodeName: kept.node } : {};
  return { ...before, ...mark, record: kept, recordText: JSON.stringify(kept), evacuationLabel: written.urgency };
}

describe("a deletion", () => {
  test("decided again after its mark is held without another one, for no longer", () => {
    let marks = 0;
    always(anyDeletion, (given) => {
      const first = decideDeletion(given);
      if (first.verdict !== "Hold" || given.vmi === undefined) return;
      const then = { ...given, vmi: after(first.actions, given.vmi) };
      const again = decideDeletion({ ...then, evacuating: [...given.evacuating, then.vmi] });
      expect(again).toMatchObject({ verdict: "Hold", actions: [], story: [], message: first.message });
      marks += first.actions.length;
    });
    expect(marks).toBeGreaterThan(100);
  });

  test("is held no longer than the API server waits, nor than what is left", () => {
    always(anyDeletion, (given) => {
      const decision = decideDeletion(given);
      if (decision.verdict !== "Hold") return;
      const { holdSeconds } = decision;
      expect(holdSeconds).toBeGreaterThanOrEqual(0);
      expect(holdSeconds).toBeLessThanOrEqual(given.patienceSeconds);
      const end = new Date(given.now.getTime() + holdSeconds * 1000);
      // One whose taint is gone is denied at once, and waits for nothing.
      const said = / stays: /.test(decision.message)
        ? given.now.toISOString()
        : /until (\S+) at the longest/.exec(decision.message)?.[1];
      expect(Date.parse(said ?? "")).toBeGreaterThanOrEqual(end.getTime());
    });
  });

  test("goes at the deadline of its cause, whatever the condition has become meanwhile", () => {
    always(anyDeletion, (given) => {
      const first = decideDeletion(given);
      const written =
        first.verdict === "Hold" ? first.actions.flatMap((a) => ("record" in a && a.record ? [a.record] : [])) : [];
      const [kept] = written;
      if (kept === undefined || given.vmi === undefined) return;
      const later = { ...given, vmi: after(first.verdict === "Hold" ? first.actions : [], given.vmi), neighbours: [] };
      const seconds = kept.cause === "Preemption" ? 120 : 300;
      const disruptionTarget = { active: false, since: time(119) };
      expect(decideDeletion({ ...later, pod: { ...given.pod, disruptionTarget }, now: at(seconds) })).toMatchObject({
        verdict: "Release",
        reason: "DeadlinePassed",
      });
    });
  });

  test("by anybody who is not on the list goes at once and changes nothing", () => {
    const others = fc.oneof(fc.string(), fc.constantFrom("kubernetes-admin", `system:node:${NODE}`, `${SCHEDULER}-2`));
    always(fc.tuple(anyDeletion, others), ([given, requester]) => {
      expect(decideDeletion({ ...given, requester })).toEqual({
        verdict: "Release",
        reason: "OtherRequester",
        story: [],
      });
    });
  });

  test("for a cause whose gate is off is never held", () => {
    always(anyDeletion, (given) => {
      const off = { ...given.settings, featureGates: [] };
      expect(decideDeletion({ ...given, settings: off }).verdict).toBe("Release");
    });
  });
});

describe("a plan, once done, has nothing left to mark", () => {
  test("for disruptions under way", () => {
    let marks = 0;
    always(fc.tuple(anyPod, anyVmi), ([given, subject]) => {
      const w = disruptionWorld({ vmis: [subject], pods: [{ ...given, deleting: true }] });
      const actions = planDisruptions(w).chains.flat();
      marks += only("Mark", actions).length;
      expect(only("Mark", planDisruptions({ ...w, vmis: [after(actions, subject)] }).chains.flat())).toEqual([]);
    });
    expect(marks).toBeGreaterThan(100);
  });

  test("for node pressure: at most as many leave as may, none of them twice", () => {
    const residents = fc.uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c", "d"), anyVmi), {
      selector: ([name]) => name,
    });
    always(fc.tuple(residents, fc.boolean()), ([named, signalled]) => {
      const all = named.map(([name, v]) => ({
        vmi: vmi({ ...v, name, uid: name }),
        pod: pod({ uid: POD_UID, memoryRequest: 1 }),
      }));
      const world = (given: typeof all) => ({
        pressured: [{ node: node({ pressures: ["PIDPressure"] }), residents: given }],
        takers: [{ node: node({ name: "node02" }), freeMemory: 100 }],
        signals: [],
        settings: guarded(),
        now: at(0),
      });
      const domain = { status: "Running", gracefulShutdown: true };
      const signals = signalled ? all.map(({ vmi: v }) => ({ vmi: v, domain, by: "test" })) : [];
      const actions = planPressure({ ...world(all), signals }).chains.flat();
      const names = only("Mark", actions).map((mark) => mark.vmi.name);
      expect(names).toEqual([...new Set(names)]);
      const moved = all.map((r) => ({ ...r, vmi: after(actions, r.vmi) }));
      if (!signalled) expect(names.length).toBeLessThanOrEqual(2);
      expect(planPressure(world(moved)).chains.flat()).toEqual([]);
    });
  });
});

test("a mark is never set for a VM that has one", () => {
  const subject = marked({}, { cause: "Preemption" });
  expect(planDisruptions(disruptionWorld({ vmis: [subject], pods: [pod({ deleting: true })] })).chains).toEqual([]);
});
