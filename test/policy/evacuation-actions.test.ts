/** What is done in every stage, told to whom, and when it is looked at again. */
import { describe, expect, test } from "vitest";
import { type EvacuationWorld, planEvacuations } from "../../shared/policy/evacuation.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import {
  attempt,
  budget,
  grownBudget,
  marked,
  migration,
  MOBILITY,
  NODE,
  only,
  record,
  settings,
  time,
} from "./fixtures.ts";
import { verbs, vmi, without } from "./fixtures.ts";
import { plannedEvacuations, slotOf, world } from "./worlds.ts";

const AT_ONCE = settings({ evacuation: { adoptSeconds: 0 } });

/** Actions and look-again for one VM whose budget stands at 1, unless the tweak says otherwise. */
function planned(subject: VmiFacts, tweak: Partial<EvacuationWorld> = {}) {
  const w = world({ vmis: [subject], budgets: [budget()], settings: AT_ONCE, ...tweak });
  const { chains, requeueAfterSeconds } = planEvacuations(w);
  return { actions: chains.flat(), again: requeueAfterSeconds };
}

function told(subject: VmiFacts, tweak: Partial<EvacuationWorld> = {}) {
  return only("Event", planned(subject, tweak).actions).map(({ reason, message }) => `${reason}: ${message}`);
}

describe("nothing to be done", () => {
  const resting = without(vmi({ record: record({ outcome: "Abandoned", notBefore: time(9) }) }), "evacuationLabel");
  test.each([
    ["no evacuation", vmi(), undefined],
    ["ended, tidied up, resting", resting, undefined],
    ["External: somebody else acts", marked({ evictionStrategy: "External" }), undefined],
    ["waiting for the back-off", marked({}, { attempts: 1, notBefore: time(7) }), 7],
  ] as const)("%s", (_, subject, again) => expect(planned(subject)).toEqual({ actions: [], again }));

  test("no VMs at all", () => expect(planEvacuations(world())).toEqual({ chains: [] }));
  test("switched off", () => {
    const off = settings({ reconcilers: { evacuation: false } });
    expect(planned(marked(), { settings: off })).toEqual({ actions: [], again: undefined });
  });
});

describe("leftover", () => {
  const moved = { nodeName: "node02" };

  test("moved: everything is cleared, and it is said", () => {
    const subject = marked(moved);
    expect(planned(subject).actions[0]).toEqual({ verb: "Forget", vmi: subject });
    expect(told(subject)).toEqual(["Evacuated: moved from node node01 to node node02 (cause ApiEviction)"]);
  });

  test("moved, but our budget is still grown: the label stays, so that this is seen", () => {
    expect(planned(marked(moved), { budgets: [grownBudget()] })).toEqual({ actions: [], again: 0.5 });
  });

  test("moved to another node that it is to leave: its budget stays grown, and nothing waits for that", () => {
    const there = { budgets: [grownBudget()], tainted: new Set(["node02"]) };
    expect(verbs(planned(marked(moved), there).actions)).toEqual(["Forget", "Event"]);
  });

  test("a mark without a record is cleared without a word", () => {
    expect(verbs(planned(without(marked(moved), "record")).actions)).toEqual(["Forget"]);
  });

  test("moved after it was given up: cleared without a word, back-off and all", () => {
    const subject = marked(moved, { outcome: "Abandoned", notBefore: time(50) });
    expect(planned(subject).actions).toEqual([{ verb: "Forget", vmi: subject }]);
  });

  test.each(["migratable", "pinned"] as const)("given up, %s: record and label stay for the back-off", (mobility) => {
    const given = { evacuationLabel: "normal", liveMigratable: MOBILITY[mobility] };
    const resting = vmi({ ...given, record: record({ outcome: "Abandoned", notBefore: time(50) }) });
    expect(planned(resting)).toEqual({ actions: [], again: 50 });
    const rested = vmi({ ...given, record: record({ outcome: "Abandoned", notBefore: time(-1) }) });
    expect(planned(rested).actions).toEqual([{ verb: "Forget", vmi: rested }]);
  });

  test("given up, but something is still pending, as if whoever did it died halfway: deleted first", () => {
    const subject = vmi({ record: record({ outcome: "Abandoned", notBefore: time(50) }), evacuationLabel: "normal" });
    const pending = attempt({ phase: "Pending" });
    const theirs = migration({ phase: "Pending" });
    const given = { migrations: [pending, theirs], budgets: [grownBudget()] };
    expect(planned(subject, given)).toEqual({ actions: [{ verb: "DeleteMigration", migration: pending }], again: 0.5 });
  });

  test("given up, a migration runs: left to finish, and the label stays until then", () => {
    const subject = vmi({ record: record({ outcome: "Abandoned", notBefore: time(50) }), evacuationLabel: "normal" });
    const given = { migrations: [attempt()], budgets: [grownBudget()] };
    expect(planned(subject, given)).toEqual({ actions: [], again: 0.5 });
  });

  test("given up, and only its budget is not back: looked at when its back-off has passed", () => {
    const subject = vmi({ record: record({ outcome: "Abandoned", notBefore: time(50) }), evacuationLabel: "normal" });
    expect(planned(subject, { budgets: [grownBudget()] })).toEqual({ actions: [], again: 50 });
  });

  test("given up and rested: all is cleared", () => {
    const subject = vmi({ record: record({ outcome: "Cancelled", notBefore: time(-1) }), evacuationLabel: "normal" });
    expect(planned(subject).actions).toEqual([{ verb: "Forget", vmi: subject }]);
  });

  test("withdrawn with the drain taint: all is cleared", () => {
    const subject = vmi({ record: record({ cause: "DrainTaint", outcome: "Withdrawn" }), evacuationLabel: "normal" });
    expect(planned(subject).actions).toEqual([{ verb: "Forget", vmi: subject }]);
  });
});

describe("unrecorded", () => {
  const unrecorded = without(marked(), "record", "recordText");

  // prettier-ignore
  test.each([
    ["KubeVirt's mark",                unrecorded,                                         "ApiEviction", "KubeVirt"],
    ["… for the descheduler",          { ...unrecorded, evictionSource: "descheduler" },   "Descheduler", "KubeVirt"],
    ["… for somebody else",            { ...unrecorded, evictionSource: "other" },         "ApiEviction", "KubeVirt"],
    ["the drain taint",                vmi(),                                              "DrainTaint",  "taint kubevirt.io/drain"],
  ] as const)("%s: the record is written, not the mark", (_, subject, cause, requestedBy) => {
    const { actions, again } = planned(subject, { tainted: new Set([NODE]) });
    expect(verbs(actions)).toEqual(["Record", "Event"]);
    expect(actions[0]).toMatchObject({ vmi: subject, urgency: "normal", record: { cause, requestedBy, node: NODE } });
    expect(only("Record", actions)[0]?.record).toMatchObject({ since: time(0), attempts: 0 });
    expect(only("Event", actions)[0]).toMatchObject({ reason: "EvacuationAdopted", type: "Normal" });
    expect(again).toBe(0);
  });

  test("a mark set while the last evacuation rests: taken over, but the back-off holds", () => {
    const subject = marked({}, { outcome: "Abandoned", notBefore: time(70) });
    expect(planned(subject).actions[0]).toMatchObject({ verb: "Record", record: { notBefore: time(70), attempts: 0 } });
  });

  test("the back-off of an evacuation from another node does not", () => {
    const subject = marked({}, { outcome: "Abandoned", node: "node00", notBefore: time(70) });
    const [taken] = only("Record", planned(subject).actions);
    expect(taken?.record).toMatchObject({ node: NODE });
    expect(taken?.record).not.toHaveProperty("notBefore");
  });
});

describe("pinned", () => {
  test("is said once an evacuation, with KubeVirt's reason", () => {
    const subject = marked({ liveMigratable: MOBILITY.pinned });
    expect(told(subject)).toEqual(["NotMigratable: cannot leave node node01: DisksNotLiveMigratable"]);
    expect(only("Event", planned(subject).actions)[0]?.occasion).toBe(record().id);
    expect(planned(subject).again).toBeUndefined();
  });
});

describe("under way", () => {
  test("nobody else's migration is touched, it is only waited for", () => {
    expect(planned(marked(), { migrations: [migration()] })).toEqual({ actions: [], again: 2 });
  });

  test("a migration has succeeded: seen too early, else the VM has come back, and that is a new evacuation", () => {
    const subject = marked();
    const succeeded = migration({ evacuationId: record().id, attempt: 1, phase: "Succeeded" });
    const { actions, again } = planned(subject, { migrations: [succeeded] });
    expect(actions).toMatchObject([{ verb: "Record", vmi: subject, record: { since: time(0), attempts: 0 } }]);
    expect(only("Record", actions)[0]?.record.id).not.toBe(record().id);
    expect(again).toBe(1);
  });
});

describe("ready", () => {
  const subject = marked();
  const reserved = { register: { resourceVersion: "7", slots: [slotOf(subject)] } };
  const created = { ...reserved, budgets: [grownBudget()] };

  test("first its name is reserved, against the register as observed; then it is looked at again at once", () => {
    const { actions, again } = planned(subject, { register: { resourceVersion: "7", slots: [] } });
    expect(actions).toEqual([{ verb: "WriteSlots", resourceVersion: "7", slots: [slotOf(subject)] }]);
    expect(again).toBe(0);
  });

  test("a register that does not exist yet is created", () => {
    const { actions } = planned(subject, { register: { slots: [] } });
    expect(actions).toEqual([{ verb: "WriteSlots", slots: [slotOf(subject)] }]);
  });

  test("reserved, budget seen at 2, one pod: created, and said", () => {
    const { actions, again } = planned(subject, created);
    expect(actions[0]).toEqual({ verb: "CreateMigration", slot: slotOf(subject) });
    expect(told(subject, created)[0]).toMatch(/^MigrationCreated: .* off node node01 \(attempt 1 of 5\)$/);
    expect(again).toBe(0.5);
  });

  // prettier-ignore
  test.each([
    ["the budget is not grown",       { budgets: [budget()] }],
    ["the budget is not seen yet",    { budgets: [grownBudget({ status: { observedGeneration: 1 } })] }],
    ["there is no budget",            { budgets: [] }],
    ["a second pod is active",        { activePods: new Map([[subject.uid, 2]]) }],
    ["no pod is active",              { activePods: new Map([[subject.uid, 0]]) }],
    ["its pods were not counted",     { activePods: new Map() }],
  ])("reserved, but %s: the slot is kept, nothing is created", (_, tweak) => {
    expect(planned(subject, { ...created, ...tweak })).toEqual({ actions: [], again: 0.5 });
  });

  test("where budgets are KubeVirt's to grow, nothing waits for that", () => {
    const off = settings({ reconcilers: { evacuation: true, budget: "Disabled" } });
    expect(verbs(planned(subject, { ...reserved, settings: off }).actions)).toEqual(["CreateMigration", "Event"]);
  });

  test("VMs do not wait for each other: one chain each", () => {
    const two = [marked(), marked({ name: "db", uid: "db" })];
    const slots = two.map((v) => slotOf(v));
    const plan = planEvacuations(world({ vmis: two, register: { slots }, settings: AT_ONCE }));
    expect(plan.chains.map(verbs)).toEqual([
      ["CreateMigration", "Event"],
      ["CreateMigration", "Event"],
    ]);
  });

  test("the soonest of all waits decides when to look again", () => {
    const waiting = [7, 3, 9].map((s) => marked({ name: `w${s}`, uid: `w${s}` }, { attempts: 1, notBefore: time(s) }));
    expect(planEvacuations(world({ vmis: waiting })).requeueAfterSeconds).toBe(3);
    expect(plannedEvacuations({ vmis: waiting })).toEqual([]);
  });
});
