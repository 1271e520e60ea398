/** What must be true all the time, and is said if it is not. */
import { describe, expect, test } from "vitest";
import { createLedger } from "../../infra/chaos/ledger.ts";
import { migration, vmi, type VmiTweak } from "./objects.ts";

const LIMITS = { cluster: 3, node: 2 };
const ledger = (letGo: readonly string[] = []) =>
  createLedger({ limits: LIMITS, letGo: new Set(letGo), elapsed: () => 1500 });

describe("limits", () => {
  test("as many as allowed is no breach", () => {
    const kept = ledger();
    kept.migrationChanged(migration("lifeboat-a"), undefined);
    kept.migrationChanged(migration("lifeboat-b", "Running"), undefined);
    kept.migrationChanged(migration("lifeboat-c", "Running", { node: "node-2" }), undefined);
    expect(kept.breaches).toEqual([]);
    expect(kept.mostUnfinished).toBe(3);
    expect([...kept.reached]).toEqual(["node", "cluster"]);
  });

  test("one fewer than allowed reaches no limit", () => {
    const kept = ledger();
    kept.migrationChanged(migration("lifeboat-a"), undefined);
    kept.migrationChanged(migration("lifeboat-b", "Running", { node: "node-2" }), undefined);
    expect(kept.mostUnfinished).toBe(2);
    expect([...kept.reached]).toEqual([]);
  });

  test("one too many from a node", () => {
    const broken = ledger();
    for (const name of ["a", "b", "c"]) broken.migrationChanged(migration(`lifeboat-${name}`, "Pending"), undefined);
    expect(broken.breaches).toEqual([
      "1500 ms: 3 unfinished migrations from node-1, 2 allowed: " +
        "lifeboat-a (Pending), lifeboat-b (Pending), lifeboat-c (Pending)",
    ]);
  });

  test("one too many in the cluster", () => {
    const broken = ledger();
    for (const [i, name] of ["a", "b", "c", "d"].entries())
      broken.migrationChanged(migration(`lifeboat-${name}`, undefined, { node: `node-${i}` }), undefined);
    expect(broken.breaches).toHaveLength(1);
    expect(broken.breaches[0]).toContain("4 unfinished migrations in the cluster, 3 allowed");
  });

  const ends = [
    ["succeeds", migration("lifeboat-a", "Succeeded")],
    ["fails", migration("lifeboat-a", "Failed")],
    ["is deleted", undefined],
    ["is another one by now", migration("lifeboat-a", "Failed", { uid: "second" })],
  ] as const;
  test.each(ends)("a migration that %s makes room", (_, now) => {
    const kept = ledger();
    kept.migrationChanged(migration("lifeboat-a"), undefined);
    kept.migrationChanged(now, migration("lifeboat-a"));
    kept.migrationChanged(migration("lifeboat-b"), undefined);
    kept.migrationChanged(migration("lifeboat-c"), undefined);
    expect(kept.breaches).toEqual([]);
  });

  test("other people's migrations are theirs", () => {
    const kept = ledger();
    for (let i = 0; i < 9; i++) kept.migrationChanged(migration(`kubevirt-evacuation-${i}`), undefined);
    expect(kept.breaches).toEqual([]);
  });
});

test("two unfinished migrations of one VM", () => {
  const broken = ledger();
  broken.migrationChanged(migration("lifeboat-a-1", "Running", { of: "web" }), undefined);
  broken.migrationChanged(migration("lifeboat-a-2", "Pending", { of: "web" }), undefined);
  expect(broken.breaches[0]).toContain("2 unfinished migrations of run-1/web, 1 allowed");
});

// prettier-ignore
const endings: readonly (readonly [VmiTweak, "is a breach" | "is none"])[] = [
  [{ strategy: "LiveMigrate" },                          "is a breach"],
  [{ strategy: "LiveMigrate", pinned: true },            "is a breach"],
  [{ strategy: "Unknown" },                              "is a breach"],
  [{ strategy: "LiveMigrateIfPossible" },                "is a breach"],
  [{ strategy: "LiveMigrateIfPossible", pinned: true },  "is none"],
  [{ strategy: "External" },                             "is a breach"],
  [{ strategy: "None" },                                 "is none"],
  [{ strategy: "LiveMigrate", deleting: true },          "is none"],
];
test("one that a taint may end is no breach", () => {
  const kept = ledger(["run-1/web"]);
  kept.vmiChanged(vmi({ status: { phase: "Failed" } }), vmi());
  expect(kept.breaches).toEqual([]);
});
test.each(endings)("a guest of %j that ends %s", (tweak, verdict) => {
  const kept = ledger();
  const ended = vmi({ ...tweak, status: { ...(tweak.pinned && { conditions: [] }), phase: "Failed" } });
  kept.vmiChanged(ended, vmi(tweak));
  kept.vmiChanged(ended, ended);
  const told = "1500 ms: run-1/web has ended (Failed) on node-1";
  expect(kept.breaches).toEqual(verdict === "is a breach" ? [told] : []);
});
