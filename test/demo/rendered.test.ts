/** What a person sees of every story: rendered.txt shows it all. */
import { expect, test } from "vitest";
import { createBesideNarrator } from "../../infra/demo/beside-narrator.ts";
import { NAME, renderBeside, renderBesideChanges, renderOutcome } from "../../infra/demo/beside-view.ts";
import type { BesideRow } from "../../infra/demo/beside.ts";
import { describeCycle } from "../../infra/demo/descheduler-cycle.ts";
import type { Figures } from "../../infra/demo/descheduler-figures.ts";
import { renderDescheduling, renderJudgement } from "../../infra/demo/descheduler-view.ts";
import { renderEvacuations } from "../../infra/demo/evacuations-view.ts";
import type { Look } from "../../infra/demo/look.ts";
import { createNarrator } from "../../infra/demo/narrator.ts";
import type { Row } from "../../infra/demo/rows.ts";
import { renderChanges, renderFrame, renderSummary } from "../../infra/demo/view.ts";
import type { VirtualMachine, World } from "../../infra/demo/world.ts";
import type { Evacuation } from "../../infra/tools/evacuations.ts";
import { AT_1234_MS, expectToFit, PLAIN, recordingScreen } from "./screens.ts";
import { launcherOf, node, vm, world } from "./worlds.ts";

// prettier-ignore
const db: Row = { vm: "shop/db", strategy: "LiveMigrate", migratable: false, decision: "refuse: DisksNotLiveMigratable", now: "stays, running", mood: "idle" };
// prettier-ignore
const web: Row = { vm: "shop/web", strategy: "LiveMigrateIfPossible", migratable: true, decision: "evacuate", now: "node-1 → node-2", phase: "Running", mood: "moving" };
const drainRows = [db, web];
const drainNodes = [
  { name: "node-1", cordoned: true, troubles: [], vms: 2, leaving: 0, pods: 1 },
  { name: "node-2", cordoned: false, troubles: [], vms: 0, leaving: 0, pods: 0 },
];
const drain = { seconds: 7.9, rows: drainRows, nodes: drainNodes, drain: "evicting pod shop/virt-launcher-web-abcde" };
const summary = { moved: ["a/a", "b/b"], shutDown: [], untouched: ["c/c"], remaining: [], lost: [] };

const rows: readonly BesideRow[] = [
  {
    name: "shop/db",
    without: { now: "LOST", mood: "lost" },
    withIt: { now: "node-1 → node-2", phase: "Running", mood: "moving" },
  },
  { name: "shop/job", without: { now: "on node-2", mood: "idle" }, withIt: { now: "", mood: "idle" } },
];
const worlds = {
  without: world({ nodes: [node("node-1")] }),
  withIt: world({ nodes: [node("node-1", { troubles: ["MemoryPressure"] })] }),
};
const beside = { seconds: 3.7, rows, worlds, said: { without: "Preempted", withIt: "held" } };
const naive = { ...summary, moved: [], lost: ["a/a", "b/b"] };

function inhabited(...vms: readonly Partial<VirtualMachine>[]): World {
  const vmis = vms.map((tweak, index) => vm({ uid: `uid-${index}`, ...tweak }));
  const ordinary = { key: "shop/web-1", nodeName: "node-1", phase: "Running", deleting: false };
  const pods = [...vmis.map((vmi) => launcherOf(vmi)), ordinary];
  return world({ vmis, pods, nodes: [node("node-1"), node("node-2")] });
}

const calm: Figures = { balanced: true, cycles: 4, requested: 5, most: 2, migrations: 3, lost: 0 };
const storm: Figures = { balanced: false, cycles: 6, requested: 40, most: 3, migrations: 9, lost: 0 };
const figures = { without: storm, withIt: calm };
const descheduling = {
  seconds: 7.9,
  figures,
  worlds: {
    without: inhabited({ marked: true }, { marked: true }, { marked: true }),
    withIt: inhabited({}, { marked: true }, { nodeName: "node-2" }),
  },
  said: { without: "cycle 6: requested 3 (Refused 3)", withIt: "cycle 4: nothing to do" },
};

function evacuation(namespace: string, name: string, status?: Evacuation["status"]): Evacuation {
  const metadata = { namespace, name: `${name}-1`, uid: name, resourceVersion: "1", creationTimestamp: "" };
  return {
    metadata,
    spec: { virtualMachineInstance: { name }, cause: "ApiEviction" },
    ...(status && { status }),
  };
}
const moved = { sourceNode: "node-1", targetNode: "node-2", phase: "Moved", attempts: 1 };
const evacuations = [evacuation("shop", "web"), evacuation("batch", "render", moved)];

/** Drawn over and over, as wide as the terminal. */
const FRAMES: Readonly<Record<string, (look: Look) => readonly string[]>> = {
  "drain, each VM, each node and the last words": (look) => renderFrame(drain, look),
  "two clusters beside each other": (look) => renderBeside(beside, look),
  "descheduling, nodes and figures": (look) => renderDescheduling(descheduling, look),
  "evacuations, by namespace and VM": (look) => renderEvacuations(evacuations, look).slice(1),
};

const REFUSAL = 'error when evicting pods/"p" -n "n" (will retry after 5s): no';

/** All is told twice, and said once. */
function drainLog(live: boolean): readonly string[] {
  const { printed, drawn, screen } = recordingScreen({ live });
  const narrator = createNarrator(screen, AT_1234_MS);
  for (const _ of ["told", "again"]) {
    narrator.heard(REFUSAL);
    narrator.heard("evicting pod n/p");
    narrator.tell([web], []);
  }
  if (!live) narrator.note("now");
  return [...printed, ...drawn];
}

function besideLog(): readonly string[] {
  const { printed, screen } = recordingScreen();
  const narrator = createBesideNarrator({ screen, timeLine: AT_1234_MS, names: NAME, render: () => [] });
  for (const _ of ["told", "again"]) narrator.tell([], worlds, { without: [], withIt: ["held"] });
  return printed;
}

const MANY = ["Background", "Evicted", "Background"].map((outcome) => ({ outcome }));
const WHY = ["InProgress", "evacuationsPerNode", "evacuationsPerNode"].map((why) => ({ why }));
const cycle = { evacuationsInProgress: 1, nominated: 1, requested: [], skipped: [] };
const changed: readonly Row[] = [db, { ...web, now: "on node-2", phase: "", mood: "moved" }];
const someLost = { ...summary, remaining: ["d/d"], lost: ["e/e"] };

const SHOWN: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(FRAMES).map(([what, render]) => [what, render(PLAIN)])),
  "drain, narrow: the decision is cut, not the place": renderFrame(drain, { ...PLAIN, width: 72 }).slice(0, 3),
  "drain, a log: every VM first": renderChanges([], drainRows),
  "drain, a log: then what changed": renderChanges(drainRows, changed),
  "drain, a log: nothing changed": renderChanges(drainRows, drainRows),
  "drain, as told in a log": drainLog(false),
  "drain, as told on a terminal": drainLog(true),
  "drain, all is well": renderSummary(summary, PLAIN),
  "drain, one stays and one is lost": renderSummary(someLost, PLAIN),
  "two clusters, a log: every VM first": renderBesideChanges([], rows, NAME),
  "two clusters, a log: nothing changed": renderBesideChanges(rows, rows, NAME),
  "two clusters, as told in a log": besideLog(),
  "two clusters, all is well": renderOutcome({ without: naive, withIt: summary }, PLAIN),
  "two clusters, one stays and one is lost": renderOutcome({ without: naive, withIt: someLost }, PLAIN),
  "descheduling, the outcome": renderJudgement(figures, true, PLAIN),
  "descheduling, well and not, in colour": [true, false].map((well) =>
    JSON.stringify(renderJudgement(figures, well, { ...PLAIN, colour: true }).at(-1)),
  ),
  "descheduling, a cycle": [
    { ...cycle, requested: MANY, skipped: WHY },
    { ...cycle, skipped: WHY },
    { ...cycle, requested: MANY },
    { ...cycle, nominated: 0 },
  ].map(describeCycle),
};

test("all that is shown", async () => {
  const parts = Object.entries(SHOWN).map(([what, lines]) => [
    `## ${what}`,
    ...lines.map((line) => line.trimEnd()),
    "",
  ]);
  await expect(parts.flat().join("\n")).toMatchFileSnapshot("rendered.txt");
});

test.each(Object.entries(FRAMES))("as wide as the terminal: %s", (_, render) => expectToFit(render));
