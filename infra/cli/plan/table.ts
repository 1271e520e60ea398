/** Prints a plan for people: a row for each node, and then the problems and who can solve them. */
import type { VmClass } from "../../../shared/plan/evidence.ts";
import type { NodePlan, Range } from "../../../shared/plan/facts.ts";
import type { Plan } from "../../../shared/plan/plan.ts";
import { durationText } from "../../../shared/settings/time.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";
import type { Host, Stream } from "../host.ts";
import { CLI_MESSAGES } from "../messages.ts";
import { troubleOf } from "../preflight.ts";
import { type Paint, paintFor, printable, printTable } from "../print.ts";
import { aligned } from "../table.ts";
import { PLAN_TABLE_MESSAGES as MESSAGES } from "./messages.ts";

export function printPlan(plan: Plan, wide: boolean, host: Host, stream: Stream = host.stdout): void {
  const paint = paintFor(stream, host);
  const lines = [
    headline(plan),
    `  ${plan.basis}`,
    `  ${MESSAGES.withoutWork}`,
    ...rowsOf(plan, wide),
    ...(plan.nodes.some(({ unproven }) => unproven > 0) ? [`  ${MESSAGES.unprovenMark}`] : []),
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
  const vms = new Set(
    nodes.flatMap(({ pods }) =>
      pods.flatMap(({ namespace, vmi }) => (vmi === undefined ? [] : [`${namespace}/${vmi}`])),
    ),
  );
  const sums = {
    nodes: nodes.length,
    vms: vms.size,
    moves: sum(({ moves }) => moves),
    restarts: sum(({ restarts }) => restarts),
    shutdowns: sum(({ shutdowns }) => shutdowns),
  };
  return MESSAGES.headline(sums, endOf(plan));
}

function endOf({ nodes, begins, takes }: Plan): string {
  const [first, ...others] = nodes.filter(isNotDrained);
  if (first === undefined) return MESSAGES.ends(clockText(begins, takes.least), clockText(begins, takes.most));
  const isRefused = nodes.every((node) => !isNotDrained(node) || node.refusal !== undefined);
  return MESSAGES.doesNotEnd(first.node, others.length, isRefused);
}

export function isNotDrained({ verdict, refusal }: Pick<NodePlan, "verdict" | "refusal">): boolean {
  return verdict === "WillBlock" || verdict === "NoRoom" || refusal !== undefined;
}

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

function rowsOf({ nodes, begins }: Plan, wide: boolean): readonly string[] {
  const rows = nodes.map(({ node, vms, moves, starts, ends, verdict, unproven, ...one }) => {
    const end = isNotDrained({ ...one, verdict }) ? "" : rangeText(begins, ends);
    const start = one.refusal === undefined ? rangeText(begins, starts) : MESSAGES.refused;
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

function troubles({ nodes, unread }: Plan, paint: Paint): readonly string[] {
  const warn = paint("‼", "yellow");
  const blocks = [
    ...nodes.flatMap((node) => troublesOf(node, paint)),
    ...refusals(nodes, paint),
    ...[...unread, ...nodes.flatMap(({ unknown }) => unknown)].map((what) => [
      `${warn} ${CLI_MESSAGES.notKnown(printable(what))}`,
    ]),
    ...nodes.filter(({ isInTime }) => isInTime === false).map(({ node }) => [`${warn} ${MESSAGES.late(node)}`]),
    ...nodes
      .filter(({ waiting }) => waiting > 0)
      .map((one) => [`${warn} ${MESSAGES.guestsWait(one.node, one.waiting)}`]),
    ...nodes.filter(({ refusal }) => refusal === undefined).flatMap((one) => powerLines(one, warn)),
  ];
  return [...new Map(blocks.map((lines) => [lines[0], lines])).values()].flat();
}

function troublesOf({ node, pods, shortage, roomAfter }: NodePlan, paint: Paint): readonly (readonly string[])[] {
  const short = shortage === undefined ? [] : [[`${paint("×", "red")} ${MESSAGES.noRoom(node, shortage, roomAfter)}`]];
  return [...short, ...pods.filter(isInTheWay).map((pod) => troubleOf(pod, paint).slice(1))];
}

/** Lists the nodes whose drain does not start. */
function refusals(nodes: readonly NodePlan[], paint: Paint): readonly (readonly string[])[] {
  const last = nodes.length - 1;
  const first = nodes.findIndex(({ refusal }) => refusal !== undefined);
  return nodes.flatMap(({ node, refusal }, at) => {
    if (refusal === undefined) return [];
    const stops = at === first && at < last ? [`    ${MESSAGES.laterNodes}`] : [];
    return [[`${paint("×", "red")} ${MESSAGES.doesNotStart(node, refusal)}`, ...stops]];
  });
}

function powerLines({ node, powerOff: [first, ...more] }: NodePlan, warn: string): readonly (readonly string[])[] {
  return first === undefined ? [] : [[`${warn} ${MESSAGES.staysOn(node, first, more.length)}`]];
}

function classOfTable({ launcher, machine, cpu, storage, architecture }: VmClass): string {
  return [`launcher ${nameOf(launcher)}`, machine, architecture, `CPU ${cpu}`, `storage ${storage}`]
    .filter(Boolean)
    .join(", ");
}

function evidenceLines({ evidence: { classes, launcher } }: Plan, paint: Paint): readonly string[] {
  const warn = paint("‼", "yellow");
  return classes.flatMap((one): readonly string[] => {
    const vms = `${warn} ${MESSAGES.vmsOf(one.vms.length, classOfTable(one))}`;
    switch (one.proof) {
      case "Proven":
        return [];
      case "Failing":
        return [`${vms}: ${failedText(one)}`];
      case "Unproven":
        return [
          `${vms}: ${MESSAGES.unproven(nameOf(launcher ?? MESSAGES.todaysLauncher))}`,
          ...(one.canary === undefined
            ? []
            : [`    ${paint(printable(MESSAGES.proveBy(canaryCommand(one.canary))), "dim")}`]),
        ];
    }
  });
}

function failedText({ failed: { times, vm, reason } = { times: 1, vm: "", reason: "" } }: VmClass): string {
  return MESSAGES.failing(times, vm, reason);
}

function canaryCommand(canary: string): string {
  const [namespace = "", name = ""] = canary.split("/");
  return `lifeboat evacuate ${name} -n ${namespace}`;
}

function nameOf(image: string): string {
  return image.replace(/^.*\//, "").replace(/^(.*@sha256:.{8}).*$/, "$1");
}

function orderLines({ stuck = [] }: Plan, paint: Paint): readonly string[] {
  if (stuck.length === 0) return [];
  return [`${paint("×", "red")} ${MESSAGES.noRoomInAnyOrder(stuck)}`];
}

function summaryOf({ evidence: { classes }, nodes, takes }: Plan): string {
  const count = (proof: VmClass["proof"]) =>
    classes.reduce((sum, one) => sum + (one.proof === proof ? one.vms.length : 0), 0);
  const proofs = MESSAGES.proofs(count("Proven"), count("Unproven"), count("Failing"));
  if (nodes.some(isNotDrained)) return proofs;
  return `${proofs} · ${MESSAGES.takes(durationText(takes.least), durationText(takes.most))}`;
}
