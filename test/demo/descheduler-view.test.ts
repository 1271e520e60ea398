/** The descheduler's story as a person sees it. */
import { expect, test } from "vitest";
import type { Figures } from "../../infra/demo/descheduler-figures.ts";
import { renderDescheduling, renderJudgement } from "../../infra/demo/descheduler-view.ts";
import type { VirtualMachine, World } from "../../infra/demo/world.ts";
import { expectToFit, PLAIN } from "./screens.ts";
import { launcherOf, node, vm, world } from "./worlds.ts";

const WEB = { key: "shop/web-1", nodeName: "node-1", phase: "Running", deleting: false };

function inhabited(...vms: readonly Partial<VirtualMachine>[]): World {
  const vmis = vms.map((tweak, index) => vm({ uid: `uid-${index}`, ...tweak }));
  const pods = [...vmis.map((vmi) => launcherOf(vmi)), WEB];
  return world({ vmis, pods, nodes: [node("node-1"), node("node-2")] });
}

const calm: Figures = { balanced: true, cycles: 4, requested: 5, most: 2, migrations: 3, lost: 0 };
const storm: Figures = { balanced: false, cycles: 6, requested: 40, most: 3, migrations: 9, lost: 0 };
const figures = { without: storm, withIt: calm };
const frame = {
  seconds: 7.9,
  figures,
  worlds: {
    without: inhabited({ marked: true }, { marked: true }, { marked: true }),
    withIt: inhabited({}, { marked: true }, { nodeName: "node-2" }),
  },
  said: { without: "cycle 6: requested 3 (Refused 3)", withIt: "cycle 4: nothing to do" },
};

test("a frame shows the nodes and the figures of both clusters, and the last cycle of each", () => {
  expect(renderDescheduling(frame, PLAIN)).toEqual([
    "                                  GATE ON           GATE OFF",
    "  node-1                          ▣▨▫               ▨▨▨▫",
    "  node-2                          ▣",
    "                                  ▣ virtual machine  ▨ asked to leave  ▫ other pod",
    "  balanced                        yes               no",
    "  cycles                          4                 6",
    "  evictions asked for             5                 40",
    "  VMs leaving at once (limit 2)   2                 3",
    "  migrations                      3                 9",
    "  VMs lost                        0                 0",
    "",
    "7 s",
    "gate on   cycle 4: nothing to do",
    "gate off  cycle 6: requested 3 (Refused 3)",
  ]);
  expectToFit((look) => renderDescheduling(frame, look));
});

test("the last lines say what became of both", () => {
  expect(renderJudgement(figures, true, PLAIN)).toEqual([
    "Gate off: not balanced, VMs leaving at once 3 (limit 2), migrations 9, VMs lost: 0",
    "Gate on: balanced, VMs leaving at once 2 (limit 2), migrations 3, VMs lost: 0",
  ]);
});

test.each([
  [true, "\u001B[32m"],
  [false, "\u001B[31m"],
])("well: %s, and its colour says so", (isWell, colour) => {
  expect(renderJudgement(figures, isWell, { ...PLAIN, colour: true }).at(-1)).toContain(colour);
});
