/** How long a drain takes, as foretold: from what this cluster's migrations took, in KubeVirt's waves. */
import { describe, expect, test } from "vitest";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { migration, settings } from "../../support/fixtures.ts";
import { facts, launcher, vmiOf } from "../../support/preflight/fixtures.ts";

const MIB = 1024 ** 2;
const NAMES = ["a", "b", "c", "d", "e"];

type Limits = Parameters<typeof settings>[0] extends infer S ? (S extends { limits?: infer L } ? L : never) : never;

const finished = (vmiName: string, tookSeconds: number, createdAt = 0) =>
  migration({ vmiName, name: `of-${vmiName}-${createdAt}`, phase: "Succeeded", tookSeconds, createdAt });

function many(more: Partial<Parameters<typeof facts>[0]> = {}, limits: Limits = {}) {
  const [pods, vmis] = [NAMES.map((name) => launcher(name)), NAMES.map((name) => vmiOf(name))];
  return preflight(facts({ pods, vmis, settings: settings({ limits }), ...more })).time;
}

test("nothing moves: no time", () => {
  expect(preflight(facts({ pods: [], vmis: [] }))).not.toHaveProperty("time");
});

// prettier-ignore
test.each([
  // of the cluster  of the node  asked      at once
  [5,                2,           undefined, 2],
  [3,                9,           undefined, 3],
  [5,                5,           1,         1],
  [5,                2,           4,         2],
])("KubeVirt lets %d move in the cluster, %d from a node, %s are asked to: %d at once", (all, outbound, concurrency, atOnce) => {
  const flags = { ...facts().flags, ...(concurrency !== undefined && { concurrency }) };
  expect(many({ flags }, { parallelMigrationsPerCluster: all, parallelOutboundMigrationsPerNode: outbound })).toMatchObject({ atOnce });
});

describe("given no finished migration, as fast as nets usually are, and no faster than bandwidthPerMigration", () => {
  // prettier-ignore
  test.each([
    // KubeVirt's limit   least  most  basis
    [undefined,          15,    276,  "between 64 MiB/s and 10 Gbit/s"],
    [256 * MIB,          33,    276,  "between 64 MiB/s and 256 MiB/s"],
    [32 * MIB,           201,   372,  "no finished migration to go by: 32 MiB/s for each VM"],
  ])("%s bytes per second", (bandwidthPerMigration, least, most, basis) => {
    const limits = bandwidthPerMigration === undefined ? {} : { bandwidthPerMigration };
    expect(many({}, limits)).toMatchObject({ seconds: { least, most }, basis: expect.stringContaining(basis) });
  });
});

describe("given finished migrations, three waves as long as those", () => {
  // prettier-ignore
  test.each<[string, ReturnType<typeof finished>[], seconds: readonly [least: number, most: number], basis: string]>([
    ["of a VM elsewhere",           [finished("other", 20)], [42, 89], "based on 1 finished migration"],
    ["a VM of the node has its own", [finished("a", 80), finished("other", 20)], [102, 209], "based on 2 finished migrations"],
    ["one that has failed says nothing", [migration({ vmiName: "other", phase: "Failed" })], [15, 276], "no finished migration to go by: between 64 MiB/s and 10 Gbit/s for each VM"],
  ])("%s", (_, all, [least, most], basis) => {
    expect(many({ finished: all })).toMatchObject({ seconds: { least, most }, basis });
  });
});
