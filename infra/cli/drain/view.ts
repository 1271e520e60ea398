/** How a drain looks: on a terminal a line with a bar for each VM, drawn over again; elsewhere a line for each change. */
import { durationText } from "../../../shared/policy/duration-text.ts";
import { type Paint, plain } from "../print.ts";
import type { Mood, Row } from "../../../shared/policy/progress/stage.ts";

export interface ViewedRow extends Row {
  /** For how long it has been so. */
  readonly seconds: number;
}

export interface Frame {
  readonly node: string;
  readonly rows: readonly ViewedRow[];
  readonly timeLeft?: string | undefined;
}

const BAR = 12;
const NAME_LIMIT = 40;

const STYLE = { waiting: "dim", moving: "bold", blocked: "red", gone: "green" } as const satisfies Record<
  Mood,
  Parameters<Paint>[1]
>;

/** Those that are gone come last: they are what a small terminal cuts off. Ordinary pods are counted, unless they block. */
export function frameLines(frame: Frame, width: number, paint: Paint): readonly string[] {
  const shown = frame.rows.filter(({ isVm, mood }) => isVm || mood === "blocked");
  const order = shown.toSorted(
    (a, b) => Number(a.mood === "gone") - Number(b.mood === "gone") || (a.key < b.key ? -1 : 1),
  );
  const names = Math.min(NAME_LIMIT, Math.max(0, ...order.map((row) => nameOf(row).length)));
  return [
    paint(cut(headline(frame), width), "bold"),
    ...order.map((row) => paint(cut(rowLine(row, names), width), STYLE[row.mood])),
  ];
}

export function headline({ node, rows, timeLeft }: Frame): string {
  return [`${node}: ${progressText(rows)}`, ...(timeLeft === undefined ? [] : [timeLeft])].join(" · ");
}

export function progressText(rows: readonly Row[]): string {
  const vms = rows.filter(({ isVm }) => isVm);
  const pods = rows.filter(({ isVm }) => !isVm);
  const texts = [
    ...(vms.length > 0 ? [`${countText(vms)} VMs gone`] : []),
    ...(pods.length > 0 ? [`${countText(pods)} other pods gone`] : []),
  ];
  return texts.join(", ") || "nothing is to leave";
}

function countText(rows: readonly Row[]): string {
  return `${rows.filter(({ mood }) => mood === "gone").length} of ${rows.length}`;
}

function nameOf({ key }: Row): string {
  return key.replace(/^VM /, "");
}

function rowLine(row: ViewedRow, names: number): string {
  const { stage, words, seconds, mood } = row;
  const full = Math.round(stage * BAR);
  const bar = "█".repeat(full) + "░".repeat(BAR - full);
  const name = cut(nameOf(row), names).padEnd(names);
  return `  ${bar}  ${name}  ${plain(words)}${mood === "gone" ? "" : `  ${durationText(seconds)}`}`;
}

export function changeLine(row: Row, rows: readonly Row[]): string {
  const progress = row.mood === "gone" ? ` (${progressText(rows)})` : "";
  return `${row.key}: ${plain(row.words)}${progress}`;
}

function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}
