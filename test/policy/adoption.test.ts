/** Beside KubeVirt's own evacuation controller: its migrations are adopted (Auto), left alone (true), or all (false). */
import { describe, expect, test } from "vitest";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import type { ReconcilerMode } from "../../shared/policy/settings.ts";
import { attempt, marked, migration, NODE, only, record, settings, time, verbs, vmi, without } from "./fixtures.ts";
import { plannedEvacuations } from "./worlds.ts";

/** What KubeVirt's evacuation controller makes of a mark. */
const theirs = migration({ name: "kubevirt-evacuation-x2x9k", evacuates: NODE, phase: "Pending" });

function planned(mode: ReconcilerMode, migrations: readonly MigrationFacts[], subject: VmiFacts = marked()) {
  const given = settings({ reconcilers: { evacuation: mode } });
  return plannedEvacuations({ vmis: [subject], migrations, settings: given });
}

describe("Auto", () => {
  test("KubeVirt's migration for the mark becomes the next attempt, and it is said", () => {
    const actions = planned("Auto", [theirs], marked({}, { cause: "Descheduler", attempts: 2 }));
    expect(actions[0]).toEqual({
      verb: "AdoptMigration",
      migration: theirs,
      cause: "Descheduler",
      id: "0000000a",
      attempt: 3,
    });
    expect(only("Event", actions)).toMatchObject([
      { reason: "MigrationAdopted", message: expect.stringContaining(theirs.name), occasion: theirs.name },
    ]);
  });

  // prettier-ignore
  test.each([
    ["adopted already",                          { ...theirs, evacuationId: "0000000a", attempt: 1 }, []],
    ["of an earlier evacuation of ours",         { ...theirs, evacuationId: "0000000b", attempt: 4 }, ["AdoptMigration", "Event"]],
    ["for another node",                         { ...theirs, evacuates: "node02" },                  []],
    ["no evacuation: somebody moves it by hand", without(theirs, "evacuates"),                        []],
    ["being deleted",                            { ...theirs, deleting: true },                       []],
    ["running already",                          { ...theirs, phase: "Running" },                     ["AdoptMigration", "Event"]],
  ])("%s", (_, given, expected) => expect(verbs(planned("Auto", [given]))).toEqual(expected));

  test("none of ours is reserved before KubeVirt had its time", () => {
    expect(planned("Auto", [], marked({}, { since: time(-4.9) }))).toEqual([]);
    expect(verbs(planned("Auto", [], marked({}, { since: time(-5) })))).toEqual(["WriteSlots"]);
  });

  test("for the drain taint as well, to which KubeVirt answers too", () => {
    const subject = vmi({ record: record({ cause: "DrainTaint", since: time(0) }) });
    const given = { vmis: [subject], tainted: new Set([NODE]) };
    expect(plannedEvacuations(given)).toEqual([]);
    expect(verbs(plannedEvacuations({ ...given, migrations: [theirs] }))).toEqual(["AdoptMigration", "Event"]);
  });

  test("an adopted one that fails is a failed attempt", () => {
    const failed = attempt({ name: theirs.name, phase: "Failed", failureReason: "timed out" });
    const actions = planned("Auto", [failed]);
    expect(actions[0]).toMatchObject({ verb: "Record", record: { attempts: 1, notBefore: time(20) } });
  });
});

describe("true", () => {
  test("a migration of ours is reserved at once", () => {
    expect(verbs(planned(true, [], marked({}, { since: time(0) })))).toEqual(["WriteSlots"]);
  });

  test("nobody's work is adopted, but no second migration is made beside it", () => {
    expect(planned(true, [theirs])).toEqual([]);
  });

  test("theirs that failed is not counted", () => {
    expect(verbs(planned(true, [{ ...theirs, phase: "Failed" }]))).toEqual(["WriteSlots"]);
  });
});

describe("false", () => {
  test.each([
    ["marked", [], marked()],
    ["KubeVirt's migration", [theirs], marked()],
    ["moved", [], marked({ nodeName: "node02" })],
    ["no record", [], without(marked(), "record")],
  ] as const)("%s: nothing is done", (_, migrations, subject) =>
    expect(planned(false, migrations, subject)).toEqual([]),
  );
});
