/** What has become of each VM and pod since the drain began: a line for each change. */
import { durationText } from "../../../shared/settings/time.ts";
import { isFinal, type NamespacedName } from "../../../shared/kube/facts.ts";
import { isMinor, type Row, rowOf, type Subject } from "../../../shared/preflight/subjects.ts";
import { plain } from "../print.ts";
import type { Drain } from "./drain.ts";

export type Fate = "moved" | "shut down" | "stopped" | "evicted";

interface Followed {
  readonly vm?: NamespacedName & { readonly uid: string };
  row: Row;
  fate?: Fate;
}

export type Progress = ReturnType<typeof createProgress>;

/** `stopping`: keys of VMs that are being stopped. */
export function createProgress(drain: Drain, stopping: ReadonlySet<string>) {
  const { say, connection, found } = drain;
  const followed = new Map<string, Followed>();
  const rows = () => [...followed.values()].map(({ row }) => row);

  const settle = (one: Followed, row: Row) => {
    const isNews = one.row.words !== row.words || one.row.mood !== row.mood;
    one.row = row;
    if (isNews) say(changeLine(row, rows()));
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
    const met = { ...(vm && { vm }), row: { ...row, mood: "waiting", words: "runs" } as const };
    followed.set(subject.key, met);
    settle(met, row);
  };

  /** Its pods have left the node. */
  const farewell = async (one: Followed) => {
    const end =
      one.vm === undefined ? ({ fate: "evicted", words: "evicted" } as const) : await fateOf(one.vm, one.row.key);
    if (end === undefined) return;
    one.fate = end.fate;
    settle(one, { ...one.row, mood: "gone", words: end.words });
  };

  const fateOf = async (vm: NamespacedName & { readonly uid: string }, key: string) => {
    const vmi = await connection.cluster().get("virtualmachineinstances", vm);
    if (vmi === undefined || vmi.uid !== vm.uid || isFinal(vmi)) {
      const fate: Fate = stopping.has(key) ? "stopped" : "shut down";
      return { fate, words: fate };
    }
    if (vmi.nodeName === undefined || vmi.nodeName === found.node) return undefined;
    const took = vmi.movedInSeconds === undefined ? "" : ` in ${durationText(vmi.movedInSeconds)}`;
    return { fate: "moved" as const, words: `moved to ${vmi.nodeName}${took}` };
  };

  return {
    async update(subjects: readonly Subject[]): Promise<void> {
      const here = subjects.filter((subject) => !isMinor(subject));
      for (const subject of here) meet(subject);
      const keys = new Set(here.map(({ key }) => key));
      const leaving = [...followed].filter(([key, { fate }]) => !keys.has(key) && fate === undefined);
      await Promise.all(leaving.map(([, one]) => farewell(one)));
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

function progressText(rows: readonly Row[]): string {
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

export function changeLine(row: Row, rows: readonly Row[]): string {
  const progress = row.mood === "gone" ? ` (${progressText(rows)})` : "";
  return `${row.key}: ${plain(row.words)}${progress}`;
}
