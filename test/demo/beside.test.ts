/** What one disruption does to two clusters. */
import { describe, expect, test } from "vitest";
import { besideRows, isAtRest, noteworthy, troublesOf, vmsOn, type BesideRow } from "../../infra/demo/beside.ts";
import type { PodView, World } from "../../infra/demo/world.ts";
import { migration, node, running, vm, world } from "./worlds.ts";

const CAST = { node: "node-1", pods: ["shop/job"] };

function pair(without: World, withIt = without) {
  return { without, withIt };
}

function job(tweak: Partial<PodView> = {}): PodView {
  return { key: "shop/job", phase: "Running", deleting: false, nodeName: "node-1", ...tweak };
}

describe("rows", () => {
  test("the VMs of the node, by name, then the pods worth watching", () => {
    const before = running(
      vm({ key: "b/b", uid: "b" }),
      vm({ key: "a/a", uid: "a" }),
      vm({ key: "c/c", uid: "c", nodeName: "node-2" }),
    );
    expect(besideRows(pair(before), pair(before), CAST).map(({ name }) => name)).toEqual(["a/a", "b/b", "shop/job"]);
  });

  test("the same VM has another UID in the other cluster", () => {
    const [here, there] = [vm(), vm({ uid: "other" })];
    const before = pair(running(here), running(there));
    const now = pair(world({ vmis: [{ ...here, phase: "Failed" }] }), running({ ...there, nodeName: "node-3" }));
    expect(besideRows(before, now, CAST)[0]).toEqual({
      name: "shop/web",
      without: { now: "LOST", mood: "lost" },
      withIt: { now: "on node-3", mood: "moved" },
    });
  });

  const { nodeName: _, ...unscheduled } = job({ phase: "Pending" });
  // prettier-ignore
  const pods: readonly [string, readonly PodView[], readonly PodView[], object][] = [
    ["not there yet",       [],      [],                       { now: "",                  mood: "idle"    }],
    ["waits for a place",   [],      [unscheduled],            { now: "waits for a place", mood: "waiting" }],
    ["has got one",         [],      [job()],                  { now: "on node-1",         mood: "moved"   }],
    ["was there before",    [job()], [job()],                  { now: "on node-1",         mood: "idle"    }],
    ["is being ended",      [job()], [job({ deleting: true })],{ now: "ending",            mood: "stopped" }],
    ["is gone",             [job()], [],                       { now: "gone",              mood: "stopped" }],
  ];
  test.each(pods)("a pod that %s", (_name, before, now, place) => {
    expect(besideRows(pair(world({ pods: before })), pair(world({ pods: now })), CAST)).toEqual([
      { name: "shop/job", without: place, withIt: place },
    ]);
  });
});

function rowsWith(withIt: BesideRow["withIt"]): readonly BesideRow[] {
  return [{ name: "a/a", without: { now: "LOST", mood: "lost" }, withIt }];
}

describe("nothing is in progress", () => {
  const calm = { now: "on node-2", mood: "moved" } as const;
  test("all has moved, or is lost", () => expect(isAtRest(rowsWith(calm))).toBe(true));
  test.each([
    { now: "waits for its turn", mood: "waiting" },
    { now: "node-1 → node-2", mood: "moving" },
    { now: "shutting down", mood: "stopped" },
    { now: "ending", mood: "stopped" },
  ] as const)("not while one of them is: $now", (place) => expect(isAtRest(rowsWith(place))).toBe(false));
});

test("what was told before the story is no news, and not all that is told is worth repeating", () => {
  const before = world({ told: ["DisruptionHeld"] });
  const now = world({ told: ["DisruptionHeld", "Scheduled", "Preempted"], migrations: [migration()] });
  expect(noteworthy(before, now)).toEqual(["Preempted of uid-web"]);
});

test("VMs that run on a node, and what troubles it", () => {
  const now = {
    ...running(vm(), vm({ uid: "b", nodeName: "node-2" }), vm({ uid: "c", phase: "Failed" })),
    nodes: world({ nodes: [node("node-1", { troubles: ["MemoryPressure"] })] }).nodes,
  };
  expect(vmsOn("node-1", now)).toBe(1);
  expect(troublesOf("node-1", now)).toEqual(["MemoryPressure"]);
  expect(troublesOf("node-9", now)).toEqual([]);
});
