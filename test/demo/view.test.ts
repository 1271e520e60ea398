/** The drain as a person sees it. */
import { expect, test } from "vitest";
import type { Row } from "../../infra/demo/rows.ts";
import { renderChanges, renderFrame, renderSummary } from "../../infra/demo/view.ts";
import { expectToFit, PLAIN } from "./screens.ts";

// prettier-ignore
const db: Row = { vm: "shop/db", strategy: "LiveMigrate", migratable: false, decision: "refuse: DisksNotLiveMigratable", now: "stays, running", mood: "idle" };
// prettier-ignore
const web: Row = { vm: "shop/web", strategy: "LiveMigrateIfPossible", migratable: true, decision: "evacuate", now: "node-1 → node-2", phase: "Running", mood: "moving" };
const rows = [db, web];
const nodes = [
  { name: "node-1", cordoned: true, troubles: [], vms: 2, leaving: 0, pods: 1 },
  { name: "node-2", cordoned: false, troubles: [], vms: 0, leaving: 0, pods: 0 },
];
const frame = { seconds: 7.9, rows, nodes, drain: "evicting pod shop/virt-launcher-web-abcde" };

test("a frame shows each VM, each node and the drain's last words", () => {
  expect(renderFrame(frame, PLAIN)).toEqual([
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
  expectToFit((look) => renderFrame(frame, look));
});

test("in a narrow terminal the decision is cut, not where the VM is now", () => {
  expect(renderFrame(frame, { ...PLAIN, width: 72 }).slice(0, 3)).toEqual([
    "  VM        STRATEGY               DECISION     NOW",
    "· shop/db   LiveMigrate            refuse: Di…  stays, running",
    "→ shop/web  LiveMigrateIfPossible  evacuate     node-1 → node-2  Running",
  ]);
});

// prettier-ignore
test.each([
  ["every VM first",  [],   rows, ["· shop/db  LiveMigrate, not migratable: refuse: DisksNotLiveMigratable  stays, running",
                                   "→ shop/web  LiveMigrateIfPossible, migratable: evacuate  node-1 → node-2"]],
  ["what changed",    rows, [db, { ...web, now: "on node-2", phase: "", mood: "moved" as const }], ["✓ shop/web  on node-2"]],
  ["nothing then",    rows, rows, []],
])("without a terminal: %s", (_, before, now, lines) => expect(renderChanges(before, now)).toEqual(lines));

const calm = { moved: ["a/a", "b/b"], shutDown: [], untouched: ["c/c"], remaining: [], lost: [] };

// prettier-ignore
test.each([
  ["all is well",              calm,                                           ["VMs lost: 0"]],
  ["one stays, one is lost",   { ...calm, remaining: ["d/d"], lost: ["e/e"] }, ["VMs still on the node: 1  (d/d)", "VMs lost: 1  (e/e)"]],
])("the summary: %s", (_, summary, lines) => {
  const rendered = renderSummary(summary, PLAIN);
  const always = ["VMs moved: 2  (a/a, b/b)", "VMs shut down by their strategy: 0", "VMs on other nodes, untouched: 1  (c/c)"];
  expect(new Set(rendered)).toEqual(new Set([...always, ...lines]));
  expect(rendered.at(-1)).toBe(lines.at(-1));
});
