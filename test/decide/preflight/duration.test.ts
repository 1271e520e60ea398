/**
 * Tests the forecast of a drain's duration, which depends on the durations of finished migrations and the number of
 * parallel migrations.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { durationOf, sizeLine } from "../../../shared/preflight/duration.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { migration, settings } from "../../support/fixtures.ts";
import { facts, GIB, launcher, vmiOf } from "../../support/preflight/fixtures.ts";

const MIB = 1024 ** 2;
const NAMES = ["a", "b", "c", "d", "e"];

type Limits = Parameters<typeof settings>[0] extends infer S ? (S extends { limits?: infer L } ? L : never) : never;

const finished = (vmiName: string, tookSeconds: number, createdAt = 0) =>
  migration({ vmiName, name: `of-${vmiName}-${createdAt}`, phase: "Succeeded", tookSeconds, createdAt });

function many(more: Partial<Parameters<typeof facts>[0]> = {}, limits: Limits = {}) {
  const [pods, vmis] = [NAMES.map((name) => launcher(name)), NAMES.map((name) => vmiOf(name))];
  return preflight(facts({ pods, vmis, settings: settings({ limits }), ...more })).time;
}

test("a drain in which no VM moves has no duration", () => {
  expect(preflight(facts({ pods: [], vmis: [] }))).not.toHaveProperty("time");
});

// prettier-ignore
test.each([
  // the cluster     the node     concurrency  at once
  [5,                2,           undefined, 2],
  [3,                9,           undefined, 3],
  [5,                5,           1,         1],
  [5,                2,           4,         2],
])("with limits of %d for the cluster and %d for a node, and concurrency %s, %d VMs move at once", (all, outbound, concurrency, atOnce) => {
  const flags = { ...facts().flags, ...(concurrency !== undefined && { concurrency }) };
  expect(many({ flags }, { parallelMigrationsPerCluster: all, parallelOutboundMigrationsPerNode: outbound })).toMatchObject({ atOnce });
});

describe("without a finished migration, a forecast assumes usual network speeds up to bandwidthPerMigration", () => {
  // prettier-ignore
  test.each([
    // KubeVirt's limit   least  most  basis
    [undefined,          15,    276,  "between 64 MiB/s and 10 Gbit/s"],
    [256 * MIB,          33,    276,  "between 64 MiB/s and 256 MiB/s"],
    [32 * MIB,           201,   372,  "no migration finished yet: assumes 32 MiB/s for each VM"],
  ])("%s bytes per second", (bandwidthPerMigration, least, most, basis) => {
    const limits = bandwidthPerMigration === undefined ? {} : { bandwidthPerMigration };
    expect(many({}, limits)).toMatchObject({ seconds: { least, most }, basis: expect.stringContaining(basis) });
  });
});

describe("with finished migrations, three waves take as long as", () => {
  // prettier-ignore
  test.each<[string, ReturnType<typeof finished>[], seconds: readonly [least: number, most: number], basis: string]>([
    ["a migration of a VM elsewhere",           [finished("other", 20)], [42, 89], "based on 1 finished migration"],
    ["the VM's own earlier migration", [finished("a", 80), finished("other", 20)], [102, 209], "based on 2 finished migrations"],
    ["usual network speeds if the only migration failed", [migration({ vmiName: "other", phase: "Failed" })], [15, 276], "no migration finished yet: assumes between 64 MiB/s and 10 Gbit/s for each VM"],
  ])("%s", (_, all, [least, most], basis) => {
    expect(many({ finished: all })).toMatchObject({ seconds: { least, most }, basis });
  });
});

test("a VM of unknown size counts as a VM of usual size", () => {
  const vmis = NAMES.map((name) => vmiOf(name, { guestMemory: 0 }));
  expect(many({ vmis, finished: [finished("other", 20)] })).toMatchObject({ seconds: { least: 42, most: 89 } });
});

type Seen = readonly (readonly [gib: number, seconds: number])[];

// prettier-ignore
test.each<[what: string, Seen, gib: number, seconds: number]>([
  ["of one size, half of the time is constant",                    [[2, 20], [2, 20]],                  4, 30],
  ["of which the larger took far longer, no time is constant",     [[2, 1], [2, 1], [2, 1], [10, 97]],  2, 12.5],
  ["of which the larger took less time, the size does not matter", [[2, 100], [6, 20]],                 8, 60],
])("after migrations of VMs %s: %j, so %d GiB take %d s", (_, seen, gib, seconds) => {
  const all = seen.map(([memory, took], at) => ({ key: `${at}`, memory, seconds: took }));
  expect(sizeLine(all)(gib)).toBeCloseTo(seconds);
});

const noise = fc.double({ min: 0.6, max: 1.6, noNaN: true });
const vm = fc.record({ gib: fc.constantFrom(1, 2, 2, 4, 4, 8, 16), busy: noise });
const drains = fc.record({
  around: fc.integer({ min: 4, max: 25 }),
  perGib: fc.double({ min: 0.5, max: 8, noNaN: true }),
  atOnce: fc.integer({ min: 1, max: 5 }),
  vms: fc.array(vm, { minLength: 1, maxLength: 40 }),
  known: fc.integer({ min: 1, max: 40 }),
});

/**
 * Returns the seconds that a drain takes. The first migration starts after two seconds, and Lifeboat notices the end of
 * the last migration three seconds late.
 */
function happens(times: readonly number[], atOnce: number): number {
  const ends: number[] = [];
  for (const seconds of times) {
    const running = ends.toSorted((a, b) => b - a).slice(0, atOnce);
    ends.push((running.length < atOnce ? 2 : Math.min(...running)) + seconds);
  }
  return Math.max(...ends) + 3;
}

test("with a finished migration, nine of ten drains take half to twice as long as forecast", () => {
  const all = fc.sample(drains, { numRuns: 1000, seed: 37 });
  const near = all.filter(({ around, perGib, atOnce, vms, known }) => {
    const times = vms.map(({ gib, busy }) => around + perGib * gib * busy);
    const vmis = vms.map(({ gib }, index) => vmiOf(`vm-${index}`, { guestMemory: gib * GIB }));
    const before = times.slice(0, known).map((seconds, index) => finished(`vm-${index}`, Math.round(seconds)));
    const limits = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: atOnce };
    const f = facts({ vmis, finished: before, settings: settings({ limits }) });
    const { least = 0, most = Infinity } = durationOf(vmis, f)?.seconds ?? {};
    const took = happens(times, atOnce);
    return took <= 2 * least && took >= most / 2;
  });
  expect(near.length).toBeGreaterThanOrEqual(all.length * 0.9);
});
