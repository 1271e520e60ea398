/**
 * What facts are made of: names that they share, numbers and times that parsing lets through.
 * Owns: generating these. Does not own: the facts (policy-facts.ts, policy-evacuations.ts, …).
 */
import * as fc from "fast-check";

/** Names that half of all objects share, so that they have to do with each other. */
export const few = (...names: readonly string[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.string());
export const nodeName = few("node01", "node02");
export const vmiName = few("web", "db");
export const uid = few("uid-1", "uid-2", "uid-3");
export const namespace = few("vms", "apps");
export const phase = few("", "Pending", "Running", "Succeeded", "Failed");
export const strategy = few("None", "LiveMigrate", "LiveMigrateIfPossible", "External", "", "constructor");
export const key = few("kubevirt.io", "app", "constructor", "__proto__", "toString");
export const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, 1, 2, -1, 0.5, 1e308),
);
export const bytes = fc.oneof(fc.double({ min: 0, max: 1e30, noNaN: true }), fc.constantFrom(0, 2 ** 30));

export const NOON = new Date("2026-11-20T12:00:00.000Z");
export const now = fc.integer({ min: -400, max: 400 }).map((s) => new Date(NOON.getTime() + s * 1000));

/** As JSON has it: no time is out of the question. */
export const time = fc.oneof(
  { weight: 3, arbitrary: now.map((at) => at.toISOString()) },
  fc.constantFrom(
    "-271821-04-20T00:00:00.000Z",
    "+275760-09-13T00:00:00.000Z",
    "0000-01-01",
    "1",
    "9999-12-31T23:59:59Z",
  ),
);
export const anyText = fc.oneof(time, fc.constant(""), fc.string());

/** Keys that may be absent, absent half of the time. */
export function facts<R extends object, O extends object>(
  required: { [K in keyof R]: fc.Arbitrary<R[K]> },
  optional: { [K in keyof O]: fc.Arbitrary<O[K]> },
) {
  const absent = fc.subarray(Object.keys(optional));
  return fc.tuple(fc.record(required), fc.record(optional), absent).map(([r, o, keys]) => {
    const present: Partial<O> = { ...o };
    for (const key of keys) Reflect.deleteProperty(present, key);
    return { ...r, ...present };
  });
}
