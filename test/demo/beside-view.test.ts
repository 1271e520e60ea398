import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { BesideRow } from "../../infra/demo/beside.ts";
import { createBesideNarrator } from "../../infra/demo/beside-narrator.ts";
import { NAME, renderBeside, renderBesideChanges, renderOutcome } from "../../infra/demo/beside-view.ts";
import { world } from "./worlds.ts";

const rows: readonly BesideRow[] = [
  {
    name: "shop/db",
    without: { now: "LOST", mood: "lost" },
    withIt: { now: "node-1 → node-2", phase: "Running", mood: "moving" },
  },
  { name: "shop/job", without: { now: "on node-2", mood: "idle" }, withIt: { now: "", mood: "idle" } },
];
const node = { name: "node-1", cordoned: false, troubles: ["MemoryPressure"] };
const worlds = {
  without: { ...world(), nodes: new Map([["1", { ...node, troubles: [] }]]) },
  withIt: { ...world(), nodes: new Map([["1", node]]) },
};
const frame = { seconds: 3.7, rows, worlds, said: { without: "Preempted", withIt: "held" } };

describe("a frame", () => {
  test("shows both clusters side by side, and what was said last in each", () => {
    expect(renderBeside(frame, { width: 100, colour: false }).map((line) => line.trimEnd())).toEqual([
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
  });

  test.each([30, 60, 100])("no line is wider than a terminal of %i columns", (width) => {
    for (const line of renderBeside(frame, { width, colour: true }))
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(width);
  });

  test("colour only adds colour", () => {
    const plain = renderBeside(frame, { width: 100, colour: false });
    expect(renderBeside(frame, { width: 100, colour: true }).map(stripVTControlCharacters)).toEqual(plain);
  });
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
  const printed: string[] = [];
  const screen = {
    live: false,
    width: 100,
    colour: false,
    print: (...lines: readonly string[]) => void printed.push(...lines),
    draw: () => undefined,
    keep: () => undefined,
  };
  const narrator = createBesideNarrator({ screen, elapsedMs: () => 1234, names: NAME, render: () => [] });
  const told = { without: [], withIt: ["held"] };
  narrator.tell([], worlds, told);
  narrator.tell([], worlds, told);
  expect(printed).toEqual(["  1.2 s  with       held"]);
});

describe("the outcome", () => {
  const calm = { moved: ["a/a", "b/b"], shutDown: [], untouched: [], remaining: [], lost: [] };
  const naive = { ...calm, moved: [], lost: ["a/a", "b/b"] };
  const look = { width: 100, colour: false };

  test("two lines", () => {
    expect(renderOutcome({ without: naive, withIt: calm }, look)).toEqual([
      "Without Lifeboat: VMs lost 2  (a/a, b/b)",
      "With Lifeboat: VMs moved 2, VMs lost: 0",
    ]);
  });

  test("says who stayed, and who is lost all the same", () => {
    const bad = { ...calm, remaining: ["c/c"], lost: ["d/d"] };
    expect(renderOutcome({ without: naive, withIt: bad }, look).at(-1)).toBe(
      "With Lifeboat: VMs moved 2, VMs stayed 1, VMs lost: 1  (d/d)",
    );
  });
});
