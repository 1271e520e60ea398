/** How the drain looks: rows, nodes and the last words of the drain as lines of text. */
import { cut, MARK, painter, STYLE, type Look } from "./look.ts";
import type { NodeLine, Row } from "./rows.ts";
import type { Summary } from "./summary.ts";

export interface Frame {
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly nodes: readonly NodeLine[];
  /** What the drain said last. */
  readonly drain: string;
}

interface Column {
  readonly heading: string;
  readonly cell: (row: Row) => string;
}

const VM: Column = { heading: "VM", cell: (row) => row.vm };
const STRATEGY: Column = { heading: "STRATEGY", cell: (row) => row.strategy };
const MIGRATABLE: Column = { heading: "MIGRATABLE", cell: (row) => (row.migratable ? "yes" : "no") };
const DECISION: Column = { heading: "DECISION", cell: (row) => row.decision };
const NOW: Column = { heading: "NOW", cell: (row) => [row.now, row.phase].filter(Boolean).join("  ") };

const LEGEND = "".padEnd(22) + "▣ virtual machine  ▫ other pod";

export function renderFrame(frame: Frame, look: Look): readonly string[] {
  const paint = painter(look);
  return [
    ...table(frame.rows, look),
    "",
    ...frame.nodes.map((node) => cut(nodeLine(node), look.width)),
    paint("dim", cut(LEGEND, look.width)),
    "",
    paint("dim", cut(`${Math.floor(frame.seconds)} s  ${frame.drain}`, look.width)),
  ];
}

function table(rows: readonly Row[], look: Look): readonly string[] {
  const paint = painter(look);
  const columns = fit([VM, STRATEGY, MIGRATABLE, DECISION, NOW], rows, look.width - 2);
  const line = (cells: (column: Column) => string) =>
    columns.map(([column, width]) => cut(cells(column), width).padEnd(width)).join("  ");
  return [
    paint("bold", cut(`  ${line(({ heading }) => heading)}`, look.width)),
    ...rows.map((row) => paint(STYLE[row.mood], cut(`${MARK[row.mood]} ${line(({ cell }) => cell(row))}`, look.width))),
  ];
}

/** Each column with its width. Where the room is short, MIGRATABLE goes, then DECISION is cut: NOW is what matters. */
function fit(columns: readonly Column[], rows: readonly Row[], room: number): readonly (readonly [Column, number])[] {
  const widths = new Map(columns.map((column) => [column, widthOf(column, rows)]));
  const excess = () => [...widths.values()].reduce((sum, width) => sum + width + 2, -2) - room;
  if (excess() > 0) widths.delete(MIGRATABLE);
  if (excess() > 0) widths.set(DECISION, Math.max(DECISION.heading.length, widthOf(DECISION, rows) - excess()));
  return [...widths];
}

function widthOf({ heading, cell }: Column, rows: readonly Row[]): number {
  return Math.max(heading.length, ...rows.map((row) => cell(row).length));
}

function nodeLine(node: NodeLine): string {
  const vms = "▣ ".repeat(node.vms).trimEnd();
  const pods = "▫ ".repeat(node.pods).trimEnd();
  return [`  ${node.name}${node.cordoned ? " cordoned" : ""}`.padEnd(20), vms, pods].filter(Boolean).join("  ");
}

/** What changed between two frames, for where there is no terminal to redraw. */
export function renderChanges(previous: readonly Row[], rows: readonly Row[]): readonly string[] {
  const before = new Map(previous.map((row) => [row.vm, row]));
  return rows.flatMap((row) => {
    const old = before.get(row.vm);
    const why = old?.decision === row.decision ? [] : [describe(row)];
    const changed = why.length > 0 || old?.now !== row.now;
    return changed ? [[`${MARK[row.mood]} ${row.vm}`, ...why, row.now].join("  ")] : [];
  });
}

function describe({ strategy, migratable, decision }: Row): string {
  return [`${strategy}, ${migratable ? "" : "not "}migratable`, decision].filter(Boolean).join(": ");
}

export function renderSummary(summary: Summary, look: Look): readonly string[] {
  const paint = painter(look);
  return [
    countLine("VMs moved", summary.moved),
    countLine("VMs shut down by their strategy", summary.shutDown),
    ...(summary.remaining.length > 0 ? [countLine("VMs still on the node", summary.remaining)] : []),
    countLine("VMs on other nodes, untouched", summary.untouched),
    paint(summary.lost.length === 0 ? ["bold", "green"] : ["bold", "red"], countLine("VMs lost", summary.lost)),
  ].map((line) => (look.colour ? line : cut(line, look.width)));
}

/** Names are given where the reader wants to know which. */
function countLine(label: string, keys: readonly string[]): string {
  return `${label}: ${keys.length}${named(keys)}`;
}

function named(keys: readonly string[]): string {
  return keys.length === 0 ? "" : `  (${keys.join(", ")})`;
}

/** What the same disruption cost without it. */
export function renderLost(lost: readonly string[], look: Look, about = "Lifeboat"): string {
  const line = `Without ${about}: VMs lost ${lost.length}${named(lost)}`;
  return painter(look)(lost.length === 0 ? "dim" : ["bold", "red"], look.colour ? line : cut(line, look.width));
}
