/** A preflight for people: the verdict, what is in the way, then the pods. */
import { isInTheWay } from "../../shared/policy/preflight/verdict.ts";
import { subjectOf } from "../../shared/policy/preflight/subjects.ts";
import type { NodeVerdict, PodVerdict, Preflight } from "../../shared/policy/preflight/facts.ts";
import type { Host, Stream } from "./host.ts";
import { durationText } from "../../shared/policy/duration-text.ts";
import { type Paint, paintFor, plain, printTable } from "./print.ts";

const MARKS = {
  WillSucceed: ["√", "green"],
  WillSucceedWithShutdowns: ["‼", "yellow"],
  Unknown: ["‼", "yellow"],
  NoRoom: ["×", "red"],
  WillBlock: ["×", "red"],
} as const satisfies Record<NodeVerdict, readonly [string, Parameters<Paint>[1]]>;

export function printPreflight(result: Preflight, wide: boolean, host: Host, stream: Stream = host.stdout): void {
  const paint = paintFor(stream, host);
  const say = (line: string) => stream.write(`${line}\n`);
  const [mark, style] = MARKS[result.verdict];
  say(`${paint(mark, style)} ${paint(result.verdict, "bold")}: ${plain(result.summary)}`);
  if (result.time !== undefined && result.time.moves > 0) say(`  ${timeText(result.time)}`);
  for (const pod of result.pods.filter(isInTheWay)) for (const line of troubleOf(pod, paint)) say(line);
  for (const what of result.unknown) say(`${paint("‼", "yellow")} not known: ${plain(what)}`);
  const shown = wide ? result.pods : result.pods.filter(isWorthALine);
  if (shown.length > 0) {
    say("");
    printTable(["NAMESPACE", "NAME", "OUTCOME", "TO", wide ? "MESSAGE" : "REASON"], shown.map(rowOf(wide)), stream);
  }
}

/** What happens to the VMs; ordinary pods are many, and nothing happens to them that one would not expect. */
function isWorthALine(pod: PodVerdict): boolean {
  return pod.vmi !== undefined || isInTheWay(pod);
}

/** What is the matter with a pod, and who can change it. */
export function troubleOf(pod: PodVerdict, paint: Paint): readonly string[] {
  const { outcome, message, remedy, room } = pod;
  const isHomeless = outcome !== "Blocked" && room?.fits === false;
  const mark = outcome === "ShutsDown" && !isHomeless ? paint("‼", "yellow") : paint("×", "red");
  const said = isHomeless ? (room.message ?? "") : message;
  return [
    "",
    `${mark} ${subjectOf(pod)}: ${plain(said)}`,
    ...(remedy === undefined ? [] : [`    ${paint(plain(remedy), "dim")}`]),
  ];
}

function rowOf(wide: boolean) {
  return ({ namespace, name, vmi, outcome, reason, message, room }: PodVerdict): readonly string[] => {
    const to = room === undefined ? "" : (room.node ?? "no room");
    return [namespace, vmi ?? name, outcome, to, wide ? message : reason];
  };
}

function timeText({ moves, atOnce, waves, seconds, basis }: NonNullable<Preflight["time"]>): string {
  const [least, most] = [durationText(seconds.least), durationText(seconds.most)];
  const range = least === most ? least : `${least} to ${most}`;
  const inWaves = waves === 1 ? "all at once" : `${atOnce} at a time, in ${waves} waves`;
  return `about ${range} for ${moves} ${moves === 1 ? "VM" : `VMs, ${inWaves}`} (${plain(basis)})`;
}
