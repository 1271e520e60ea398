/** Operators delete Evacuations: one that has not ended must stay. */
import { expect, test } from "vitest";
import { deleteAll } from "../../infra/chaos/operator.ts";
import { evacuation } from "./objects.ts";

const told = ["web's evacuation was deleted before its end"];

// prettier-ignore
test.each<[string, phase: string | undefined, goesThrough: boolean, readonly string[]]>([
  ["of one that goes on is refused",   "Migrating", false, []],
  ["of one that goes on goes through", "Migrating", true,  told],
  ["of a new one goes through",        undefined,   true,  told],
  ["of one that has ended",            "Moved",     true,  []],
])("a deletion %s", async (_, phase, goesThrough, expected) => {
  const report: string[] = [];
  const remove = () => Promise.resolve(goesThrough);
  expect(await deleteAll([evacuation(phase)], remove, (what) => void report.push(what))).toBe(goesThrough);
  expect(report).toEqual(expected);
});
