/** What must be true all the time, and is said if it is not. */
import { describe, expect, test } from "vitest";
import { createLedger } from "../../infra/chaos/ledger.ts";
import { migration, vmi, type VmiTweak } from "./objects.ts";

const LIMITS = { cluster: 3, node: 2 };
const ledger = (letGo: readonly string[] = [], elapsed = 1500) =>
  createLedger({ limits: LIMITS, letGo: new Set(letGo), coveredBy: 5000, elapsed: () => elapsed });

const onNode = (name: string, nodeName = "node-1") => vmi({ name, status: { nodeName } });

/** Migrations that run, each of a VM of its own on the node beside its name. */
function running(...vms: readonly (readonly [name: string, node?: string])[]) {
  const book = ledger();
  for (const [name, node] of vms) {
    book.vmiChanged(onNode(name, node), undefined);
    book.migrationChanged(migration(name, "Running"), undefined);
  }
  return book;
}

describe("KubeVirt's limits", () => {
  // prettier-ignore
  test.each([
    ["as many as allowed",            [["a"], ["b"], ["c", "node-2"]],  3, ["node", "cluster"]],
    ["one fewer: no limit reached",   [["a"], ["b", "node-2"]],         2, []],
  ] as const)("%s", (_, vms, most, reached) => {
    const { breaches, mostRunning, reached: seen } = running(...vms);
    expect([breaches, mostRunning, [...seen]]).toEqual([[], most, reached]);
  });

  test("one too many from a node, which is told once", () => {
    const broken = running(["a"], ["b"], ["c"]);
    broken.migrationChanged(migration("c", "Running"), migration("c", "Running"));
    expect(broken.breaches).toEqual([
      "1500 ms: 3 migrations run from node-1, 2 allowed: a (Running), b (Running), c (Running)",
    ]);
  });

  test("one too many in the cluster", () => {
    const broken = running(["a"], ["b", "node-2"], ["c", "node-3"], ["d", "node-4"]);
    expect(broken.breaches).toHaveLength(1);
    expect(broken.breaches[0]).toContain("4 migrations run in the cluster, 3 allowed");
  });

  test("what waits in the queue does not count", () => {
    const kept = running(["a"], ["b"]);
    for (const name of ["c", "d", "e"]) kept.migrationChanged(migration(name, "Pending"), undefined);
    kept.migrationChanged(migration("f"), undefined);
    expect(kept.breaches).toEqual([]);
  });

  test("a VM that is gone takes no place on its node, though its migration is not done with", () => {
    const kept = running(["a"], ["b"]);
    kept.vmiChanged(undefined, onNode("a"));
    kept.migrationChanged(migration("a", "Running"), migration("a", "Running"));
    kept.vmiChanged(onNode("c"), undefined);
    kept.migrationChanged(migration("c", "Running"), undefined);
    expect(kept.breaches).toEqual([]);
  });

  const ends = [
    ["succeeds", migration("a", "Succeeded")],
    ["fails", migration("a", "Failed")],
    ["is deleted", undefined],
    ["is another one by now", migration("a", "Failed", { uid: "second" })],
  ] as const;
  test.each(ends)("a migration that %s makes room", (_, now) => {
    const kept = running(["a"], ["b"]);
    kept.migrationChanged(now, migration("a", "Running"));
    kept.vmiChanged(onNode("c"), undefined);
    kept.migrationChanged(migration("c", "Running"), undefined);
    expect(kept.breaches).toEqual([]);
  });
});

// prettier-ignore
const endings: readonly (readonly [VmiTweak, "is a breach" | "is none"])[] = [
  [{ strategy: "LiveMigrate" },                          "is a breach"],
  [{ strategy: "LiveMigrateIfPossible", pinned: true },  "is none"],
  [{ strategy: "None" },                                 "is none"],
  [{ strategy: "LiveMigrate", deleting: true },          "is none"],
];
test.each(endings)("a guest of %j that ends %s", (tweak, verdict) => {
  const kept = ledger();
  const ended = vmi({ ...tweak, status: { ...(tweak.pinned && { conditions: [] }), phase: "Failed" } });
  kept.vmiChanged(ended, vmi(tweak));
  kept.vmiChanged(ended, ended);
  const told = "1500 ms: run-1/web has ended (Failed) on node-1";
  expect(kept.breaches).toEqual(verdict === "is a breach" ? [told] : []);
});

test("one that a taint may end is no breach", () => {
  const kept = ledger(["run-1/web"]);
  kept.vmiChanged(vmi({ status: { phase: "Failed" } }), vmi());
  expect(kept.breaches).toEqual([]);
});

test.each([
  ["before a kubelet may have sent SIGTERM", 4999, 1],
  ["later", 5000, 0],
])("one that the shield has covered %s", (_, elapsed, breaches) => {
  const kept = ledger(["run-1/web"], elapsed);
  const before = vmi();
  const covered = { ...before, metadata: { ...before.metadata, labels: { "lifeboat.dev/shield": "1" } } };
  kept.vmiChanged(covered, before);
  kept.vmiChanged({ ...covered, status: { ...covered.status, phase: "Succeeded" } }, covered);
  expect([kept.shielded, kept.breaches.length]).toEqual([1, breaches]);
});
