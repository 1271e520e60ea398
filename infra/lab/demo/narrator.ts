/** Tells what happens while it happens: on a terminal as a table that is drawn again, elsewhere as a line per change. */
import { parseDrainLine } from "../stage/drain-output.ts";
import type { TimeLine } from "../../tools/console/time-line.ts";
import type { Screen } from "../../tools/console/screen.ts";
import type { NodeLine, Row } from "./rows.ts";
import { renderChanges, renderFrame } from "./view.ts";

export interface Narrator {
  /** The state of things; called as often as one likes. */
  tell(rows: readonly Row[], nodes: readonly NodeLine[]): void;
  /** A line of the drain. */
  heard(line: string): void;
  /** A remark of the demo's own. */
  note(text: string): void;
}

export function createNarrator(screen: Screen, timeLine: TimeLine): Narrator {
  let rows: readonly Row[] = [];
  let drain = "";
  const repeated = new Set<string>();
  const { milliseconds, stamp } = timeLine;

  return {
    tell(now, nodes) {
      if (screen.live) screen.draw(renderFrame({ seconds: milliseconds() / 1000, rows: now, nodes, drain }, screen));
      else screen.print(...renderChanges(rows, now).map((line) => stamp() + line));
      rows = now;
    },
    heard(line) {
      const said = parseDrainLine(line);
      // Said for every pod, and shown in the table anyway.
      if (said.says === "Evicting" || said.says === "Evicted" || line === "") return;
      drain = said.says === "Refused" ? `${said.pod}: ${said.message}` : line;
      // Refusals are repeated every 5 s.
      if (!screen.live && !repeated.has(drain)) screen.print(`${stamp()}  ${drain}`);
      repeated.add(drain);
    },
    note(text) {
      if (screen.live) screen.print(`» ${text}`, "");
      else screen.print(`${stamp()}» ${text}`);
    },
  };
}
