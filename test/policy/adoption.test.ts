/** Beside KubeVirt's own evacuation controller: its migrations are adopted, ours follow after adoptSeconds. */
import { describe, expect, test } from "vitest";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { attempt, marked, migration, NODE, only, record, settings, time, verbs, vmi, without } from "./fixtures.ts";
import { plannedEvacuations } from "./worlds.ts";

/** What KubeVirt's evacuation controller makes of a mark. */
const theirs = migration({ name: "kubevirt-evacuation-x2x9k", evacuates: NODE, phase: "Pending" });

function planned(migrations: readonly MigrationFacts[], subject: VmiFacts = marked(), adoptSeconds = 5) {
  const given = settings({ evacuation: { adoptSeconds } });
  return plannedEvacuations({ vmis: [subject], migrations, settings: given });
}

describe("waiting for KubeVirt", () => {
  test("KubeVirt's migration for the mark becomes the next attempt, and it is said", () => {
    const actions = planned([theirs], marked({}, { cause: "Descheduler", attempts: 2 }));
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
  ])("%s", (_, given, expected) => expect(verbs(planned([given]))).toEqual(expected));

  test("none of ours is reserved before KubeVirt had its time", () => {
    expect(planned([], marked({}, { since: time(-4.9) }))).toEqual([]);
    expect(verbs(planned([], marked({}, { since: time(-5) })))).toEqual(["WriteSlots"]);
  });

  test("for the drain taint as well, to which KubeVirt answers too", () => {
    const subject = vmi({ record: record({ cause: "DrainTaint", since: time(0) }) });
    const given = { vmis: [subject], tainted: new Set([NODE]) };
    expect(plannedEvacuations(given)).toEqual([]);
    expect(verbs(plannedEvacuations({ ...given, migrations: [theirs] }))).toEqual(["AdoptMigration", "Event"]);
  });

  test("an adopted one that fails is a failed attempt", () => {
    const failed = attempt({ name: theirs.name, phase: "Failed", failureReason: "timed out" });
    const actions = planned([failed]);
    expect(actions[0]).toMatchObject({ verb: "Record", record: { attempts: 1, notBefore: time(20) } });
  });
});

describe("adoptSeconds 0", () => {
  test("a migration of ours is reserved at once", () => {
    expect(verbs(planned([], marked({}, { since: time(0) }), 0))).toEqual(["WriteSlots"]);
  });

  test("theirs is adopted where there is one all the same", () => {
    expect(verbs(planned([theirs], marked(), 0))).toEqual(["AdoptMigration", "Event"]);
  });
});

describe("switched off", () => {
  test.each([
    ["marked", [], marked()],
    ["KubeVirt's migration", [theirs], marked()],
    ["moved", [], marked({ nodeName: "node02" })],
    ["no record", [], without(marked(), "record")],
  ] as const)("%s: nothing is done", (_, migrations, subject) => {
    const off = settings({ reconcilers: { evacuation: false } });
    expect(plannedEvacuations({ vmis: [subject], migrations, settings: off })).toEqual([]);
  });
});
