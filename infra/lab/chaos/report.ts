/** What a run came to, as it travels from the process that did it. */
import * as z from "zod/mini";
import { FORMS } from "./form.ts";

const Counts = z.record(z.string(), z.number());
export type Counts = z.output<typeof Counts>;

export const RunReportSchema = z.object({
  run: z.number(),
  form: z.enum(FORMS),
  /** The plan's faults. */
  drawn: z.readonly(z.array(z.string())),
  ms: z.number(),
  vms: z.number(),
  /** Of the VMs. */
  fates: Counts,
  /** Of the evacuations. */
  endings: Counts,
  /** Of the evacuations. */
  causes: Counts,
  /** What went wrong, and what of the timeline came to something. */
  faults: Counts,
  /** Of the timeline, the rest. */
  inVain: Counts,
  /** VMs that descheduling asked for. */
  asked: z.number(),
  /** Descheduling cycles, by their answer. */
  cycles: Counts,
  /** Keys of VMs. */
  lost: z.readonly(z.array(z.string())),
  /** What was not true that must always be. */
  breaches: z.readonly(z.array(z.string())),
  /** What was still under way when the time was over. */
  hung: z.readonly(z.array(z.string())),
  mostRunning: z.number(),
  /** Limits of migrations that were reached. */
  reached: z.readonly(z.array(z.string())),
});

export type RunReport = z.output<typeof RunReportSchema>;

/** Of the runs that have something in common. */
export interface Tally {
  readonly runs: number;
  readonly vms: number;
  readonly lost: number;
  /** Runs with something broken. */
  readonly broken: number;
  /** Runs with something hung. */
  readonly hung: number;
}

export type Tallies = Readonly<Record<string, Tally>>;

export interface Totals extends Tally {
  readonly fates: Counts;
  readonly endings: Counts;
  readonly causes: Counts;
  readonly byForm: Tallies;
  /** By what was drawn: a run counts for each of its faults. */
  readonly byFault: Tallies;
  readonly faults: Counts;
  readonly inVain: Counts;
  readonly asked: number;
  readonly cycles: Counts;
  readonly mostRunning: number;
  /** Runs, by the limit that was reached. */
  readonly reached: Counts;
  readonly longest: { readonly run: number; readonly ms: number };
  readonly meanMs: number;
}

export function isBad({ lost, breaches, hung }: Pick<RunReport, "lost" | "breaches" | "hung">): boolean {
  return lost.length + breaches.length + hung.length > 0;
}

export function totalsOf(reports: readonly RunReport[]): Totals {
  const [longest = { run: 0, ms: 0 }] = reports.toSorted((a, b) => b.ms - a.ms);
  const sum = (of: (report: RunReport) => number) => reports.reduce((total, report) => total + of(report), 0);
  return {
    ...tallyOf(reports),
    byForm: talliesOf(reports, ({ form }) => [form]),
    byFault: talliesOf(reports, ({ drawn }) => drawn),
    fates: added(reports.map(({ fates }) => fates)),
    endings: added(reports.map(({ endings }) => endings)),
    causes: added(reports.map(({ causes }) => causes)),
    faults: added(reports.map(({ faults }) => faults)),
    inVain: added(reports.map(({ inVain }) => inVain)),
    asked: sum(({ asked }) => asked),
    cycles: added(reports.map(({ cycles }) => cycles)),
    mostRunning: Math.max(0, ...reports.map(({ mostRunning }) => mostRunning)),
    reached: added(reports.flatMap(({ reached }) => reached.map((limit) => ({ [limit]: 1 })))),
    longest: { run: longest.run, ms: longest.ms },
    meanMs: reports.length === 0 ? 0 : sum(({ ms }) => ms) / reports.length,
  };
}

function tallyOf(reports: readonly RunReport[]): Tally {
  return {
    runs: reports.length,
    vms: reports.reduce((sum, { vms }) => sum + vms, 0),
    lost: reports.reduce((sum, { lost }) => sum + lost.length, 0),
    broken: reports.filter(({ breaches }) => breaches.length > 0).length,
    hung: reports.filter(({ hung }) => hung.length > 0).length,
  };
}

function talliesOf(reports: readonly RunReport[], namesOf: (report: RunReport) => readonly string[]): Tallies {
  const names = new Set(reports.flatMap(namesOf).toSorted());
  return Object.fromEntries(
    [...names].map((name) => [name, tallyOf(reports.filter((report) => namesOf(report).includes(name)))]),
  );
}

function added(all: readonly Counts[]): Counts {
  const sums: Counts = {};
  for (const counts of all) for (const [key, count] of Object.entries(counts)) sums[key] = (sums[key] ?? 0) + count;
  return sums;
}
