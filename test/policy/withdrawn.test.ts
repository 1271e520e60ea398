/** Evacuations that are withdrawn: the mark by somebody else's hand, or the drain taint. */
import { expect, test } from "vitest";
import { type EvacuationWorld, planEvacuations } from "../../shared/policy/evacuation.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { budget, NODE, only, record, settings, time, vmi } from "./fixtures.ts";
import { world } from "./worlds.ts";

const AT_ONCE = settings({ evacuation: { adoptSeconds: 0 } });

/** Of one VM whose budget stands at 1. */
function planned(subject: VmiFacts, tweak: Partial<EvacuationWorld> = {}) {
  const w = world({ vmis: [subject], budgets: [budget()], settings: AT_ONCE, ...tweak });
  const { chains, requeueAfterSeconds } = planEvacuations(w);
  return { actions: chains.flat(), again: requeueAfterSeconds };
}

test("somebody removed the mark: that is a cancel, with its back-off", () => {
  const subject = vmi({ record: record(), evacuationLabel: "normal" });
  const { actions, again } = planned(subject);
  const ended = record({ outcome: "Cancelled", notBefore: time(20) });
  expect(actions[0]).toEqual({ verb: "Unmark", vmi: subject, record: ended });
  expect(only("Event", actions)).toMatchObject([
    { reason: "EvacuationCancelled", message: "the mark for evacuation from node node01 was removed" },
  ]);
  expect(again).toBe(0);
});

test("the drain taint is gone: written down without a word; until it has rested, what was begun may still happen", () => {
  const found = record({ cause: "DrainTaint", attempts: 2 });
  const subject = vmi({ record: { ...found, notBefore: time(5) }, evacuationLabel: "normal" });
  const { actions, again } = planned(subject);
  const withdrawn = { ...found, outcome: "Withdrawn", notBefore: time(40) } as const;
  expect(actions).toEqual([{ verb: "Unmark", vmi: subject, record: withdrawn }]);
  expect(again).toBe(0);
  expect(planned({ ...subject, record: withdrawn })).toEqual({ actions: [], again: 40 });
});

test("the drain taint comes back meanwhile: a new evacuation, at once", () => {
  const subject = vmi({ record: record({ outcome: "Withdrawn", notBefore: time(40) }), evacuationLabel: "normal" });
  const [begun] = only("Record", planned(subject, { tainted: new Set([NODE]) }).actions);
  expect(begun?.record).toMatchObject({ cause: "DrainTaint", attempts: 0 });
  expect(begun?.record.notBefore).toBeUndefined();
});
