/** Renders two clusters side by side. */
import { styleText } from "node:util";
import { guestRuns, isRestarted, mayStop, successorOf } from "../stage/fates.ts";
import type { VirtualMachine, World } from "../stage/world.ts";
import type { Pair } from "./clusters.ts";
import { type Mood, type Place, type Row, runsOnOneOf, vmsOn } from "./rows.ts";

export interface View {
  readonly width: number;
  readonly colour: boolean;
}

type Style = Parameters<typeof styleText>[0];

const STYLE = {
  idle: "dim",
  refused: "yellow",
  waiting: "blue",
  moving: "cyan",
  moved: "green",
  stopped: "magenta",
  lost: ["bold", "red"],
} as const satisfies Record<Mood, Style>;

const MARK = { idle: "·", refused: "!", waiting: "…", moving: "→", moved: "✓", stopped: "■", lost: "✗" } as const;

/** The label of each cluster in a log. Both labels have the same length. */
export const NAME: Pair<string> = { without: "without", withIt: "with   " };
const PLACE_WIDTH = 34;

export function cut(line: string, width: number): string {
  const trimmed = line.trimEnd();
  return trimmed.length <= width ? trimmed : `${trimmed.slice(0, width - 1)}…`;
}

export function painter({ colour }: View): (style: Style, text: string) => string {
  return (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text);
}

export interface Frame {
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly worlds: Pair<World>;
  readonly said: Pair<string>;
  readonly about: string;
}

export function renderFrame({ seconds, rows, worlds, said, about }: Frame, view: View): readonly string[] {
  const paint = painter(view);
  const name = Math.min(Math.max(4, ...rows.map((row) => row.name.length)), Math.floor(view.width / 3));
  const width = Math.max(6, Math.min(PLACE_WIDTH, Math.floor((view.width - name - 6) / 2)));
  const line = (head: string, left: string, right: string) => `  ${head.padEnd(name)}  ${left.padEnd(width)}  ${right}`;
  const cell = (place: Place) => paint(STYLE[place.mood], cut(textOf(place), width).padEnd(width));
  const nodes = nodesOf(worlds.without).map((node, index) =>
    line("", cut(node, width), nodesOf(worlds.withIt)[index] ?? ""),
  );
  return [
    paint("bold", cut(line("", `Without ${about}`.toUpperCase(), `With ${about}`.toUpperCase()), view.width)),
    ...rows.map((row) => line(cut(row.name, name), cell(row.without), cell(row.withIt))),
    "",
    ...nodes.map((text) => cut(text, view.width)),
    paint("dim", cut(line("", "▣ virtual machine  ▫ other pod", ""), view.width)),
    "",
    ...[`${Math.floor(seconds)} s`, `${NAME.without}  ${said.without}`, `${NAME.withIt}  ${said.withIt}`].map((text) =>
      paint("dim", cut(text, view.width)),
    ),
  ];
}

function textOf({ now, mood }: Place): string {
  return now === "" ? "" : `${MARK[mood]} ${now}`;
}

function nodesOf(world: World): readonly string[] {
  const sorted = [...world.nodes.values()].toSorted((a, b) => a.name.localeCompare(b.name));
  return sorted.map(({ name, cordoned, troubles }) => {
    const pods = [...world.pods.values()].filter(
      (pod) => pod.nodeName === name && pod.launcherOf === undefined && !pod.deleting,
    );
    const full = "▣".repeat(vmsOn(name, world)) + "▫".repeat(pods.length);
    return [name, full, ...(cordoned ? ["cordoned"] : []), ...troubles].filter(Boolean).join(" ");
  });
}

/** Returns the changes between two frames. Used if the output is not a terminal. */
export function renderChanges(previous: readonly Row[], rows: readonly Row[]): readonly string[] {
  const before = new Map(previous.map((row) => [row.name, row]));
  return (["without", "withIt"] as const).flatMap((side) =>
    rows.flatMap((row) => {
      const hasChanged = row[side].now !== (before.get(row.name)?.[side].now ?? "");
      return hasChanged ? [`${NAME[side]}  ${MARK[row[side].mood]} ${row.name}  ${row[side].now}`] : [];
    }),
  );
}

export type Fate = "moved" | "restarted" | "shutDown" | "stayed" | "lost";
export type Outcome = Readonly<Record<Fate, readonly string[]>>;

/**
 * Compares the states before and after the disruption. Returns what happened to the VMs of `nodes`. Includes the lost
 * VMs of other nodes.
 */
export function outcomeOf(before: World, after: World, nodes: readonly string[]): Outcome {
  const outcome: Record<Fate, string[]> = { moved: [], restarted: [], shutDown: [], stayed: [], lost: [] };
  for (const vmi of [...before.vmis.values()].toSorted((a, b) => a.key.localeCompare(b.key))) {
    const fate = fateOf(vmi, before, after);
    if (runsOnOneOf(nodes, vmi) || fate === "lost") outcome[fate].push(vmi.key);
  }
  return outcome;
}

function fateOf(vmi: VirtualMachine, before: World, after: World): Fate {
  const now = after.vmis.get(vmi.uid);
  if (guestRuns(now, after)) return hasMoved(vmi, before, after) ? "moved" : "stayed";
  if (isRestarted(vmi, after) && guestRuns(successorOf(vmi, after), after)) return "restarted";
  return mayStop(vmi, now) ? "shutDown" : "lost";
}

/**
 * Returns whether the VM has moved. Also compares the numbers of moves, because a VM that has moved twice can be on its
 * first node again.
 */
function hasMoved(vmi: VirtualMachine, before: World, after: World): boolean {
  return after.vmis.get(vmi.uid)?.nodeName !== vmi.nodeName || movesOf(vmi, after) > movesOf(vmi, before);
}

function movesOf({ key }: VirtualMachine, { migrations }: World): number {
  return [...migrations.values()].filter(({ vmi, phase }) => vmi === key && phase === "Succeeded").length;
}

/** The outcomes in the order in which they are printed. With `named`, the names of the VMs follow their number. */
const SHOWN: readonly (readonly [Fate, string, "named"?])[] = [
  ["moved", "moved"],
  ["restarted", "restarted"],
  ["shutDown", "shut down"],
  ["stayed", "stayed", "named"],
  ["lost", "lost", "named"],
];

/** Renders an outcome. Shows `VMs lost` even if no VM was lost. */
function rendered(head: string, outcome: Outcome): string {
  const parts = SHOWN.filter(([fate]) => fate === "lost" || outcome[fate].length > 0).map(([fate, word, named]) => {
    const keys = outcome[fate];
    return `VMs ${word} ${keys.length}${named && keys.length > 0 ? ` (${keys.join(", ")})` : ""}`;
  });
  return `${head}: ${parts.join(", ")}`;
}

export function renderOutcome({ without, withIt }: Pair<Outcome>, about: string, view: View): readonly string[] {
  const paint = painter(view);
  const isHarmed = without.lost.length > 0;
  return [
    paint(isHarmed ? ["bold", "red"] : "yellow", rendered(`Without ${about}`, without)),
    paint(["bold", withIt.lost.length === 0 ? "green" : "red"], rendered(`With ${about}`, withIt)),
  ];
}
