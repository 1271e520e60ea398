/** How moods and lines look on a screen. */
import { styleText } from "node:util";
import type { Mood } from "./rows.ts";

export interface Look {
  readonly width: number;
  readonly colour: boolean;
}

export type Style = Parameters<typeof styleText>[0];

export const STYLE = {
  idle: "dim",
  refused: "yellow",
  waiting: "blue",
  moving: "cyan",
  moved: "green",
  stopped: "magenta",
  lost: ["bold", "red"],
} as const satisfies Record<Mood, Style>;

export const MARK = {
  idle: "·",
  refused: "!",
  waiting: "…",
  moving: "→",
  moved: "✓",
  stopped: "■",
  lost: "✗",
} as const satisfies Record<Mood, string>;

export function cut(line: string, width: number): string {
  const trimmed = line.trimEnd();
  return trimmed.length <= width ? trimmed : `${trimmed.slice(0, width - 1)}…`;
}

export function painter({ colour }: Look): (style: Style, text: string) => string {
  return (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text);
}
