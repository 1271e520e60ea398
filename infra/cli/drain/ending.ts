/** How a drain ended, and what there is to do now. */
import { EXIT, type ExitCode } from "../command.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";
import { troubleOf } from "../explain.ts";
import { durationText } from "../../../shared/settings/time.ts";
import { type Paint } from "../print.ts";
import type { Stops } from "./stops.ts";
import type { Fate } from "./progress.ts";
import { isMinor, type Subject } from "../../../shared/preflight/subjects.ts";

/** `Blocked`: all that could leave has left. */
export type Ending = "Drained" | "Blocked" | "TimedOut" | "Interrupted";

export const EXIT_OF_ENDING = {
  Drained: EXIT.done,
  Blocked: EXIT.no,
  TimedOut: EXIT.failed,
  Interrupted: EXIT.interrupted,
} as const satisfies Record<Ending, ExitCode>;

export interface Ended {
  readonly node: string;
  readonly ending: Ending;
  readonly seconds: number;
  readonly fates: ReadonlyMap<Fate, number>;
  readonly left: readonly Subject[];
  readonly startLines: readonly string[];
  /** What the person typed. */
  readonly commandLine: string;
}

export function endingLines(ended: Ended, paint: Paint): readonly string[] {
  const more = ended.ending === "Drained" ? [] : [...leftLines(ended, paint), ...nextLines(ended)];
  return [headline(ended, paint), ...more, ...ended.startLines];
}

export function startLinesOf({ startLines }: Pick<Stops, "startLines">): readonly string[] {
  const lines = startLines();
  return lines.length === 0 ? [] : ["To start what has been stopped:", ...lines.map((line) => `  ${line}`)];
}

function headline({ node, ending, seconds, fates, left }: Ended, paint: Paint): string {
  const took = durationText(seconds);
  const done = fatesText(fates, ending);
  const count = left.filter((subject) => !isMinor(subject)).length;
  switch (ending) {
    case "Drained":
      return `${paint("√", "green")} node/${node} drained in ${took}: ${done}`;
    case "Blocked":
      return `${paint("×", "red")} node/${node} is not drained: ${count} blocked (${done})`;
    case "TimedOut":
      return `${paint("×", "red")} node/${node} is not drained after ${took}: ${count} left (${done})`;
    case "Interrupted":
      return `${paint("‼", "yellow")} interrupted, node/${node} stays cordoned: ${count} left (${done}); migrations continue`;
  }
}

const FATES: readonly (readonly [Fate, one: string, many: string])[] = [
  ["moved", "VM moved", "VMs moved"],
  ["shut down", "VM shut down", "VMs shut down"],
  ["stopped", "VM stopped", "VMs stopped"],
  ["evicted", "other pod evicted", "other pods evicted"],
];

function fatesText(fates: ReadonlyMap<Fate, number>, ending: Ending): string {
  const texts = FATES.flatMap(([fate, one, many]) => {
    const count = fates.get(fate) ?? 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
  return texts.join(", ") || (ending === "Drained" ? "nothing had to leave" : "nothing has left");
}

/** What is in the way, with its remedy; the others by name. */
function leftLines({ left }: Ended, paint: Paint): readonly string[] {
  const main = left.filter((subject) => !isMinor(subject));
  return main.flatMap(({ key, verdict }) => {
    const isStuck = isInTheWay(verdict) || verdict.remedy !== undefined;
    return isStuck ? troubleOf(verdict, paint).slice(1) : [`  ${key}: ${verdict.message}`];
  });
}

function nextLines({ node, commandLine, left }: Ended): readonly string[] {
  const isMoving = left.some(({ vmi }) => vmi?.evacuationNodeName !== undefined);
  const steps = [
    [commandLine, "goes on"],
    [`kubectl uncordon ${node}`, "takes the node back"],
    ...(isMoving ? [["lifeboat cancel VM -n NAMESPACE", "ends the evacuation of a VM"] as const] : []),
  ] as const;
  const width = Math.max(...steps.map(([command]) => command.length));
  return ["", ...steps.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`)];
}
