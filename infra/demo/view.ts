/**
 * How the drain looks: rows, nodes and the last words of the drain as lines of text.
 * Owns: layout, colours, widths. Pure: state in, lines out. Does not own: what is in the rows (story.ts), the terminal
 * (screen.ts).
 */
import { styleText } from "node:util";
import type { Mood, NodeLine, Row } from "./story.ts";
import type { Summary } from "./summary.ts";

export interface Frame {
  readonly rows: readonly Row[];
  readonly nodes: readonly NodeLine[];
  /** What the drain said last. */
  readonly drain: string;
}

export interface Look {
  readonly width: number;
  readonly colour: boolean;
}

type Style = Parameters<typeof styleText>[0];

const STYLE = {
  idle: "dim",
  waiting: "yellow",
  moving: "cyan",
  moved: "green",
  stopped: "magenta",
  lost: ["bold", "red"],
} as const satisfies Record<Mood, Style>;

const MARK = {
  idle: "·",
  waiting: "…",
  moving: "→",
  moved: "✓",
  stopped: "■",
  lost: "✗",
} as const satisfies Record<Mood, string>;

const HEADINGS = ["VM", "STRATEGY", "MIGRATABLE", "DECISION", "NOW"] as const;

export function renderFrame(frame: Frame, look: Look): readonly string[] {
  const paint = painter(look);
  return [
    ...table(frame.rows, look),
    "",
    ...frame.nodes.map((node) => cut(nodeLine(node), look.width)),
    "",
    paint("dim", cut(frame.drain, look.width)),
  ];
}

function table(rows: readonly Row[], look: Look): readonly string[] {
  const paint = painter(look);
  const cells = rows.map((row) => [row.vm, row.strategy, row.migratable ? "yes" : "no", row.decision, row.now]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...cells.map((line) => line[column]!.length)),
  );
  const format = (line: readonly string[]) => line.map((cell, column) => cell.padEnd(widths[column]!)).join("  ");
  return [
    paint("bold", cut(`  ${format(HEADINGS)}`, look.width)),
    ...rows.map((row, index) => paint(STYLE[row.mood], cut(`${MARK[row.mood]} ${format(cells[index]!)}`, look.width))),
  ];
}

function nodeLine(node: NodeLine): string {
  const vms = "▣ ".repeat(node.vms).trimEnd();
  const pods = "▫ ".repeat(node.pods).trimEnd();
  return [`  ${node.name}${node.cordoned ? " cordoned" : ""}`.padEnd(20), vms, pods].filter(Boolean).join("  ");
}

function cut(line: string, width: number): string {
  const trimmed = line.trimEnd();
  return trimmed.length <= width ? trimmed : `${trimmed.slice(0, width - 1)}…`;
}

/** What changed between two frames, for where there is no terminal to redraw. */
export function renderChanges(previous: readonly Row[], rows: readonly Row[]): readonly string[] {
  const before = new Map(previous.map((row) => [row.vm, row]));
  return rows.flatMap((row) => {
    const old = before.get(row.vm);
    const changed = old === undefined || old.decision !== row.decision || old.now !== row.now;
    return changed ? [`${MARK[row.mood]} ${[row.vm, describe(row), row.now].filter(Boolean).join("  ")}`] : [];
  });
}

function describe(row: Row): string {
  const kind = `${row.strategy}, ${row.migratable ? "migratable" : "not migratable"}`;
  return row.decision === "" ? `(${kind})` : `(${kind}: ${row.decision})`;
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
  return keys.length === 0 ? `${label}: 0` : `${label}: ${keys.length}  (${keys.join(", ")})`;
}

function painter(look: Look): (style: Style, text: string) => string {
  return (style, text) => (look.colour ? styleText(style, text, { validateStream: false }) : text);
}
