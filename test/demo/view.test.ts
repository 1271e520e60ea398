import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { Row } from "../../infra/demo/rows.ts";
import { renderChanges, renderFrame, renderSummary } from "../../infra/demo/view.ts";

const rows: readonly Row[] = [
  {
    vm: "shop/db",
    strategy: "LiveMigrate",
    migratable: false,
    decision: "refuse: DisksNotLiveMigratable",
    now: "stays, running",
    mood: "idle",
  },
  {
    vm: "shop/web",
    strategy: "LiveMigrateIfPossible",
    migratable: true,
    decision: "evacuate",
    now: "node-1 → node-2",
    phase: "Running",
    mood: "moving",
  },
];
const nodes = [
  { name: "node-1", cordoned: true, troubles: [], vms: 2, leaving: 0, pods: 1 },
  { name: "node-2", cordoned: false, troubles: [], vms: 0, leaving: 0, pods: 0 },
];
const frame = { seconds: 7.9, rows, nodes, drain: "evicting pod shop/virt-launcher-web-abcde" };

describe("a frame", () => {
  test("shows each VM, each node and the drain's last words", () => {
    expect(renderFrame(frame, { width: 120, colour: false })).toEqual([
      "  VM        STRATEGY               MIGRATABLE  DECISION                        NOW",
      "· shop/db   LiveMigrate            no          refuse: DisksNotLiveMigratable  stays, running",
      "→ shop/web  LiveMigrateIfPossible  yes         evacuate                        node-1 → node-2  Running",
      "",
      "  node-1 cordoned     ▣ ▣  ▫",
      "  node-2",
      "                      ▣ virtual machine  ▫ other pod",
      "",
      "7 s  evicting pod shop/virt-launcher-web-abcde",
    ]);
  });

  test("in a narrow terminal the decision is cut, not where the VM is now", () => {
    expect(renderFrame(frame, { width: 72, colour: false }).slice(0, 3)).toEqual([
      "  VM        STRATEGY               DECISION     NOW",
      "· shop/db   LiveMigrate            refuse: Di…  stays, running",
      "→ shop/web  LiveMigrateIfPossible  evacuate     node-1 → node-2  Running",
    ]);
  });

  test.each([20, 40, 80])("no line is wider than a terminal of %i columns", (width) => {
    for (const line of renderFrame(frame, { width, colour: true }))
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(width);
  });

  test("colour only adds colour", () => {
    const plain = renderFrame(frame, { width: 100, colour: false });
    expect(renderFrame(frame, { width: 100, colour: true }).map(stripVTControlCharacters)).toEqual(plain);
  });
});

describe("without a terminal", () => {
  test("the first lines name every VM", () => {
    expect(renderChanges([], rows)).toEqual([
      "· shop/db  LiveMigrate, not migratable: refuse: DisksNotLiveMigratable  stays, running",
      "→ shop/web  LiveMigrateIfPossible, migratable: evacuate  node-1 → node-2",
    ]);
  });

  test("only what changed is said", () => {
    const arrived = rows.map((row) =>
      row.vm === "shop/web" ? { ...row, now: "on node-2", phase: "", mood: "moved" as const } : row,
    );
    expect(renderChanges(rows, arrived)).toEqual(["✓ shop/web  on node-2"]);
    expect(renderChanges(rows, rows)).toEqual([]);
  });
});

describe("the summary", () => {
  const look = { width: 100, colour: false };
  const calm = { moved: ["a/a"], shutDown: [], untouched: ["c/c"], remaining: [], lost: [] };

  test("says how many, and which", () => {
    expect(renderSummary({ ...calm, moved: ["a/a", "b/b"] }, look)).toEqual([
      "VMs moved: 2  (a/a, b/b)",
      "VMs shut down by their strategy: 0",
      "VMs on other nodes, untouched: 1  (c/c)",
      "VMs lost: 0",
    ]);
  });

  test("says who is still there, and who is lost", () => {
    const lines = renderSummary({ ...calm, remaining: ["d/d"], lost: ["e/e"] }, look);
    expect(lines).toContain("VMs still on the node: 1  (d/d)");
    expect(lines.at(-1)).toBe("VMs lost: 1  (e/e)");
  });
});
