/** What counts as moved, shut down by strategy, and lost. */
import { describe, expect, test } from "vitest";
import { summarize } from "../../infra/demo/summary.ts";
import type { VirtualMachine, World } from "../../infra/demo/world.ts";
import { launcherOf, running, vm, world } from "./worlds.ts";

function fate(before: VirtualMachine, after: World): string | undefined {
  const summary = summarize(world({ vmis: [before] }), after, "node-1");
  return Object.entries(summary).find(([, keys]) => keys.length > 0)?.[0];
}

describe("what became of a virtual machine", () => {
  // prettier-ignore
  test.each([
    ["another node",                  vm(),                       vm({ nodeName: "node-2" }), "moved"    ],
    ["the drained node, as before",   vm(),                       vm(),                       "remaining"],
    ["a node that is not drained",    vm({ nodeName: "node-3" }), vm({ nodeName: "node-3" }), "untouched"],
  ])("it runs on %s", (_, before, now, expected) => expect(fate(before, running(now))).toBe(expected));

  const pinned = { pinnedBecause: "DisksNotLiveMigratable" };
  // prettier-ignore
  const stopped: readonly [string, Partial<VirtualMachine>, string][] = [
    // strategy                 can migrate?  guest ended
    ["None",                    {},           "shutDown"],
    ["None",                    pinned,       "shutDown"],
    ["LiveMigrateIfPossible",   {},           "lost"    ],
    ["LiveMigrateIfPossible",   pinned,       "shutDown"],
    ["LiveMigrate",             {},           "lost"    ],
    ["LiveMigrate",             pinned,       "lost"    ],
    ["External",                {},           "lost"    ],
    ["External",                pinned,       "lost"    ],
    ["Nonsense",                {},           "lost"    ],
  ];
  test.each(stopped)("its guest ended, strategy %s, %j: %s", (strategy, tweak, expected) => {
    const before = vm({ strategy, ...tweak });
    for (const phase of ["Succeeded", "Failed"])
      expect(fate(before, world({ vmis: [{ ...before, phase }] }))).toBe(expected);
  });

  test.each([
    ["External", "shutDown"],
    ["LiveMigrate", "lost"],
  ])("its VMI was deleted, strategy %s: %s", (strategy, expected) => {
    expect(fate(vm({ strategy }), world())).toBe(expected);
  });

  test.each([
    ["no launcher pod", []],
    ["its launcher pod has ended", [launcherOf(vm(), { phase: "Failed" })]],
    ["its launcher pod is on another node", [launcherOf(vm(), { nodeName: "node-2" })]],
    ["the launcher pod belongs to another VM", [launcherOf(vm(), { launcherOf: "other" })]],
  ])("the VMI claims to run, but %s: lost", (_, pods) => {
    expect(fate(vm(), world({ vmis: [vm()], pods }))).toBe("lost");
  });

  test("a VMI of the same name that was started anew is not the same guest", () => {
    expect(fate(vm(), running(vm({ uid: "another", nodeName: "node-2" })))).toBe("lost");
  });
});
