/** Two clusters side by side, as a person sees them. */
import { expect, test } from "vitest";
import type { BesideRow } from "../../infra/demo/beside.ts";
import { createBesideNarrator } from "../../infra/demo/beside-narrator.ts";
import { NAME, renderBeside, renderBesideChanges, renderOutcome } from "../../infra/demo/beside-view.ts";
import { AT_1234_MS, expectToFit, PLAIN, recordingScreen } from "./screens.ts";
import { node, world } from "./worlds.ts";

const IDLE = { now: "", mood: "idle" } as const;
const moving = { now: "node-1 → node-2", phase: "Running", mood: "moving" } as const;
const rows: readonly BesideRow[] = [
  { name: "shop/db", without: { now: "LOST", mood: "lost" }, withIt: moving },
  { name: "shop/job", without: { now: "on node-2", mood: "idle" }, withIt: IDLE },
];
const worlds = {
  without: world({ nodes: [node("node-1")] }),
  withIt: world({ nodes: [node("node-1", { troubles: ["MemoryPressure"] })] }),
};
const frame = { seconds: 3.7, rows, worlds, said: { without: "Preempted", withIt: "held" } };

test("a frame shows both clusters, and what was said last in each", () => {
  expect(renderBeside(frame, PLAIN).map((line) => line.trimEnd())).toEqual([
    "            WITHOUT LIFEBOAT                WITH LIFEBOAT",
    "  shop/db   ✗ LOST                          → node-1 → node-2 Running",
    "  shop/job  · on node-2",
    "",
    "            node-1                          node-1 MemoryPressure",
    "            ▣ virtual machine  ▫ other pod",
    "",
    "3 s",
    "without  Preempted",
    "with     held",
  ]);
  expectToFit((look) => renderBeside(frame, look));
});

test("without a terminal only what changed is said, and of which cluster", () => {
  expect(renderBesideChanges([], rows, NAME)).toEqual([
    "without  ✗ shop/db  LOST",
    "without  · shop/job  on node-2",
    "with     → shop/db  node-1 → node-2",
  ]);
  expect(renderBesideChanges(rows, rows, NAME)).toEqual([]);
});

test("in a log every sentence is said once, with its time", () => {
  const { printed, screen } = recordingScreen();
  const narrator = createBesideNarrator({ screen, timeLine: AT_1234_MS, names: NAME, render: () => [] });
  const told = { without: [], withIt: ["held"] };
  narrator.tell([], worlds, told);
  narrator.tell([], worlds, told);
  expect(printed).toEqual(["  1.2 s  with       held"]);
});

const calm = { moved: ["a/a", "b/b"], shutDown: [], untouched: [], remaining: [], lost: [] };
const naive = { ...calm, moved: [], lost: ["a/a", "b/b"] };

// prettier-ignore
test.each([
  ["all is well",             calm,                                           "With Lifeboat: VMs moved 2, VMs lost: 0"],
  ["one stays, one is lost",  { ...calm, remaining: ["c/c"], lost: ["d/d"] }, "With Lifeboat: VMs moved 2, VMs stayed 1, VMs lost: 1  (d/d)"],
])("the outcome: %s", (_, withIt, line) => {
  expect(renderOutcome({ without: naive, withIt }, PLAIN)).toEqual(["Without Lifeboat: VMs lost 2  (a/a, b/b)", line]);
});
