/** Tests disruptions with random facts. No action is repeated, and no deletion is refused after the deadline. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import { CAUSES, END_PHASES, type EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { decideDeletion, type DeletionFacts } from "../../../shared/guard/decide.ts";
import { planDisruptions } from "../../../shared/guard/disruption.ts";
import type { PodFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import {
  created,
  deletion,
  disrupted,
  disruptionWorld,
  guarded,
  REASON,
  REQUESTER,
} from "../../support/guard/disruptions.ts";
import { at, NODE, node, NOW, only, pod, POD_UID, time, vmi } from "../../support/fixtures.ts";

const { featureGates: GATES } = guarded();
const SECONDS = [-9999, -300, -120, -119, -60, -1, -1, 0, 0, 1, 31, 9999] as const;
const moment = fc.constantFrom(...SECONDS).map(time);

const anyPod: fc.Arbitrary<PodFacts> = fc
  .record({
    active: fc.constantFrom(true, true, true, false),
    reason: fc.constantFrom(REASON.Preemption, REASON.Preemption, REASON.DeviceTaint, "EvictionByEvictionAPI"),
    since: fc.oneof(moment, fc.constant("")),
    phase: fc.constantFrom("Running", "Running", "Running", "Succeeded"),
    deleting: fc.constantFrom(true, true, false),
    uid: fc.constantFrom(POD_UID, POD_UID, "other"),
    nodeName: fc.constantFrom(NODE, NODE, "node02"),
  })
  .map(({ active, reason, since, ...tweak }) => pod({ ...tweak, disruptionTarget: { active, reason, since } }));

const anyEvacuation: fc.Arbitrary<EvacuationFacts> = fc
  .record({
    cause: fc.constantFrom(...CAUSES),
    deadline: moment,
    began: fc.constantFrom(-9999, -60, -1),
    podUID: fc.constantFrom(POD_UID, POD_UID, "other"),
    phase: fc.constantFrom("Pending", "Migrating", "BackingOff", ...END_PHASES),
    nextAttemptTime: moment,
    attempts: fc.nat(5),
    name: fc.constantFrom(disrupted("Preemption", 0).name, "a-persons", "web-00000000-7"),
  })
  .map(({ cause, deadline, began, podUID, name, ...status }) => {
    const spec = { cause, deadline, pod: { uid: podUID } };
    const named = { name, uid: `${name}-${began}`, createdAt: at(began).getTime() };
    return disrupted("Preemption", 0, { ...named, spec, status: { ...status, podUID } });
  });

const anyEvacuations = fc.uniqueArray(anyEvacuation, { maxLength: 3, selector: ({ name }) => name });

const anyVmi: fc.Arbitrary<VmiFacts> = fc
  .record({
    evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrate", "LiveMigrateIfPossible", "External", "None", "Odd"),
    migratable: fc.constantFrom(true, true, false),
    deleting: fc.constantFrom(false, false, false, true),
    mark: fc.option(fc.constantFrom(NODE, "node00"), { nil: undefined }),
    label: fc.option(fc.constant("urgent"), { nil: undefined }),
    guestOnTarget: fc.boolean(),
  })
  .map(({ migratable, mark, label, ...tweak }) =>
    vmi({
      ...tweak,
      liveMigratable: { migratable },
      ...(mark && { evacuationNodeName: mark }),
      ...(label && { evacuationLabel: label }),
    }),
  );

const anyDeletion: fc.Arbitrary<DeletionFacts & { readonly vmi: VmiFacts }> = fc
  .record({
    pod: anyPod,
    vmi: anyVmi,
    evacuations: anyEvacuations,
    requester: fc.constantFrom(...Object.values(REQUESTER)),
    deleteBy: fc.constantFrom(-60, 0, 14, 31, 600, 600, 9999, 9999).map((seconds) => at(seconds).getTime()),
    gates: fc.constantFrom(GATES, GATES, GATES.slice(0, 1)),
  })
  .map(({ gates, ...tweak }) => ({
    vmi: tweak.vmi,
    ...deletion({
      ...tweak,
      node: node({ name: tweak.pod.nodeName ?? NODE }),
      settings: guarded({}, { featureGates: gates }),
    }),
  }));

function always<T>(facts: fc.Arbitrary<T>, holds: (given: T) => void): void {
  fc.assert(fc.property(facts, holds), { seed: 20_260_301, numRuns: 4000 });
}

function after(
  actions: readonly Action[],
  f: { readonly vmi: VmiFacts; readonly evacuations: readonly EvacuationFacts[] },
) {
  const marks = only("Mark", actions).filter((mark) => mark.vmi === f.vmi);
  const [label] = only("Label", actions);
  const started = only("CreateEvacuation", actions).map(({ evacuation }) => created(evacuation));
  const mark = { evacuationNodeName: NODE };
  const labelled = { ...f.vmi, ...(label && { evacuationLabel: label.urgency }) };
  return {
    vmi: marks.length > 0 ? { ...labelled, ...mark } : labelled,
    evacuations: [...f.evacuations, ...started],
    started,
  };
}

describe("for any facts, a deletion", () => {
  test("is refused until the deadline at most, and a second decision starts no further evacuation", () => {
    let started = 0;
    always(anyDeletion, (given) => {
      const first = decideDeletion(given);
      if (first.verdict !== "Refuse") return;
      const { retryAfterSeconds, message, actions } = first;
      const left = (Date.parse(/at the latest until (\S+)/.exec(message)?.[1] ?? "") - given.now.getTime()) / 1000;
      expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(retryAfterSeconds).toBeLessThanOrEqual(Math.min(15, Math.ceil(left)));
      const then = after(actions, given);
      expect(given.evacuations.filter(({ name }) => then.started[0]?.name === name)).toEqual([]);
      expect(decideDeletion({ ...given, ...then })).toMatchObject({
        verdict: "Refuse",
        actions: [],
        events: [],
        message,
      });
      started += then.started.length;
    });
    expect(started).toBeGreaterThan(100);
  });

  test("is allowed at its first deadline, whenever the condition was set again", () => {
    let kept = 0;
    always(anyDeletion, (given) => {
      const first = decideDeletion(given);
      const { started: begun, ...then } = after(first.verdict === "Refuse" ? first.actions : [], given);
      const { deadline } = begun[0]?.spec ?? {};
      if (deadline === undefined) return;
      // Each retry of the deletion sets the condition of the pod again, with a new time.
      const disruptionTarget = {
        active: true,
        reason: REASON.Preemption,
        ...given.pod.disruptionTarget,
        since: deadline,
      };
      const vmi = { ...given.vmi, ...then.vmi, guestOnTarget: false };
      const later = { ...given, ...then, vmi, pod: { ...given.pod, disruptionTarget } };
      expect(decideDeletion({ ...later, now: new Date(deadline) })).toMatchObject({ reason: "DeadlinePassed" });
      expect(Date.parse(deadline) - NOW.getTime()).toBeLessThanOrEqual(3_600_000);
      kept += 1;
    });
    expect(kept).toBeGreaterThan(100);
  });
});

test("for any facts, a plan for disruptions in progress marks nothing when repeated", () => {
  let started = 0;
  always(fc.tuple(anyPod, anyVmi, anyEvacuations), ([given, subject, evacuations]) => {
    const w = disruptionWorld({ vmis: [subject], evacuations, pods: [{ ...given, deleting: true }] });
    const then = after(planDisruptions(w).chains.flat(), { vmi: subject, evacuations });
    started += then.started.length;
    expect(planDisruptions({ ...w, vmis: [then.vmi], evacuations: then.evacuations }).chains).toEqual([]);
  });
  expect(started).toBeGreaterThan(100);
});
