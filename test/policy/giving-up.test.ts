/** Attempts that fail: back-off, giving up, and what is tidied up then. */
import { describe, expect, test } from "vitest";
import { refusedMigration } from "../../shared/policy/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { failedAttempt } from "../../shared/policy/giving-up.ts";
import { at, attempt, marked, migration, NODE, NOW, only, record, settings, time, verbs, vmi } from "./fixtures.ts";
import { plannedEvacuations, slotOf, world } from "./worlds.ts";

const S = settings();
const FAILED = { reason: "MigrationFailed" } as const;

function failing(attempts: number, migrations: readonly MigrationFacts[] = []) {
  const subject = marked({}, { attempts });
  const given = { vmi: subject, record: record({ attempts }), migrations, why: "the target node was lost", ...FAILED };
  return { subject, actions: failedAttempt(given, { settings: S, now: NOW }) };
}

function told(m: MigrationFacts, tweak: Partial<VmiFacts> = {}) {
  return only("Event", plannedEvacuations({ vmis: [marked(tweak)], migrations: [m] }))[0];
}

describe("an attempt fails", () => {
  test.each([
    [1, 20],
    [2, 40],
    [3, 80],
    [4, 160],
  ])("for the %d. time: the next one in %d s", (nth, seconds) => {
    const { subject, actions } = failing(nth - 1);
    expect(actions[0]).toEqual({
      verb: "Record",
      vmi: subject,
      record: record({ attempts: nth, notBefore: time(seconds) }),
      urgency: "normal",
    });
    const [event] = only("Event", actions);
    expect(event).toMatchObject({ type: "Warning", reason: "MigrationFailed" });
    expect(event?.message).toBe(
      `attempt ${nth} of 5 to move the VM off node node01 failed: the target node was lost; the next one in ${seconds} s`,
    );
  });

  test("every failure is an occasion of its own", () => {
    const occasions = [0, 1, 2].map((n) => only("Event", failing(n).actions)[0]?.occasion);
    expect(new Set(occasions).size).toBe(3);
  });

  test("an urgent evacuation stays urgent", () => {
    const given = { vmi: marked(), record: record({ cause: "NodePressure" }), migrations: [], why: "", ...FAILED };
    expect(failedAttempt(given, { settings: S, now: NOW })[0]).toMatchObject({ urgency: "urgent" });
  });

  test("in a plan: with the reason that the migration gives, or none", () => {
    const failed = attempt({ phase: "Failed", failureReason: "no room" });
    expect(told(failed)?.message).toContain("failed: no room;");
    expect(told(attempt({ phase: "Failed" }))?.message).toContain("failed: no reason given;");
  });

  // prettier-ignore
  test.each([
    ["its VMI tells it first",       { migrationUID: attempt().uid, reason: "no room" }, "no room"        ],
    ["its VMI tells of another one", { migrationUID: "another",     reason: "no room" }, "no reason given"],
  ])("in a plan: %s", (_, failure, why) => {
    expect(told(attempt({ phase: "Failed" }), { failure })?.message).toContain(`failed: ${why};`);
  });
});

describe("the last attempt fails", () => {
  test("the evacuation is abandoned: mark cleared, record kept for its back-off, and both are said", () => {
    const { subject, actions } = failing(4);
    const ended = record({ attempts: 5, outcome: "Abandoned", notBefore: time(320) });
    expect(actions[0]).toEqual({ verb: "Unmark", vmi: subject, record: ended });
    expect(only("Event", actions).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)).toEqual([
      "Warning MigrationFailed: attempt 5 of 5 to move the VM off node node01 failed: the target node was lost",
      "Warning EvacuationAbandoned: evacuation from node node01 is abandoned after 5 failed attempts; a new one can be requested in 320 s",
    ]);
  });

  // prettier-ignore
  test.each([
    ["pending, ours",                        attempt({ phase: "Pending", attempt: 6 }),                  true],
    ["target getting ready, ours",           attempt({ phase: "PreparingTarget", attempt: 6 }),          true],
    ["pending, by KubeVirt for the mark",    migration({ phase: "Pending", evacuates: NODE }),           true],
    ["pending, somebody's own",              migration({ phase: "Pending" }),                            false],
    ["pending, for another node",            migration({ phase: "Pending", evacuates: "node02" }),       false],
    ["running: left to finish",              attempt({ phase: "Running", attempt: 6 }),                  false],
    ["finished",                             attempt({ phase: "Failed" }),                               false],
    ["being deleted",                        attempt({ phase: "Pending", deleting: true }),              false],
  ])("a migration that is %s", (_, given, deleted) => {
    const expected = deleted ? [{ verb: "DeleteMigration", migration: given }] : [];
    expect(only("DeleteMigration", failing(4, [given]).actions)).toEqual(expected);
  });

  test("the mark goes before the migrations, so that KubeVirt makes no new one", () => {
    const { actions } = failing(4, [attempt({ phase: "Pending", attempt: 6 })]);
    expect(verbs(actions)).toEqual(["Unmark", "DeleteMigration", "Event", "Event"]);
  });

  test("one attempt only, if so configured", () => {
    const once = settings({ evacuation: { maxAttempts: 1 } });
    const actions = plannedEvacuations({
      vmis: [marked()],
      migrations: [attempt({ phase: "Failed" })],
      settings: once,
    });
    expect(actions[0]).toMatchObject({ verb: "Unmark", record: { outcome: "Abandoned", notBefore: time(20) } });
  });

  test("for the drain taint: it begins again after the back-off, under a new id", () => {
    const ended = record({ cause: "DrainTaint", attempts: 5, outcome: "Abandoned", notBefore: time(320) });
    const given = { vmis: [vmi({ record: ended, evacuationLabel: "normal" })], tainted: new Set([NODE]) };
    expect(plannedEvacuations(given)).toEqual([]);
    const [begun] = only("Record", plannedEvacuations({ ...given, now: at(320) }));
    expect(begun?.record).toMatchObject({ cause: "DrainTaint", attempts: 0 });
    expect(begun?.record.id).not.toBe(ended.id);
  });
});

describe("a migration is refused", () => {
  test("for good: that is a failed attempt", () => {
    const subject = marked();
    const actions = refusedMigration(slotOf(subject), world({ vmis: [subject] }));
    expect(actions[0]).toMatchObject({ verb: "Record", record: { attempts: 1 } });
    const [event] = only("Event", actions);
    expect(event).toMatchObject({ type: "Warning", reason: "MigrationRefused" });
    expect(event?.message).toMatch(/failed: the migration is refused; the next one in 20 s$/);
  });

  test("for the last time: the story says refused, then abandoned", () => {
    const subject = marked({}, { attempts: 4 });
    const actions = refusedMigration(slotOf(subject), world({ vmis: [subject] }));
    expect(actions[0]).toMatchObject({ verb: "Unmark", record: { attempts: 5, outcome: "Abandoned" } });
    expect(only("Event", actions).map(({ reason }) => reason)).toEqual(["MigrationRefused", "EvacuationAbandoned"]);
  });

  test("for a VM that meanwhile does not wait for one: nothing", () => {
    const subject = marked();
    const slot = slotOf(subject);
    expect(refusedMigration(slot, world())).toEqual([]);
    expect(refusedMigration(slot, world({ vmis: [subject], migrations: [migration()] }))).toEqual([]);
    expect(refusedMigration(slot, world({ vmis: [marked({ nodeName: "node02" })] }))).toEqual([]);
  });
});
