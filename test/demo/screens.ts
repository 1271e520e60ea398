/** Screens for the demo's tests. */
import { stripVTControlCharacters } from "node:util";
import { expect } from "vitest";
import type { Look } from "../../infra/demo/look.ts";
import type { Screen } from "../../infra/tools/console/screen.ts";
import { startTimeLine } from "../../infra/tools/console/time-line.ts";

export const PLAIN: Look = { width: 120, colour: false };
export const AT_1234_MS = startTimeLine(() => 1234);

export function recordingScreen({ live } = { live: false }) {
  const printed: string[] = [];
  const drawn: string[] = [];
  const screen: Screen = {
    live,
    ...PLAIN,
    print: (...lines) => void printed.push(...lines),
    draw: (lines) => void drawn.splice(0, drawn.length, ...lines),
    keep: () => undefined,
  };
  return { printed, drawn, screen };
}

/** No line is wider than the terminal, and colour only adds colour. */
export function expectToFit(render: (look: Look) => readonly string[]): void {
  for (const width of [30, 60, 80, 120]) {
    const coloured = render({ width, colour: true }).map(stripVTControlCharacters);
    expect(Math.max(...coloured.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(coloured).toEqual(render({ width, colour: false }));
  }
}
