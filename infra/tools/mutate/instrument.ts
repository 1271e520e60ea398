/**
 * Puts mutations into a file, each behind a switch: all of them are there at once, and at most one is on.
 * So files are read, parsed and transformed once, whatever the number of mutations.
 */
import type { Place } from "./places.ts";

export interface Numbered extends Place {
  readonly id: number;
}

/** The switch is a global function, that setup.ts gives to each test file. */
export function instrument(source: string, places: readonly Numbered[]): string {
  const outermostFirst = places.toSorted((a, b) => a.start - b.start || b.end - a.end);
  return render(source, { start: 0, end: source.length }, outermostFirst);
}

function render(source: string, range: { start: number; end: number }, places: readonly Numbered[]): string {
  let text = "";
  let position = range.start;
  for (let [place, ...rest] = places; place !== undefined; [place, ...rest] = rest) {
    const { start, end } = place;
    const inside = rest.filter((other) => other.start < end);
    text += source.slice(position, start) + switched(place, render(source, place, inside));
    position = end;
    rest = rest.slice(inside.length);
  }
  return text + source.slice(position, range.end);
}

function switched({ id, kind, replacement }: Numbered, original: string): string {
  const on = `globalThis.__mutation(${id})`;
  return kind === "statement" ? `{ if (!${on}) { ${original} } }` : `(${on} ? (${replacement}) : (${original}))`;
}
