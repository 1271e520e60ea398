/** What one disruption does to two clusters. */
import { describe, expect, test } from "vitest";
import { besideRows, isAtRest, noteworthy, type BesideRow } from "../../infra/demo/beside.ts";
import type { PodView, World } from "../../infra/demo/world.ts";
import { migration, running, vm, world } from "./worlds.ts";

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

test.each<[BesideRow["withIt"], boolean]>([
  [{ now: "on node-2", mood: "moved" }, true],
  [{ now: "waits for its turn", mood: "waiting" }, false],
  [{ now: "node-1 → node-2", mood: "moving" }, false],
  [{ now: "shutting down", mood: "stopped" }, false],
  [{ now: "ending", mood: "stopped" }, false],
])("%j: at rest: %s", (withIt, atRest) => {
  expect(isAtRest([{ name: "a/a", without: { now: "LOST", mood: "lost" }, withIt }])).toBe(atRest);
});

test("what was told before the story is no news, and not all that is told is worth repeating", () => {
  const before = world({ told: ["DeletionRefused"] });
  const now = world({ told: ["DeletionRefused", "Scheduled", "Preempted"], migrations: [migration()] });
  expect(noteworthy(before, now)).toEqual(["Preempted of uid-web"]);
});
