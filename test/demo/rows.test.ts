/** The story of each VM on the drained node. */
import { describe, expect, test } from "vitest";
import { nodeLines, onlyRefusedRemain, rowsOf, type Row } from "../../infra/demo/rows.ts";
import { viewOfVmi, type VirtualMachine } from "../../infra/demo/world.ts";
import { launcherOf, migration, node, vm, world, type Cast } from "./worlds.ts";

function row(before: VirtualMachine, now: Cast): Row {
  const [only] = rowsOf(world({ vmis: [before] }), world(now), "node-1");
  if (only === undefined) throw new Error("no row");
  return only;
}

const marked = { marked: true };
const pinned = { pinnedBecause: "DisksNotLiveMigratable" };

describe("what was decided", () => {
  // prettier-ignore
  const decisions: readonly [string, Partial<VirtualMachine>, string[], string][] = [
    ["LiveMigrate",           {},     [],                                         ""],
    ["LiveMigrate",           {},     ["EvacuationTriggered", "MigrationCreated"], "evacuate"],
    ["LiveMigrate",           {},     ["EvacuationAdopted"],                      "evacuate"],
    ["External",              {},     ["EvacuationTriggered"],                    "leave to its owner"],
    ["LiveMigrate",           pinned, ["EvictionRefused"],                        "refuse: DisksNotLiveMigratable"],
    ["LiveMigrate",           pinned, ["EvictionRefused", "EvacuationTriggered"], "evacuate"],
    ["LiveMigrateIfPossible", pinned, ["ShutdownByStrategy"],                     "shut down: DisksNotLiveMigratable"],
    ["None",                  {},     [],                                         ""],
    ["LiveMigrate",           marked, [],                                         "evacuate"],
    ["LiveMigrate",           marked, ["EvictionRefused"],                        "evacuate"],
  ];
  test.each(decisions)("strategy %s, %j, told %j: %j", (strategy, tweak, told, decision) => {
    const vmi = vm({ strategy, ...tweak });
    expect(row(vmi, { vmis: [vmi], pods: [launcherOf(vmi)], told }).decision).toBe(decision);
  });

  test("strategy None says why it was let go, once it goes", () => {
    const vmi = vm({ strategy: "None" });
    expect(row(vmi, { vmis: [vmi], pods: [launcherOf(vmi, { deleting: true })] })).toMatchObject({
      decision: "allow",
      now: "shutting down",
      mood: "stopped",
    });
  });

  test("an Event about another VM is not ours", () => {
    const other = vm({ uid: "uid-other" });
    expect(row(other, { vmis: [other], told: ["EvacuationTriggered"] }).decision).toBe("");
  });
});

describe("where it is", () => {
  const evacuating = vm(marked);
  const moving = vm({ ...marked, targetNode: "node-2" });
  const pods = [launcherOf(vm())];
  const away = vm({ nodeName: "node-2" });
  const optional = vm({ strategy: "None" });
  const external = vm({ marked: true, strategy: "External" });
  // prettier-ignore
  const places: readonly [string, VirtualMachine, Cast, Pick<Row, "now" | "phase" | "mood">][] = [
    ["nothing happened",   vm(),     { vmis: [vm()], pods },                                                 { now: "running",                      mood: "idle"    }],
    ["marked",             vm(),     { vmis: [evacuating], pods },                                               { now: "waits for its turn",           mood: "waiting" }],
    ["marked, External",   external, { vmis: [external], pods },                                             { now: "waits for its owner",          mood: "waiting" }],
    ["refused",            vm(),     { vmis: [vm()], pods, told: ["EvictionRefused"] },                      { now: "stays, running",               mood: "refused"    }],
    ["migrating",          vm(),     { vmis: [moving], migrations: [migration()] },                        { now: "node-1 → node-2", phase: "Running", mood: "moving" }],
    ["no target yet",      vm(),     { vmis: [evacuating], migrations: [migration({ phase: "Pending" })] },   { now: "node-1 → …", phase: "Pending", mood: "moving" }],
    ["a migration failed", vm(),     { vmis: [evacuating], pods, migrations: [migration({ phase: "Failed" })] }, { now: "migration failed, will retry", mood: "waiting" }],
    ["it arrived",         vm(),     { vmis: [away], migrations: [migration({ phase: "Succeeded" })] },{ now: "on node-2",                    mood: "moved"   }],
    ["the guest ended",    vm(),     { vmis: [vm({ phase: "Failed" })] },                              { now: "LOST",                         mood: "lost"    }],
    ["it is gone",         vm(),     {},                                                               { now: "LOST",                         mood: "lost"    }],
    ["it was let go",      optional, {},                                                               { now: "shut down",                    mood: "stopped" }],
  ];
  test.each(places)("%s", (_, before, now, expected) => expect(row(before, now)).toMatchObject(expected));

  test("of several migrations the newest counts", () => {
    const first = migration({ phase: "Failed" });
    const second = migration({ createdAt: "2026-01-01T00:00:09Z", phase: "Scheduling" });
    expect(row(vm(), { vmis: [evacuating], migrations: [second, first] }).phase).toBe("Scheduling");
  });
});

// prettier-ignore
test.each([
  ["no migration",             undefined,                                           undefined],
  ["a migration under way",    { targetNode: "node-2" },                            "node-2" ],
  ["a migration that is over", { targetNode: "node-2", endTimestamp: "2026-01-01T00:00:00Z" }, undefined],
])("where a VM is being moved to: %s", (_, migrationState, targetNode) => {
  const metadata = { name: "web", uid: "uid-web", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  const status = { phase: "Running", ...(migrationState && { migrationState }) };
  expect(viewOfVmi({ metadata, spec: { domain: {} }, status }).targetNode).toBe(targetNode);
});

function at(mood: Row["mood"], now = ""): Row {
  return { vm: "v", strategy: "LiveMigrate", migratable: true, decision: "", now, mood };
}

describe("the drain waits for refused VMs only", () => {
  test.each([
    ["none is left", [at("moved"), at("stopped", "shut down")], false],
    ["one refused is left", [at("moved"), at("refused")], true],
    ["another still moves", [at("moving"), at("refused")], false],
    ["another is shutting down", [at("stopped", "shutting down"), at("refused")], false],
    ["another was not asked yet", [at("idle"), at("refused")], false],
  ])("%s: %s", (_, rows, expected) => expect(onlyRefusedRemain(rows)).toBe(expected));
});

test("a node line counts running VMs and ordinary pods that stay", () => {
  const here = vm();
  const leaving = vm({ key: "shop/db", uid: "db", marked: true });
  const ordinary = { key: "shop/api", nodeName: "node-1", phase: "Running", deleting: false };
  const now = world({
    vmis: [here, leaving],
    pods: [launcherOf(here), ordinary, { ...ordinary, deleting: true }],
    nodes: [node("node-2"), node("node-1", { cordoned: true, troubles: ["a:NoExecute"] })],
  });
  expect(nodeLines(now)).toEqual([
    { name: "node-1", cordoned: true, troubles: ["a:NoExecute"], vms: 2, leaving: 1, pods: 1 },
    { name: "node-2", cordoned: false, troubles: [], vms: 0, leaving: 0, pods: 0 },
  ]);
});
