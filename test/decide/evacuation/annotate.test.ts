/** Tests which migrations of an evacuated VM get an annotation with the cause of the evacuation. */
import { expect, test } from "vitest";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { at, evacuation, migration, NODE, only } from "../../support/fixtures.ts";
import { planned, statusAfter } from "../../support/worlds.ts";

// prettier-ignore
const CAUSES: readonly (readonly [what: string, tweak: Parameters<typeof migration>[0], e: EvacuationFacts, expected: string | undefined])[] = [
  ["KubeVirt's migration for the evacuation",       { evacuates: NODE, automatic: true },       evacuation({ spec: { cause: "Preemption" } }), "Preemption"],
  ["KubeVirt's migration that has the annotation",  { evacuates: NODE, cause: "ApiEviction" },  evacuation(),                                  undefined],
  ["KubeVirt's migration that ended at once",       { evacuates: NODE, phase: "Succeeded" },    evacuation(),                                  "ApiEviction"],
  ["KubeVirt's migration of an earlier evacuation", { evacuates: NODE, phase: "Failed", createdAt: at(-61).getTime() }, evacuation(),          undefined],
  ["KubeVirt's migration that is being deleted",    { evacuates: NODE, deleting: true },        evacuation(),                                  undefined],
  ["a migration of KubeVirt's workload updater",    { automatic: true },                        evacuation(),                                  "WorkloadUpdate"],
  ["a person's migration",                          {},                                         evacuation(),                                  undefined],
];

test.each(CAUSES)("the annotation with the cause, on %s: $3", (_, tweak, subject, cause) => {
  const migrations = [migration(tweak)];
  const found = only("AnnotateMigration", planned(subject, { migrations, isWatched: true }));
  const expected = { verb: "AnnotateMigration", migration: migrations[0], cause, evacuation: subject.name };
  expect(found).toEqual(cause === undefined ? [] : [expected]);
  expect(only("AnnotateMigration", planned(subject, { migrations }))).toEqual([]);
});

test("a workload update that moves the VM is named in the message", () => {
  const migrations = [migration({ name: "kubevirt-workload-update-x7", automatic: true })];
  const { message } = statusAfter(evacuation(), { migrations });
  expect(message).toBe("migration kubevirt-workload-update-x7 (cause WorkloadUpdate) moves the VM");
});
