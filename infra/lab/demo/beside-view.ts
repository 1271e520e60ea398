/** How two clusters look side by side: rows, nodes, the last words from each. */
import type { BesideRow } from "./beside.ts";
import { cut, MARK, painter, STYLE, type Look } from "./look.ts";
import { nodeLines, type NodeLine, type Place } from "./rows.ts";
import type { Pair } from "./stage.ts";
import type { Summary } from "./summary.ts";
import { renderLost } from "./view.ts";
import type { World } from "../stage/world.ts";

export interface BesideFrame {
  readonly seconds: number;
  readonly rows: readonly BesideRow[];
  readonly worlds: Pair<World>;
  /** What was told last in each cluster. */
  readonly said: Pair<string>;
}

/** What each cluster is called in a log; of the same length. */
export const NAME: Pair<string> = { without: "without", withIt: "with   " };

/** `about`: what one of the two is without. */
export function renderBeside(
  { seconds, rows, worlds, said }: BesideFrame,
  look: Look,
  about = "Lifeboat",
): readonly string[] {
  const paint = painter(look);
  const columns = widths(rows, look.width);
  const heading = `${"".padEnd(columns.name + 4)}${`Without ${about}`.toUpperCase().padEnd(columns.without)}  ${`With ${about}`.toUpperCase()}`;
  return [
    paint("bold", cut(heading, look.width)),
    ...rows.map((row) => line(row, columns, look)),
    "",
    ...nodesBeside(worlds, columns).map((text) => cut(text, look.width)),
    paint("dim", cut(`${"".padEnd(columns.name + 4)}▣ virtual machine  ▫ other pod`, look.width)),
    "",
    paint("dim", cut(`${Math.floor(seconds)} s`, look.width)),
    paint("dim", cut(`${NAME.without}  ${said.without}`, look.width)),
    paint("dim", cut(`${NAME.withIt}  ${said.withIt}`, look.width)),
  ];
}

type Columns = Readonly<Record<"name" | keyof Pair<unknown>, number>>;

/** The widest that is ever said of a place, so that columns do not jump. */
const PLACE_WIDTH = 30;

function widths(rows: readonly BesideRow[], room: number): Columns {
  const name = Math.min(Math.max(4, ...rows.map((row) => row.name.length)), Math.floor(room / 3));
  const place = Math.max(6, Math.min(PLACE_WIDTH, Math.floor((room - name - 6) / 2)));
  return { name, without: place, withIt: place };
}

function line({ name, without, withIt }: BesideRow, columns: Columns, look: Look): string {
  const paint = painter(look);
  const cell = (place: Place, width: number) => paint(STYLE[place.mood], cut(text(place), width).padEnd(width));
  const [left, right] = [cell(without, columns.without), cell(withIt, columns.withIt)];
  return `  ${cut(name, columns.name).padEnd(columns.name)}  ${left}  ${right}`;
}

function text({ now, phase, mood }: Place): string {
  return now === "" ? "" : [MARK[mood], now, phase].filter(Boolean).join(" ");
}

/** Each node twice, one under each heading; what troubles it beside its name. */
function nodesBeside({ without, withIt }: Pair<World>, columns: Columns): readonly string[] {
  const right = nodeLines(withIt).map(nodeCell);
  return nodeLines(without).map((node, index) => {
    const left = cut(nodeCell(node), columns.without).padEnd(columns.without);
    return `${"".padEnd(columns.name + 4)}${left}  ${right[index] ?? ""}`;
  });
}

function nodeCell({ name, troubles, vms, pods }: NodeLine): string {
  return [name, "▣".repeat(vms) + "▫".repeat(pods), ...troubles].filter(Boolean).join(" ");
}

/** What changed between two frames, for where there is no terminal to redraw. */
export function renderBesideChanges(
  previous: readonly BesideRow[],
  rows: readonly BesideRow[],
  names: Pair<string>,
): readonly string[] {
  const before = new Map(previous.map((row) => [row.name, row]));
  return (["without", "withIt"] as const).flatMap((side) =>
    rows.flatMap((row) => {
      const changed = row[side].now !== (before.get(row.name)?.[side].now ?? "");
      return changed ? [`${names[side]}  ${MARK[row[side].mood]} ${row.name}  ${row[side].now}`] : [];
    }),
  );
}

export function renderSaid(name: string, message: string): string {
  return `${name}    ${message.trimEnd()}`;
}

export function renderOutcome({ without, withIt }: Pair<Summary>, look: Look, about = "Lifeboat"): readonly string[] {
  const { moved, lost, remaining } = withIt;
  const stayed = remaining.length === 0 ? "" : `, VMs stayed ${remaining.length}`;
  const outcome = `With ${about}: VMs moved ${moved.length}${stayed}, VMs lost: ${lost.length}`;
  return [
    renderLost(without.lost, look, about),
    painter(look)(
      ["bold", lost.length === 0 ? "green" : "red"],
      lost.length === 0 ? outcome : `${outcome}  (${lost.join(", ")})`,
    ),
  ];
}
