/** Prints a plan for people: a row for each node in 80 columns, then the problems and who can solve them. */
import type { VmClass } from "../../../shared/plan/evidence.ts";
import type { NodePlan, Range } from "../../../shared/plan/facts.ts";
import type { Plan } from "../../../shared/plan/plan.ts";
import { durationText } from "../../../shared/settings/time.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";
import type { Host, Stream } from "../host.ts";
import { troubleOf } from "../preflight.ts";
import { type Paint, paintFor, printable, printTable } from "../print.ts";
import { aligned } from "../table.ts";

export function printPlan(plan: Plan, wide: boolean, host: Host, stream: Stream = host.stdout): void {
  const paint = paintFor(stream, host);
  const lines = [
    headline(plan),
    `  ${plan.basis}`,
    "  work on a drained node takes additional time",
    ...rowsOf(plan, wide),
    ...(plan.nodes.some(({ unproven }) => unproven > 0)
      ? ["  ?: the number of leaving VMs whose class no migration has proven"]
      : []),
    ...troubles(plan, paint),
    ...evidenceLines(plan, paint),
    ...orderLines(plan, paint),
    summaryOf(plan),
  ];
  for (const line of lines) stream.write(`${line}\n`);
  if (!wide) return;
  stream.write("\n");
  const rows = plan.nodes.flatMap(({ node, pods }) =>
    pods.flatMap(({ namespace, vmi, outcome, room, message }) =>
      vmi === undefined ? [] : [[node, namespace, vmi, outcome, room?.node ?? "", message]],
    ),
  );
  printTable(["NODE", "NAMESPACE", "VM", "OUTCOME", "TO", "MESSAGE"], rows, stream);
}

function headline(plan: Plan): string {
  const { nodes } = plan;
  const sum = (of: (node: NodePlan) => number) => nodes.reduce((total, node) => total + of(node), 0);
  const parts = [
    counted(
      sum(({ moves }) => moves),
      "migration",
    ),
    counted(
      sum(({ restarts }) => restarts),
      "restart",
    ),
    counted(
      sum(({ shutdowns }) => shutdowns),
      "shutdown",
    ),
  ];
  const vms = new Set(
    nodes.flatMap(({ pods }) =>
      pods.flatMap(({ namespace, vmi }) => (vmi === undefined ? [] : [`${namespace}/${vmi}`])),
    ),
  );
  return `${counted(nodes.length, "node")}, ${counted(vms.size, "VM")}: ${endOf(plan)}; ${parts.join(", ")}`;
}

/** A plan with a node that is not drained has no end. */
function endOf({ nodes, begins, takes }: Plan): string {
  const [first, ...others] = nodes.filter(isNotDrained);
  if (first === undefined) return `ends ${between(begins, takes)}`;
  const more = others.length === 0 ? "" : ` and ${counted(others.length, "more node")}`;
  const verb = nodes.some((node) => isNotDrained(node) && node.refusal === undefined)
    ? "does not end"
    : "is not complete";
  return `${verb}, because of ${printable(first.node)}${more}`;
}

/** Returns whether the node is not drained. */
export function isNotDrained({ verdict, refusal }: Pick<NodePlan, "verdict" | "refusal">): boolean {
  return verdict === "WillBlock" || verdict === "NoRoom" || refusal !== undefined;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function between(begins: string, { least, most }: Range): string {
  const [from, to] = [clockText(begins, least), clockText(begins, most)];
  return from === to ? `at ${from}` : `between ${from} and ${to}`;
}

/** Renders hours and minutes in this computer's zone. */
function clockText(begins: string, seconds: number): string {
  const time = new Date(Date.parse(begins) + seconds * 1000);
  return [time.getHours(), time.getMinutes()].map((number) => String(number).padStart(2, "0")).join(":");
}

function rangeText(begins: string, { least, most }: Range): string {
  const [from, to] = [clockText(begins, least), clockText(begins, most)];
  return from === to ? from : `${from}–${to}`;
}

const WIDTH = 80;
const GAP = "  ";
const SHORTEST_NAME = 8;
const HEADER = ["NODE", "STARTS", "VMS", "MOVES", "ENDS", "VERDICT"] as const;

/** Renders a row for each node. Cuts long names unless the output is wide. */
function rowsOf({ nodes, begins }: Plan, wide: boolean): readonly string[] {
  const rows = nodes.map(({ node, vms, moves, starts, ends, verdict, unproven, ...one }) => {
    const end = isNotDrained({ ...one, verdict }) ? "" : rangeText(begins, ends);
    const start = one.refusal === undefined ? rangeText(begins, starts) : "refused";
    const late = one.isInTime === false ? "!" : "";
    const beside = unproven === 0 ? "" : ` ?${unproven}`;
    return [printable(node), start, `${vms}`, `${moves}`, `${end}${late}`, `${verdict}${beside}`];
  });
  const others = HEADER.slice(1).map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at + 1]?.length ?? 0)),
  );
  const taken = others.reduce((sum, width) => sum + width + GAP.length, 0);
  const longest = wide ? Infinity : Math.max(SHORTEST_NAME, WIDTH - taken);
  const cut = (name: string) => (name.length > longest ? `${name.slice(0, longest - 1)}…` : name);
  return aligned([HEADER, ...rows.map(([node = "", ...rest]) => [cut(node), ...rest])], { gap: GAP });
}

/** Lists each problem once, with the first node that has it. */
function troubles({ nodes, unread }: Plan, paint: Paint): readonly string[] {
  const warn = paint("‼", "yellow");
  const blocks = [
    ...nodes.flatMap((node) => troublesOf(node, paint)),
    ...refusals(nodes, paint),
    ...[...unread, ...nodes.flatMap(({ unknown }) => unknown)].map((what) => [`${warn} not known: ${printable(what)}`]),
    ...nodes
      .filter(({ isInTime }) => isInTime === false)
      .map(({ node }) => [`${warn} ${node} may not be empty in time`]),
    ...nodes.filter(({ waiting }) => waiting > 0).map((one) => [`${warn} ${waitingText(one)}`]),
    ...nodes.filter(({ refusal }) => refusal === undefined).flatMap((one) => powerLines(one, warn)),
  ];
  return [...new Map(blocks.map((lines) => [lines[0], lines])).values()].flat();
}

function troublesOf({ node, pods, shortage, roomAfter }: NodePlan, paint: Paint): readonly (readonly string[])[] {
  const hint = roomAfter === undefined ? "" : `; with --order planned ${node} goes after ${roomAfter}`;
  const short = shortage === undefined ? [] : [[`${paint("×", "red")} ${node}: ${shortage}${hint}`]];
  return [...short, ...pods.filter(isInTheWay).map((pod) => troubleOf(pod, paint).slice(1))];
}

function waitingText({ node, waiting }: NodePlan): string {
  const guests = waiting === 1 ? "1 guest waits, and continues" : `${waiting} guests wait, and continue`;
  return `${printable(node)}: ${guests} to run while something else blocks the node`;
}

/** Names nodes that are not drained. The first one stops a RollingMaintenance, unless it says otherwise. */
function refusals(nodes: readonly NodePlan[], paint: Paint): readonly (readonly string[])[] {
  const last = nodes.length - 1;
  const first = nodes.findIndex(({ refusal }) => refusal !== undefined);
  return nodes.flatMap(({ node, refusal }, at) => {
    if (refusal === undefined) return [];
    const stops =
      at === first && at < last ? [`    no later node starts then, except with whenNodeFails: Continue`] : [];
    return [[`${paint("×", "red")} ${node} does not start: ${printable(refusal)}`, ...stops]];
  });
}

function powerLines({ node, powerOff: [first, ...more] }: NodePlan, warn: string): readonly (readonly string[])[] {
  const rest = more.length === 0 ? "" : ` (and ${more.length} more)`;
  return first === undefined ? [] : [[`${warn} ${node} cannot be powered off afterwards: ${printable(first)}${rest}`]];
}

function classOfTable({ launcher, machine, cpu, storage, architecture }: VmClass): string {
  return [`launcher ${nameOf(launcher)}`, machine, architecture, `CPU ${cpu}`, `storage ${storage}`]
    .filter(Boolean)
    .join(", ");
}

function evidenceLines({ evidence: { classes, launcher } }: Plan, paint: Paint): readonly string[] {
  const warn = paint("‼", "yellow");
  return classes.flatMap((one): readonly string[] => {
    const vms = `${warn} ${counted(one.vms.length, "VM")} (${printable(classOfTable(one))})`;
    switch (one.proof) {
      case "Proven":
        return [];
      case "Failing":
        return [`${vms}: ${failedText(one)}`];
      case "Unproven":
        return [
          `${vms}: never seen to migrate to ${printable(nameOf(launcher ?? "today's launcher"))}: unproven`,
          ...(one.canary === undefined
            ? []
            : [`    ${paint(printable(`one migration would prove that: ${canaryCommand(one.canary)}`), "dim")}`]),
        ];
    }
  });
}

function failedText({ failed: { times, vm, reason } = { times: 1, vm: "", reason: "" } }: VmClass): string {
  const last = times === 1 ? "the last migration" : `the last ${times} migrations`;
  return `${last} failed; ${printable(vm)}: ${printable(reason)}`;
}

function canaryCommand(canary: string): string {
  const [namespace = "", name = ""] = canary.split("/");
  return `lifeboat evacuate ${name} -n ${namespace}`;
}

/** Returns an image's name without its registry. */
function nameOf(image: string): string {
  return image.replace(/^.*\//, "").replace(/^(.*@sha256:.{8}).*$/, "$1");
}

function orderLines({ stuck = [] }: Plan, paint: Paint): readonly string[] {
  if (stuck.length === 0) return [];
  return [`${paint("×", "red")} no tried order leaves room for the VMs and pods of ${stuck.map(printable).join(", ")}`];
}

function summaryOf({ evidence: { classes }, nodes, takes }: Plan): string {
  const count = (proof: VmClass["proof"]) =>
    classes.reduce((sum, one) => sum + (one.proof === proof ? one.vms.length : 0), 0);
  const proofs = `proven ${count("Proven")} · unproven ${count("Unproven")} · failing ${count("Failing")}`;
  if (nodes.some(isNotDrained)) return proofs;
  return `${proofs} · takes ${durationText(takes.least)} to ${durationText(takes.most)}`;
}
