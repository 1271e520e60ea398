/** Figures of a descheduled cluster, and where its VMs are. */
import { describe, expect, test } from "vitest";
import { isAtRest } from "../../infra/demo/descheduler-cycle.ts";
import { figuresOf, isAsItShouldBe, journeyRows, type Course } from "../../infra/demo/descheduler-figures.ts";
import type { VirtualMachine, World } from "../../infra/demo/world.ts";
import { migration, node, running, vm, world } from "./worlds.ts";

function course(now: World, tweak: Partial<Course> = {}): Course {
  return { before: running(vm()), world: now, cycles: [], most: 0, ...tweak };
}

/** That many VMs on node-1, with its node. */
function crowd(count: number, tweak: Partial<VirtualMachine> = {}): World {
  const vmis = Array.from({ length: count }, (_, index) => vm({ key: `shop/${index}`, uid: `uid-${index}`, ...tweak }));
  return { ...running(...vmis), nodes: world({ nodes: [node("node-1")] }).nodes };
}

describe("the figures of a cluster", () => {
  test("evictions of all cycles, migrations, the most that was seen", () => {
    const cycle = { evacuationsInProgress: 0, nominated: 2, skipped: [], requested: [{ outcome: "Refused" }] };
    const now = { ...running(vm()), migrations: world({ migrations: [migration(), migration()] }).migrations };
    expect(figuresOf(course(now, { cycles: [cycle, cycle, cycle], most: 4 }))).toEqual({
      balanced: true,
      cycles: 3,
      requested: 3,
      most: 4,
      migrations: 2,
      lost: 0,
    });
  });

  test("a VM that was started anew is lost", () => {
    expect(figuresOf(course(running(vm({ uid: "another" })))).lost).toBe(1);
  });

  // prettier-ignore
  test.each([
    // 12Gi, of which 45% is the target; a VM has 1Gi.
    ["5 VMs",                          crowd(5),                   true ],
    ["6 VMs",                          crowd(6),                   false],
    ["5 VMs, asked to leave",          crowd(5, { marked: true }), false],
  ])("balanced, with %s on a node: %s", (_, now, balanced) => expect(figuresOf(course(now)).balanced).toBe(balanced));

  test("an ordinary pod takes room, too", () => {
    const pod = { key: "shop/web", nodeName: "node-1", phase: "Running", deleting: false };
    const full = crowd(5);
    const now = { ...full, pods: new Map([...full.pods, ["web", pod]]) };
    expect(figuresOf(course(now)).balanced).toBe(false);
  });
});

// prettier-ignore
test.each([
  // balanced, most, lost
  [true,       2,    0,    true ],
  [true,       1,    0,    true ],
  [false,      2,    0,    false],
  [true,       3,    0,    false],
  [true,       2,    1,    false],
])("balanced %s, at most %i leaving at once, %i lost: as it should be: %s", (balanced, most, lost, expected) => {
  expect(isAsItShouldBe({ balanced, most, lost, cycles: 4, requested: 5, migrations: 3 })).toBe(expected);
});

test.each([
  [0, 0, true],
  [1, 0, false],
  [0, 1, false],
])("%i nominated, %i evacuations in progress: at rest: %s", (nominated, evacuationsInProgress, atRest) => {
  expect(isAtRest({ nominated, evacuationsInProgress, requested: [], skipped: [] })).toBe(atRest);
});

describe("where a VM is", () => {
  const moved = { vmis: [vm({ nodeName: "node-2" })], migrations: [migration()] };
  // prettier-ignore
  const places: readonly [string, World, object][] = [
    ["never sent",    running(vm()),                                                                { now: "",                   mood: "idle"    }],
    ["asked",         running(vm({ marked: true })),                                                { now: "is to leave node-1", mood: "waiting" }],
    ["sent",          world(moved),     { now: "on node-2",          mood: "moved"   }],
    ["sent and back", world({ vmis: [vm()], migrations: [migration()] }),                           { now: "on node-1",          mood: "moved"   }],
    ["asked again",   world({ vmis: [vm({ nodeName: "node-2", marked: true })], migrations: [migration()] }), { now: "is to leave node-2", mood: "waiting" }],
    ["dead",          world({ vmis: [vm({ phase: "Failed" })] }),                                   { now: "LOST",               mood: "lost"    }],
    ["gone",          world(),                                                                      { now: "LOST",               mood: "lost"    }],
  ];
  test.each(places)("%s", (_, now, place) => {
    const calm = course(running(vm()));
    expect(journeyRows({ without: calm, withIt: course(now) })).toEqual([
      { name: "shop/web", without: { now: "", mood: "idle" }, withIt: place },
    ]);
  });
});
