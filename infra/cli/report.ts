/** `lifeboat report`: reports the outcome of a maintenance for each node and each VM. */
import {
  NODE_EVACUATION_BOUNDS,
  type NodeEvacuationFacts,
  type VmCounts,
  type VmOutcome,
} from "../../shared/kube/node-evacuation.ts";
import type { RollingMaintenanceFacts } from "../../shared/kube/rolling-maintenance.ts";
import { withoutFractions } from "../../shared/settings/time.ts";
import { type Add, EXIT, type ExitCode, output } from "./command.ts";
import type { Host } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { SELECTOR } from "./preflight.ts";
import { printable, printAs, printTable } from "./print.ts";
import { messageOf } from "./status.ts";
import { allTargets, type Targets, targetsOf, targetWords, WORDS } from "./targets.ts";

export const report: Add = (program, { host, connect, ends }) => {
  program
    .command("report")
    .description(
      `Shows the outcome of each node of a maintenance, and of each virtual machine that was on the nodes. The maintenance
can still be in progress. Lifeboat keeps outcomes for maintenance.historySeconds, 30 days by default.

Exit code: 0 every node was drained and every VM was moved without a restart, 4 the outcome of a node cannot be read, 3 otherwise.`,
    )
    .argument("[maintenance...]", WORDS, targetWords, [])
    .option(...SELECTOR)
    .addOption(output("markdown: for the change ticket", ["markdown"]))
    .action(
      ends(async (words, { selector, output: form }) => {
        const connection = connect();
        const { nodeEvacuations, rolling } = await targetsOf({ words, selector, isOver: true }, connection);
        const all = await allTargets(connection);
        const reports = [
          ...rolling.map((rm) => reportOfRolling(rm, all)),
          ...nodeEvacuations.map((ne) => ({
            name: ne.name,
            phase: ne.status.phase ?? "Scheduled",
            message: messageOf(ne),
            nodes: [reportOfNode(ne)],
          })),
        ];
        if (form === "markdown") printMarkdown(reports, host);
        else printAs(form, { data: { reports }, table: () => printTables(reports, host) }, host);
        return exitOf(reports);
      }),
    );
};

export interface Report {
  readonly name: string;
  readonly phase: string;
  readonly message: string;
  readonly nodes: readonly NodeReport[];
}

interface NodeReport {
  readonly node: string;
  readonly phase: string;
  readonly message: string;
  readonly startTime?: string | undefined;
  readonly completionTime?: string | undefined;
  /** The counts of all VMs, including VMs that the status does not list. */
  readonly counts?: VmCounts | undefined;
  readonly virtualMachines: readonly VmOutcome[];
  /** True if the NodeEvacuation cannot be parsed, so that the outcomes of its VMs are not known. */
  readonly isUnread?: true;
}

function reportOfRolling(rm: RollingMaintenanceFacts, { nodeEvacuations, unread }: Targets): Report {
  const nodes = rm.status.nodes.map((row): NodeReport => {
    const { nodeEvacuation } = row;
    const odd = unread.find(({ resource, name }) => resource === "nodeevacuations" && name === nodeEvacuation);
    const ne = nodeEvacuations.find(({ name, owner }) => name === nodeEvacuation && owner?.uid === rm.uid);
    const { name: node, phase, startTime, completionTime } = row;
    const message = odd === undefined ? (row.message ?? "") : MESSAGES.unread(odd);
    const { virtualMachines: counts = row.virtualMachines, outcomes = [] } = ne?.status ?? {};
    const known = { node, phase, message, startTime, completionTime, counts, virtualMachines: outcomes };
    return odd === undefined ? known : { ...known, isUnread: true };
  });
  return { name: rm.name, phase: rm.status.phase ?? "Scheduled", message: messageOf(rm), nodes };
}

function reportOfNode({ spec, status }: NodeEvacuationFacts): NodeReport {
  const { phase = "Scheduled", message = "", startTime, completionTime, virtualMachines: counts, outcomes } = status;
  return { node: spec.nodeName, phase, message, startTime, completionTime, counts, virtualMachines: outcomes };
}

const GOOD: readonly string[] = ["Evacuated", "Returned"];

function exitOf(reports: readonly Report[]): ExitCode {
  if (reports.every(isGood)) return EXIT.done;
  return reports.every((one) => isGood(one) || isUnknown(one)) ? EXIT.unknown : EXIT.no;
}

/** Returns whether the report is good, except for drained nodes whose outcomes are not known. */
function isUnknown({ nodes, ...report }: Report): boolean {
  const read = nodes.filter(({ isUnread, phase }) => isUnread !== true || !GOOD.includes(phase));
  return read.length < nodes.length && (read.length === 0 || isGood({ ...report, nodes: read }));
}

function isGood({ nodes }: Report): boolean {
  // A report without nodes is not good, because a RollingMaintenance that has not started has no nodes in its status.
  return (
    nodes.length > 0 &&
    nodes.every((one) => {
      const { counts, phase, virtualMachines, isUnread } = one;
      const isEachMoved = virtualMachines.every(({ outcome }) => outcome === "Moved");
      return (
        isUnread !== true &&
        GOOD.includes(phase) &&
        isEachMoved &&
        (unlistedIn(one) === 0 || counts?.total === counts?.moved)
      );
    })
  );
}

const NODE_HEADER = ["NODE", "PHASE", "STARTED", "ENDED", "VMS", "OUTCOMES", "MESSAGE"];
const VM_HEADER = ["NODE", "NAMESPACE", "VM", "OUTCOME", "REASON", "TO", "BEGAN", "ENDED"];

function nodeRow(one: NodeReport): readonly string[] {
  const { node, phase, message, startTime, completionTime, virtualMachines } = one;
  const counts = Map.groupBy(virtualMachines, ({ outcome = "Open" }) => outcome);
  const more = unlistedIn(one);
  const outcomes = [...counts].map(([outcome, vms]) => `${vms.length} ${outcome}`);
  const said = [...outcomes, ...(more === 0 ? [] : [MESSAGES.unlisted(more, one.counts?.moved ?? 0)])].join(", ");
  const total = `${virtualMachines.length + more}`;
  return [node, phase, timeText(startTime), timeText(completionTime), total, said, message];
}

function unlistedIn({ counts, virtualMachines }: NodeReport): number {
  const isFull = virtualMachines.length >= NODE_EVACUATION_BOUNDS["status.outcomes"];
  return isFull ? Math.max(0, (counts?.total ?? 0) - virtualMachines.length) : 0;
}

/** Returns a row for each VM. VMs that have not moved come first. */
function vmRows({ node, virtualMachines }: NodeReport): readonly (readonly string[])[] {
  const sorted = virtualMachines.toSorted((a, b) => Number(a.outcome === "Moved") - Number(b.outcome === "Moved"));
  return sorted.map(({ namespace, name, outcome = "Open", reason = "", targetNode = "", startTime, time }) => {
    return [node, namespace, name, outcome, reason, targetNode, timeText(startTime), timeText(time)];
  });
}

function timeText(time: string | undefined): string {
  return time === undefined ? "" : withoutFractions(time);
}

function printTables(reports: readonly Report[], { stdout }: Host): void {
  for (const one of reports) {
    stdout.write(`${printable(`${one.name}: ${one.phase}: ${one.message}`)}\n\n`);
    printTable(NODE_HEADER, one.nodes.map(nodeRow), stdout);
    stdout.write("\n");
    printTable(VM_HEADER, one.nodes.flatMap(vmRows), stdout);
  }
}

function printMarkdown(reports: readonly Report[], { stdout }: Host): void {
  for (const one of reports) {
    stdout.write(`## ${cell(one.name)}: ${cell(one.phase)}\n\n${cell(one.message)}\n\n`);
    for (const line of markdownTable(NODE_HEADER, one.nodes.map(nodeRow))) stdout.write(`${line}\n`);
    stdout.write("\n");
    for (const line of markdownTable(VM_HEADER, one.nodes.flatMap(vmRows))) stdout.write(`${line}\n`);
  }
}

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [markdownRow(header), `| ${header.map(() => "---").join(" | ")} |`, ...rows.map(markdownRow)];
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(" | ")} |`;
}

function cell(text: string): string {
  return printable(text).replaceAll(/[\\`*_[\]<>|#]/g, (character) => `\\${character}`);
}
