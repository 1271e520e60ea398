/** What has become of each VM and pod since the drain began: a line for each change; and how it ended, and what there is to do now. */
import { durationText } from "../../../shared/settings/time.ts";
import type { NamespacedName } from "../../../shared/kube/facts.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";
import { isMinor, type Row, rowOf, type Subject } from "../../../shared/preflight/progress.ts";
import { EXIT, type ExitCode } from "../command.ts";
import { troubleOf } from "../explain.ts";
import { type Paint, paintFor, plain } from "../print.ts";
import type { Drain } from "./drain.ts";
import { isFinal } from "../../../shared/kube/objects.ts";

/** `Blocked`: all that could leave has left. */
export type Ending = "Drained" | "Blocked" | "TimedOut" | "Interrupted";

const EXIT_OF_ENDING = {
  Drained: EXIT.done,
  Blocked: EXIT.no,
  TimedOut: EXIT.failed,
  Interrupted: EXIT.interrupted,
} as const satisfies Record<Ending, ExitCode>;

type Fate = "moved" | "shut down" | "evicted";

interface Followed {
  readonly vm?: NamespacedName & { readonly uid: string };
  row: Row;
  fate?: Fate;
}

export type Report = ReturnType<typeof createReport>;

export function createReport(drain: Drain) {
  const { say, connection, found, host } = drain;
  const began = host.now().getTime();
  const followed = new Map<string, Followed>();

  const settle = (one: Followed, row: Row) => {
    const isNews = one.row.words !== row.words || one.row.mood !== row.mood;
    one.row = row;
    const rows = [...followed.values()].map((other) => other.row);
    if (isNews) say(changeLine(row, rows));
  };

  const meet = (subject: Subject) => {
    const row = rowOf(subject);
    const { vmi } = subject;
    const vm = vmi && { namespace: vmi.namespace, name: vmi.name, uid: vmi.uid };
    const known: Followed = followed.get(subject.key) ?? {
      ...(vm && { vm }),
      row: { ...row, mood: "waiting", words: "runs" } as const,
    };
    delete known.fate;
    followed.set(subject.key, known);
    settle(known, row);
  };

  /** Its pods have left the node. Undefined: KubeVirt does not say yet what has become of it. */
  const fateOf = async ({ vm }: Followed): Promise<readonly [Fate, words: string] | undefined> => {
    if (vm === undefined) return ["evicted", "evicted"];
    const vmi = await connection.cluster().get("virtualmachineinstances", vm);
    if (vmi === undefined || vmi.uid !== vm.uid || isFinal(vmi)) return ["shut down", "shut down"];
    if (vmi.nodeName === undefined || vmi.nodeName === found.node) return undefined;
    const took = vmi.movedInSeconds === undefined ? "" : ` in ${durationText(vmi.movedInSeconds)}`;
    return ["moved", `moved to ${vmi.nodeName}${took}`];
  };

  const leave = async (one: Followed) => {
    const [fate, words] = (await fateOf(one)) ?? [];
    if (fate === undefined || words === undefined) return;
    one.fate = fate;
    settle(one, { ...one.row, mood: "gone", words });
  };

  return {
    async update(subjects: readonly Subject[]): Promise<void> {
      const here = subjects.filter((subject) => !isMinor(subject));
      for (const subject of here) meet(subject);
      const keys = new Set(here.map(({ key }) => key));
      const leaving = [...followed].filter(([key, { fate }]) => !keys.has(key) && fate === undefined);
      await Promise.all(leaving.map(([, one]) => leave(one)));
    },
    /** Whether what has become of each that has left is known: KubeVirt may say so later than its pod goes. */
    isComplete: () => [...followed.values()].every(({ fate }) => fate !== undefined),
    /** Prints how it ended. */
    end(ending: Ending, left: readonly Subject[]): ExitCode {
      const seconds = (host.now().getTime() - began) / 1000;
      const fates = [...followed.values()].map(({ fate }) => fate);
      const ended = { drain, ending, seconds, fates, left };
      const paint = paintFor(host.stdout, host);
      const more = ending === "Drained" ? [] : [...leftLines(left, paint), ...nextLines(ended)];
      for (const line of [headline(ended, paint), ...more]) host.stdout.write(`${line}\n`);
      return EXIT_OF_ENDING[ending];
    },
  };
}

function changeLine(row: Row, rows: readonly Row[]): string {
  const progress = row.mood === "gone" ? ` (${progressText(rows)})` : "";
  return `${row.key}: ${plain(row.words)}${progress}`;
}

function progressText(rows: readonly Row[]): string {
  const { vms = [], pods = [] } = Object.groupBy(rows, ({ isVm }) => (isVm ? "vms" : "pods"));
  return [...countText("VMs", vms), ...countText("other pods", pods)].join(", ");
}

function countText(what: string, rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return [];
  return [`${rows.filter(({ mood }) => mood === "gone").length} of ${rows.length} ${what} gone`];
}

interface Ended {
  readonly drain: Drain;
  readonly ending: Ending;
  readonly seconds: number;
  readonly fates: readonly (Fate | undefined)[];
  readonly left: readonly Subject[];
}

function headline({ drain, ending, seconds, fates, left }: Ended, paint: Paint): string {
  const node = `node/${drain.found.node}`;
  const took = durationText(seconds);
  const done = fatesText(fates, ending);
  const count = left.filter((subject) => !isMinor(subject)).length;
  switch (ending) {
    case "Drained":
      return `${paint("√", "green")} ${node} drained in ${took}: ${done}`;
    case "Blocked":
      return `${paint("×", "red")} ${node} is not drained: ${count} blocked (${done})`;
    case "TimedOut":
      return `${paint("×", "red")} ${node} is not drained after ${took}: ${count} left (${done})`;
    case "Interrupted":
      return `${paint("‼", "yellow")} interrupted, ${node} stays cordoned: ${count} left (${done}); migrations continue`;
  }
}

const FATES: readonly (readonly [Fate, one: string, many: string])[] = [
  ["moved", "VM moved", "VMs moved"],
  ["shut down", "VM shut down", "VMs shut down"],
  ["evicted", "other pod evicted", "other pods evicted"],
];

function fatesText(fates: Ended["fates"], ending: Ending): string {
  const texts = FATES.flatMap(([fate, one, many]) => {
    const count = fates.filter((other) => other === fate).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
  return texts.join(", ") || (ending === "Drained" ? "nothing had to leave" : "nothing has left");
}

/** What is in the way, with its remedy; the others by name. */
function leftLines(left: readonly Subject[], paint: Paint): readonly string[] {
  return left
    .filter((subject) => !isMinor(subject))
    .flatMap(({ key, verdict }) => {
      const isStuck = isInTheWay(verdict) || verdict.remedy !== undefined;
      return isStuck ? troubleOf(verdict, paint).slice(1) : [`  ${key}: ${verdict.message}`];
    });
}

function nextLines({ drain, left }: Ended): readonly string[] {
  const isMoving = left.some(({ vmi }) => vmi?.evacuationNodeName !== undefined);
  const steps = [
    [drain.line, "continues"],
    [`kubectl uncordon ${drain.found.node}`, "takes the node back"],
    ...(isMoving ? [["lifeboat cancel VM -n NAMESPACE", "ends the evacuation of a VM"] as const] : []),
  ] as const;
  const width = Math.max(...steps.map(([command]) => command.length));
  return ["", ...steps.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`)];
}
