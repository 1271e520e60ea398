/**
 * What a run came to, as it travels from the process that did it.
 * Owns: the shape, what makes a run a bad one, sums over runs. Does not own: how it is shown (table.ts).
 */
import * as z from "zod/mini";

const Counts = z.record(z.string(), z.number());
export type Counts = z.output<typeof Counts>;

export const RunReportSchema = z.object({
  run: z.number(),
  ms: z.number(),
  vms: z.number(),
  /** Of the VMs. */
  fates: Counts,
  /** Of the evacuations. */
  endings: Counts,
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

export interface Totals {
  readonly runs: number;
  readonly vms: number;
  readonly lost: number;
  /** Runs with something broken. */
  readonly broken: number;
  /** Runs with something hung. */
  readonly hung: number;
  readonly fates: Counts;
  readonly endings: Counts;
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
    runs: reports.length,
    vms: sum(({ vms }) => vms),
    lost: sum(({ lost }) => lost.length),
    broken: sum(({ breaches }) => Math.min(breaches.length, 1)),
    hung: sum(({ hung }) => Math.min(hung.length, 1)),
    fates: added(reports.map(({ fates }) => fates)),
    endings: added(reports.map(({ endings }) => endings)),
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

function added(all: readonly Counts[]): Counts {
  const sums: Counts = {};
  for (const counts of all) for (const [key, count] of Object.entries(counts)) sums[key] = (sums[key] ?? 0) + count;
  return sums;
}
