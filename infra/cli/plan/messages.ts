/** All messages of `lifeboat plan`. The messages of shared/plan give the reasons. */
import { printable } from "../print.ts";

const counted = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
const fromTo = (from: string, to: string) => (from === to ? `at ${from}` : `between ${from} and ${to}`);

interface Sums {
  readonly nodes: number;
  readonly vms: number;
  readonly moves: number;
  readonly restarts: number;
  readonly shutdowns: number;
}

export const PLAN_TABLE_MESSAGES = {
  // The command line, and progress
  expectedBandwidth: "Expected an amount per second, such as 64Mi or 1Gi.",
  reading: (list: string) => `reading ${list}`,
  rehearsing: (nodes: number) => `rehearsing the maintenance of ${counted(nodes, "node")}`,

  // The headline
  headline: ({ nodes, vms, moves, restarts, shutdowns }: Sums, end: string) => {
    const parts = [counted(moves, "migration"), counted(restarts, "restart"), counted(shutdowns, "shutdown")];
    return `${counted(nodes, "node")}, ${counted(vms, "VM")}: ${end}; ${parts.join(", ")}`;
  },
  ends: (from: string, to: string) => `the plan ends ${fromTo(from, to)}`,
  doesNotEnd: (first: string, others: number, isRefused: boolean) => {
    const more = others === 0 ? "" : ` and ${counted(others, "more node")}`;
    return `${isRefused ? "the plan is not complete" : "the plan does not end"}, because of ${printable(first)}${more}`;
  },
  withoutWork: "time for work on the drained nodes is not included",
  refused: "refused",
  unprovenMark: "?N: no successful migration is known for N of the leaving VMs, or for VMs like them",

  // Problems of a node
  noRoom: (node: string, shortage: string, after: string | undefined) =>
    `${node}: ${shortage}${after === undefined ? "" : `; --order planned drains ${node} after ${after}`}`,
  noRoomInAnyOrder: (nodes: readonly string[]) =>
    `no order that the plan has tried leaves room for the VMs and pods of ${nodes.map(printable).join(", ")}`,
  doesNotStart: (node: string, refusal: string) => `the drain of ${node} does not start: ${printable(refusal)}`,
  laterNodes: "because of this, Lifeboat drains no later node, except with whenNodeFails: Continue",
  late: (node: string) => `${node} might not be empty in time`,
  guestsWait: (node: string, guests: number) => {
    const said = guests === 1 ? "1 guest keeps running" : `${guests} guests keep running`;
    return `${printable(node)}: ${said} while something else blocks the node`;
  },
  staysOn: (node: string, obstacle: string, others: number) =>
    `${node} cannot be powered off afterwards: ${printable(obstacle)}${others === 0 ? "" : ` (and ${others} more)`}`,

  // Kinds of VMs, and whether VMs of each kind have migrated
  vmsOf: (vms: number, kind: string) => `${counted(vms, "VM")} (${printable(kind)})`,
  unproven: (launcher: string) => `no VM of this kind has migrated to ${printable(launcher)} yet (unproven)`,
  todaysLauncher: "today's launcher",
  proveBy: (command: string) => `find out with one migration: ${command}`,
  failing: (times: number, vm: string, reason: string) =>
    `the last ${times === 1 ? "migration" : `${times} migrations`} failed; ${printable(vm)}: ${printable(reason)}`,
  proofs: (proven: number, unproven: number, failing: number) =>
    `proven ${proven} · unproven ${unproven} · failing ${failing}`,
  takes: (least: string, most: string) => `takes ${least} to ${most}`,
} as const;
