/**
 * What has become of each VM and pod since the drain began: on a terminal a line with a bar for each VM, drawn over again; elsewhere a
 * line for each change.
 */
import { durationText } from "../../../shared/policy/duration-text.ts";
import { isFinal, type NamespacedName } from "../../../shared/policy/facts.ts";
import { isMinor, type Mood, type Row, rowOf, type Subject } from "../../../shared/policy/preflight/subjects.ts";
import { timeLeft } from "../../../shared/policy/preflight/duration.ts";
import { type Paint, paintFor, plain } from "../print.ts";
import type { Drain } from "./drain.ts";

export type Fate = "moved" | "shut down" | "stopped" | "evicted";

interface Followed {
  readonly vm?: NamespacedName & { readonly uid: string };
  row: Row;
  since: number;
  fate?: Fate;
}

export type Progress = ReturnType<typeof createProgress>;

/** `stopping`: keys of VMs that are being stopped. */
export function createProgress(drain: Drain, stopping: ReadonlySet<string>) {
  const { host, screen, connection, found } = drain;
  const { node } = found;
  const paint = paintFor(host.stderr, host);
  const followed = new Map<string, Followed>();
  const begun = host.now().getTime();
  const rows = () => [...followed.values()].map(({ row }) => row);

  const settle = (one: Followed, row: Row) => {
    const isNews = one.row.words !== row.words || one.row.mood !== row.mood;
    one.row = row;
    if (!isNews) return;
    one.since = host.now().getTime();
    if (!screen.live) screen.print(changeLine(row, rows()));
  };

  const meet = (subject: Subject) => {
    const row = rowOf(subject, stopping.has(subject.key));
    const known = followed.get(subject.key);
    if (known !== undefined) {
      delete known.fate;
      return settle(known, row);
    }
    const { vmi } = subject;
    const vm = vmi && { namespace: vmi.namespace, name: vmi.name, uid: vmi.uid };
    const met = { ...(vm && { vm }), row: { ...row, mood: "waiting", words: "runs" } as const, since: begun };
    followed.set(subject.key, met);
    settle(met, row);
  };

  /** Its pods have left the node. */
  const farewell = async (one: Followed) => {
    const end =
      one.vm === undefined ? ({ fate: "evicted", words: "evicted" } as const) : await fateOf(one.vm, one.row.key);
    if (end === undefined) return;
    one.fate = end.fate;
    settle(one, { ...one.row, mood: "gone", stage: 1, words: end.words });
  };

  const fateOf = async (vm: NamespacedName & { readonly uid: string }, key: string) => {
    const vmi = await connection.cluster().get("virtualmachineinstances", vm);
    if (vmi === undefined || vmi.uid !== vm.uid || isFinal(vmi)) {
      const fate: Fate = stopping.has(key) ? "stopped" : "shut down";
      return { fate, words: fate };
    }
    if (vmi.nodeName === undefined || vmi.nodeName === node) return undefined;
    const took = vmi.movedInSeconds === undefined ? "" : ` in ${durationText(vmi.movedInSeconds)}`;
    return { fate: "moved" as const, words: `moved to ${vmi.nodeName}${took}` };
  };

  const draw = () => {
    const now = host.now().getTime();
    const moved = [...followed.values()].filter(({ fate }) => fate === "moved").length;
    const left = rows().filter(({ isVm, mood }) => isVm && (mood === "moving" || mood === "waiting")).length;
    const pace = { moved, left, elapsedSeconds: (now - begun) / 1000 };
    const viewed = [...followed.values()].map(({ row, since }) => ({ ...row, seconds: (now - since) / 1000 }));
    const frame = { node, rows: viewed, timeLeft: timeLeft(found.time, pace) };
    screen.draw(frameLines(frame, screen.width - 1, paint));
  };

  return {
    async update(subjects: readonly Subject[]): Promise<void> {
      const here = subjects.filter((subject) => !isMinor(subject));
      for (const subject of here) meet(subject);
      const keys = new Set(here.map(({ key }) => key));
      const leaving = [...followed].filter(([key, { fate }]) => !keys.has(key) && fate === undefined);
      await Promise.all(leaving.map(([, one]) => farewell(one)));
      if (screen.live) draw();
    },
    /** Whether what has become of each that has left is known: KubeVirt may say so later than its pod goes. */
    isComplete: () => [...followed.values()].every(({ fate }) => fate !== undefined),
    fates(): ReadonlyMap<Fate, number> {
      const fates = new Map<Fate, number>();
      for (const { fate } of followed.values()) if (fate !== undefined) fates.set(fate, (fates.get(fate) ?? 0) + 1);
      return fates;
    },
  };
}

export interface ViewedRow extends Row {
  /** For how long it has been so. */
  readonly seconds: number;
}

export interface Frame {
  readonly node: string;
  readonly rows: readonly ViewedRow[];
  readonly timeLeft?: string | undefined;
}

const BAR = 12;
const NAME_LIMIT = 40;

const STYLE = { waiting: "dim", moving: "bold", blocked: "red", gone: "green" } as const satisfies Record<
  Mood,
  Parameters<Paint>[1]
>;

/** Those that are gone come last: they are what a small terminal cuts off. Ordinary pods are counted, unless they block. */
export function frameLines(frame: Frame, width: number, paint: Paint): readonly string[] {
  const shown = frame.rows.filter(({ isVm, mood }) => isVm || mood === "blocked");
  const order = shown.toSorted(
    (a, b) => Number(a.mood === "gone") - Number(b.mood === "gone") || (a.key < b.key ? -1 : 1),
  );
  const names = Math.min(NAME_LIMIT, Math.max(0, ...order.map((row) => nameOf(row).length)));
  return [
    paint(cut(headline(frame), width), "bold"),
    ...order.map((row) => paint(cut(rowLine(row, names), width), STYLE[row.mood])),
  ];
}

export function headline({ node, rows, timeLeft }: Frame): string {
  return [`${node}: ${progressText(rows)}`, ...(timeLeft === undefined ? [] : [timeLeft])].join(" · ");
}

export function progressText(rows: readonly Row[]): string {
  const vms = rows.filter(({ isVm }) => isVm);
  const pods = rows.filter(({ isVm }) => !isVm);
  const texts = [
    ...(vms.length > 0 ? [`${countText(vms)} VMs gone`] : []),
    ...(pods.length > 0 ? [`${countText(pods)} other pods gone`] : []),
  ];
  return texts.join(", ") || "nothing is to leave";
}

function countText(rows: readonly Row[]): string {
  return `${rows.filter(({ mood }) => mood === "gone").length} of ${rows.length}`;
}

function nameOf({ key }: Row): string {
  return key.replace(/^VM /, "");
}

function rowLine(row: ViewedRow, names: number): string {
  const { stage, words, seconds, mood } = row;
  const full = Math.round(stage * BAR);
  const bar = "█".repeat(full) + "░".repeat(BAR - full);
  const name = cut(nameOf(row), names).padEnd(names);
  return `  ${bar}  ${name}  ${plain(words)}${mood === "gone" ? "" : `  ${durationText(seconds)}`}`;
}

export function changeLine(row: Row, rows: readonly Row[]): string {
  const progress = row.mood === "gone" ? ` (${progressText(rows)})` : "";
  return `${row.key}: ${plain(row.words)}${progress}`;
}

function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}
