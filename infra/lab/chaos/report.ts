/** The result of a run, and the printed output of all runs. */
import * as z from "zod/mini";
import { aligned, type Cells } from "../../cli/table.ts";
import { drawPlan, type Plan, type PlanOptions } from "./plan.ts";

const Counts = z.record(z.string(), z.number());
export type Counts = z.output<typeof Counts>;
const Texts = z.readonly(z.array(z.string()));

export const RunReportSchema = z.object({
  run: z.number(),
  ms: z.number(),
  vms: z.number(),
  fates: Counts,
  endings: Counts,
  causes: Counts,
  /** How often each fault had an effect. */
  struck: Counts,
  lost: Texts,
  breaches: Texts,
  /** The expected results that did not happen, and the objects that were still in progress at the end of the run. */
  hung: Texts,
});
export type RunReport = z.output<typeof RunReportSchema>;

export function countsOf(items: Iterable<string>): Counts {
  const counts: Counts = {};
  for (const item of items) counts[item] = (counts[item] ?? 0) + 1;
  return counts;
}

export function isBad({ lost, breaches, hung }: Pick<RunReport, "lost" | "breaches" | "hung">): boolean {
  return lost.length + breaches.length + hung.length > 0;
}

export function renderProgress(reports: readonly RunReport[], of: number, seconds: number): string {
  const [runs, vms, lost, broken, hung] = tallyOf(reports);
  return `${seconds} s: ${runs} of ${of} runs, ${vms} VMs, lost ${lost}, runs broken ${broken}, runs hung ${hung}`;
}

/** Formats the report of a failed run. The first line is the command that repeats the run. */
export function renderBadRun({ lost, breaches, hung, struck }: RunReport, options: PlanOptions): string {
  return [
    `run ${options.run} failed: ${commandOf(options)}`,
    ...lost.map((key) => `  lost: ${key}`),
    ...breaches.map((what) => `  broken: ${what}`),
    ...hung.map((what) => `  hung: ${what}`),
    `  faults: ${renderCounts(struck)}`,
    `  plan: ${renderPlan(drawPlan(options))}`,
  ].join("\n");
}

function commandOf({ seed, run, vms, only = [], form }: PlanOptions): string {
  const flags = [
    ...(vms === undefined ? [] : [`--vms ${vms}`]),
    ...only.map((name) => `--only ${name}`),
    ...(form === undefined ? [] : [`--form ${form}`]),
  ];
  return ["npm run chaos --", `--seed ${seed}`, "--runs 1", `--from ${run}`, ...flags].join(" ");
}

function failures(count: number): string {
  return count === 0 ? "" : `fails ${Number.isFinite(count) ? `${count}×` : "always"}`;
}

function renderPlan({ vms, ...plan }: Plan): string {
  const words = vms.map((vm) => [vm.name, vm.place, vm.strategy, vm.migratable ? "" : "pinned", failures(vm.failures)]);
  return JSON.stringify({ ...plan, vms: words.map((vm) => vm.filter((word) => word !== "").join(" ")) });
}

export function renderTotals(reports: readonly RunReport[], seconds: number): string {
  const [runs, vms, lost, broken, hung] = tallyOf(reports);
  const [longest] = reports.toSorted((a, b) => b.ms - a.ms);
  const mean = reports.reduce((sum, { ms }) => sum + ms, 0) / Math.max(1, reports.length);
  const sumOf = (of: (report: RunReport) => Counts) => renderCounts(added(reports.map(of)));
  const rows: readonly Cells[] = [
    [
      "runs",
      `${runs} in ${seconds} s; ${secondsOf(mean)} on average; the longest run took ${secondsOf(longest?.ms ?? 0)} (run ${longest?.run})`,
    ],
    ["VMs", `${vms}: ${sumOf(({ fates }) => fates)}`],
    ["evacuations by cause", sumOf(({ causes }) => causes)],
    ["evacuations ended", sumOf(({ endings }) => endings)],
    ["faults", sumOf(({ struck }) => struck)],
    ["runs with violated invariants", `${broken}`],
    ["runs with unfinished work", `${hung}`],
  ];
  return [...aligned(rows), `VMs lost: ${lost}`].join("\n");
}

/** Counts the runs, VMs, lost VMs, runs with violated invariants, and runs with unfinished work. */
function tallyOf(reports: readonly RunReport[]): readonly [number, number, number, number, number] {
  const sum = (of: (report: RunReport) => number) => reports.reduce((total, report) => total + of(report), 0);
  return [
    reports.length,
    sum(({ vms }) => vms),
    sum(({ lost }) => lost.length),
    sum(({ breaches }) => Number(breaches.length > 0)),
    sum(({ hung }) => Number(hung.length > 0)),
  ];
}

function added(all: readonly Counts[]): Counts {
  const sums: Counts = {};
  for (const counts of all) for (const [key, count] of Object.entries(counts)) sums[key] = (sums[key] ?? 0) + count;
  return sums;
}

function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function renderCounts(counts: Counts): string {
  const sorted = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}
