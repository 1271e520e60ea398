/** What is printed: a line now and then, a bad run with its plan, the table at the end. */
import { aligned, type Cells } from "../../tools/console/table.ts";
import type { Plan } from "./plan.ts";
import type { Counts, RunReport, Tallies, Totals } from "./report.ts";

export function renderProgress(totals: Totals, of: number, seconds: number): string {
  const { runs, vms, lost, broken, hung } = totals;
  return `${seconds} s: ${runs} of ${of} runs, ${vms} VMs, lost ${lost}, runs broken ${broken}, runs hung ${hung}`;
}

/** How to have it again comes first. */
export function renderBadRun(report: RunReport, plan: Plan): string {
  const { run, lost, breaches, hung, faults } = report;
  const lines = [
    `run ${run} failed: npm run chaos -- --seed ${plan.seed} --runs 1 --from ${run}`,
    ...lost.map((key) => `  lost: ${key}`),
    ...breaches.map((what) => `  broken: ${what}`),
    ...hung.map((what) => `  hung: ${what}`),
    `  faults: ${renderCounts(faults)}`,
    `  plan: ${renderPlan(plan)}`,
  ];
  return lines.join("\n");
}

/** One line of JSON; what never ends is `null` there. */
export function renderPlan({ vms, ...plan }: Plan): string {
  const cast = vms.map((vm) => [vm.name, vm.place, vm.strategy, vm.migratable ? "" : "pinned", failures(vm.failures)]);
  return JSON.stringify({ ...plan, vms: cast.map((words) => words.filter((word) => word !== "").join(" ")) });
}

function failures(count: number): string {
  if (count === 0) return "";
  return Number.isFinite(count) ? `fails ${count}×` : "fails always";
}

export function renderTotals(totals: Totals, seconds: number): string {
  const { runs, vms, fates, endings, causes, faults, inVain, longest, meanMs, lost, broken, hung } = totals;
  const rows: readonly Cells[] = [
    [
      "runs",
      `${runs} in ${seconds} s; ${(meanMs / 1000).toFixed(1)} s on average, the longest ${secondsOf(longest.ms)} (run ${longest.run})`,
    ],
    ["VMs", `${vms}: ${renderCounts(fates)}`],
    ["evacuations by cause", renderCounts(causes)],
    ["evacuations ended", renderCounts(endings)],
    ["faults", renderCounts(faults)],
    ["tried in vain", renderCounts(inVain)],
    ["descheduling", renderDescheduling(totals)],
    ["migrations at once", `${totals.mostRunning} at most; runs at a limit: ${renderCounts(totals.reached)}`],
    ["runs with a limit broken", String(broken)],
    ["runs with something hung", String(hung)],
  ];
  return [...renderTallies(totals), "", ...aligned(rows), `VMs lost: ${lost}`].join("\n");
}

/** A run stands in the row of its form, and in one for each of its faults. */
function renderTallies({ byForm, byFault }: Totals): readonly string[] {
  return aligned([...tallyRows("form", byForm), ...tallyRows("fault", byFault)], { right: isFigure });
}

function isFigure(column: number): boolean {
  return column > 0;
}

function tallyRows(head: string, tallies: Tallies): readonly Cells[] {
  const rows = Object.entries(tallies).map(([name, { runs, vms, lost, broken, hung }]) => [
    `  ${name}`,
    ...[runs, vms, lost, broken, hung].map(String),
  ]);
  return [[head, "runs", "VMs", "VMs lost", "runs broken", "runs hung"], ...rows];
}

function renderDescheduling({ asked, cycles }: Totals): string {
  const answers = Object.entries(cycles).map(([answer, times]) => `${answer} × ${times}`);
  return `${asked} VMs asked for; cycles: ${answers.join(", ") || "none"}`;
}

function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function renderCounts(counts: Counts): string {
  const sorted = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}
