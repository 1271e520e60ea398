/** How a descheduled cluster looks with the gate on and with it off: nodes, figures, the last cycle of each. */
import { EVACUATIONS_PER_NODE } from "./descheduler-scene.ts";
import type { Figures } from "./descheduler-figures.ts";
import { cut, painter, type Look } from "./look.ts";
import { nodeLines, type NodeLine } from "./rows.ts";
import type { Pair } from "./stage.ts";
import type { World } from "../stage/world.ts";

/** What each cluster is called in a log; of the same length. */
export const NAME: Pair<string> = { without: "gate off", withIt: "gate on " };

export interface DeschedulerFrame {
  readonly seconds: number;
  readonly worlds: Pair<World>;
  readonly figures: Pair<Figures>;
  /** The last cycle of each. */
  readonly said: Pair<string>;
}

export function renderDescheduling({ seconds, worlds, figures, said }: DeschedulerFrame, look: Look) {
  const paint = painter(look);
  return [
    ...renderBalance(worlds, figures, look),
    "",
    paint("dim", cut(`${Math.floor(seconds)} s`, look.width)),
    paint("dim", cut(`${NAME.withIt}  ${said.withIt}`, look.width)),
    paint("dim", cut(`${NAME.without}  ${said.without}`, look.width)),
  ];
}

/** Where everything is, and what it took. */
export function renderBalance(worlds: Pair<World>, figures: Pair<Figures>, look: Look): readonly string[] {
  const paint = painter(look);
  return [
    paint("bold", line(["", "GATE ON", "GATE OFF"], look)),
    ...nodesBeside(worlds).map((cells) => line(cells, look)),
    paint("dim", line(["", "▣ virtual machine  ▨ asked to leave  ▫ other pod", ""], look)),
    ...figuresBeside(figures).map((cells) => line(cells, look)),
  ];
}

type Cells = readonly [label: string, on: string, off: string];

const LABEL_WIDTH = 32;
/** A node that has everything. */
const CELL_WIDTH = 18;

function line([label, on, off]: Cells, { width }: Look): string {
  return cut(`  ${label.padEnd(LABEL_WIDTH)}${on.padEnd(CELL_WIDTH)}${off}`, width);
}

function nodesBeside({ without, withIt }: Pair<World>): readonly Cells[] {
  const off = nodeLines(without).map(bar);
  return nodeLines(withIt).map((node, index) => [node.name, bar(node), off[index] ?? ""]);
}

function bar({ vms, leaving, pods }: NodeLine): string {
  return "▣".repeat(vms - leaving) + "▨".repeat(leaving) + "▫".repeat(pods);
}

const ROWS: readonly (readonly [label: string, of: (figures: Figures) => number | string])[] = [
  ["balanced", ({ balanced }) => (balanced ? "yes" : "no")],
  ["cycles", ({ cycles }) => cycles],
  ["evictions asked for", ({ requested }) => requested],
  [`VMs leaving at once (limit ${EVACUATIONS_PER_NODE})`, ({ most }) => most],
  ["migrations", ({ migrations }) => migrations],
  ["VMs lost", ({ lost }) => lost],
];

function figuresBeside({ without, withIt }: Pair<Figures>): readonly Cells[] {
  return ROWS.map(([label, of]) => [label, String(of(withIt)), String(of(without))]);
}

/** What became of both; `isWell`: with the gate on it is as it should be. */
export function renderJudgement({ without, withIt }: Pair<Figures>, isWell: boolean, look: Look): readonly string[] {
  const paint = painter(look);
  return [
    paint("dim", `Gate off: ${sentence(without)}`),
    paint(["bold", isWell ? "green" : "red"], `Gate on: ${sentence(withIt)}`),
  ];
}

function sentence({ balanced, most, migrations, lost }: Figures): string {
  const limit = `limit ${EVACUATIONS_PER_NODE}`;
  return `${balanced ? "" : "not "}balanced, VMs leaving at once ${most} (${limit}), migrations ${migrations}, VMs lost: ${lost}`;
}
