/** Tells what happens in two clusters: on a terminal as a table that is drawn again, elsewhere as a line per change. */
import type { BesideRow } from "./beside.ts";
import { renderBesideChanges, renderSaid, type BesideFrame } from "./beside-view.ts";
import type { TimeLine } from "../../tools/console/time-line.ts";
import type { Screen } from "../../tools/console/screen.ts";
import type { Pair } from "./stage.ts";
import type { World } from "../stage/world.ts";

export interface BesideNarrator {
  /** The state of things, and all that was told so far; called as often as one likes. */
  tell(rows: readonly BesideRow[], worlds: Pair<World>, told: Pair<readonly string[]>): void;
}

export interface BesideNarratorOptions {
  readonly screen: Screen;
  readonly timeLine: TimeLine;
  /** What each cluster is called. */
  readonly names: Pair<string>;
  readonly render: (frame: BesideFrame) => readonly string[];
}

export function createBesideNarrator({ screen, timeLine, names, render }: BesideNarratorOptions): BesideNarrator {
  let previous: readonly BesideRow[] = [];
  const repeated = new Set<string>();
  const { milliseconds, stamp } = timeLine;

  const news = (told: Pair<readonly string[]>): readonly string[] =>
    (["without", "withIt"] as const)
      .flatMap((side) => told[side].map((message) => renderSaid(names[side], message)))
      .filter((line) => !repeated.has(line) && repeated.add(line));

  return {
    tell(rows, worlds, told) {
      if (screen.live) {
        const said = {
          without: told.without.at(-1) ?? "",
          withIt: told.withIt.at(-1) ?? "",
        };
        screen.draw(render({ seconds: milliseconds() / 1000, rows, worlds, said }));
      } else {
        screen.print(...[...news(told), ...renderBesideChanges(previous, rows, names)].map((line) => stamp() + line));
      }
      previous = rows;
    },
  };
}
