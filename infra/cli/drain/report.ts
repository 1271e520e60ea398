/** Prints the report of a drain: the result of each node, and the outcome and duration for each VM. */
import type { NodeEvacuationFacts } from "../../../shared/kube/node-evacuation.ts";
import { hasEnded } from "../../../shared/kube/node-evacuation.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { MAINTENANCE_MESSAGES } from "../../../shared/maintenance/messages.ts";
import { isTimeReached } from "../../../shared/maintenance/world.ts";
import { durationText } from "../../../shared/settings/time.ts";
import { EXIT, type ExitCode } from "../command.ts";
import type { Host } from "../host.ts";
import { paintFor, printable, printAs, printTable } from "../print.ts";
import type { Following, Followed } from "./follow.ts";
import { CLI_MESSAGES } from "../messages.ts";
import { DRAIN_MESSAGES as MESSAGES } from "./messages.ts";

interface NodeReport {
  readonly node: string;
  readonly nodeEvacuation: string;
  readonly phase: string;
  readonly message: string;
  /** Seconds from the start to the end, or until now. Absent if the drain has not started. */
  readonly seconds?: number;
  readonly virtualMachines?: NodeEvacuationFacts["status"]["virtualMachines"];
  readonly blockers: NodeEvacuationFacts["status"]["blockers"];
  readonly vms: readonly VmReport[];
}

interface VmReport {
  readonly namespace: string;
  readonly name: string;
  /** The phase of the VM's Evacuation, or `ShutDown` if the eviction shut down the VM. */
  readonly outcome: string;
  readonly to: string;
  /** The number of failed migrations. */
  readonly attempts: number;
  readonly waitedSeconds: number;
  readonly tookSeconds: number;
}

export function printReport(seen: readonly Followed[], code: ExitCode, { host, output, rolling }: Following): ExitCode {
  const reports = seen.map((one) => reportOf(one, host.now()));
  const data = { ...wholeOf(rolling), nodes: reports };
  printAs(output, { data, table: (isWide) => printTables({ seen, reports, rolling, code, isWide }, host) }, host);
  return code;
}

interface Printing {
  readonly seen: readonly Followed[];
  readonly reports: readonly NodeReport[];
  readonly rolling: RollingMaintenanceFacts | undefined;
  readonly code: ExitCode;
  readonly isWide: boolean;
}

function printTables({ seen, reports, rolling, code, isWide }: Printing, host: Host): void {
  const paint = paintFor(host.stdout, host);
  for (const { node, phase, message } of reports) {
    // A Scheduled node gets a warning, because its drain might never start.
    const isWaiting = phase === "Scheduled" && code !== EXIT.done;
    const [mark, style] = (isWaiting ? undefined : MARKS[phase]) ?? (["‼", "yellow"] as const);
    host.stdout.write(`${paint(mark, style)} ${MESSAGES.progress(`node/${node}`, phase, printable(message))}\n`);
  }
  const shown = isWide ? reports.flatMap(({ node, vms }) => vms.map((vm) => rowOf(node, vm))) : [];
  if (shown.length > 0) {
    host.stdout.write("\n");
    printTable(["NODE", "NAMESPACE", "VM", "OUTCOME", "TO", "FAILED", "WAITED", "TOOK"], shown, host.stdout);
  }
  const steps = rolling === undefined ? stepsOf(seen, code) : stepsOfWhole(rolling);
  const width = Math.max(...steps.map(([command]) => command.length));
  for (const [command, what] of steps) host.stdout.write(`  ${command.padEnd(width)}  ${what}\n`);
}

const MARKS: Readonly<Record<string, readonly [string, "green" | "red"]>> = {
  Scheduled: ["√", "green"],
  Evacuated: ["√", "green"],
  Blocked: ["×", "red"],
  Refused: ["×", "red"],
  Expired: ["×", "red"],
};

function reportOf({ ne, evacuations }: Followed, now: Date): NodeReport {
  const {
    phase = "Scheduled",
    message = isTimeReached(ne, now) ? CLI_MESSAGES.notReadYet : MAINTENANCE_MESSAGES.startsAt(ne.spec),
    startTime,
    completionTime,
    virtualMachines,
    blockers,
  } = ne.status;
  const began = startTime === undefined ? undefined : Date.parse(startTime);
  const ended = completionTime === undefined ? now.getTime() : Date.parse(completionTime);
  const vms = evacuations.map(({ namespace, spec, status, createdAt }) => ({
    namespace,
    name: spec.vmiName,
    outcome: status.phase ?? "Pending",
    to: status.targetNode ?? "",
    attempts: status.attempts,
    waitedSeconds: secondsFrom(began ?? createdAt, createdAt),
    tookSeconds: secondsFrom(createdAt, status.completionTime ? Date.parse(status.completionTime) : now.getTime()),
  }));
  const shut = ne.status.outcomes.flatMap(({ namespace, name, outcome, time }) =>
    outcome === "ShutDown" && time !== undefined ? [{ namespace, name, time }] : [],
  );
  const shutDown = shut.map(({ namespace, name, time }): VmReport => {
    const seconds = began === undefined ? 0 : secondsFrom(began, Date.parse(time));
    return { namespace, name, outcome: "ShutDown", to: "", attempts: 0, waitedSeconds: 0, tookSeconds: seconds };
  });
  return {
    node: ne.spec.nodeName,
    nodeEvacuation: ne.name,
    phase,
    message,
    ...(began !== undefined && { seconds: secondsFrom(began, ended) }),
    ...(virtualMachines && { virtualMachines }),
    blockers,
    vms: [...vms, ...shutDown].toSorted((a, b) => b.waitedSeconds + b.tookSeconds - (a.waitedSeconds + a.tookSeconds)),
  };
}

function secondsFrom(from: number, to: number): number {
  return Math.max(0, Math.round((to - from) / 1000));
}

function rowOf(node: string, vm: VmReport): readonly string[] {
  const { namespace, name, outcome, to, attempts, waitedSeconds, tookSeconds } = vm;
  return [node, namespace, name, outcome, to, `${attempts}`, durationText(waitedSeconds), durationText(tookSeconds)];
}

function stepsOf(seen: readonly Followed[], code: ExitCode): readonly (readonly [string, string])[] {
  const open = seen.filter(({ ne }) => !hasEnded(ne)).map(({ ne }) => ne.spec.nodeName);
  const [first] = open;
  if (first === undefined) {
    const evacuated = code === EXIT.done ? seen.map(({ ne }) => ne.spec.nodeName) : [];
    return evacuated.map((node) => [`kubectl uncordon ${node}`, MESSAGES.takesBack]);
  }
  return [
    [`lifeboat drain ${open.join(" ")}`, MESSAGES.follows],
    [`lifeboat pause ${first}`, MESSAGES.pauses],
    ...open.map((node) => [`lifeboat cancel node/${node}`, MESSAGES.cancels] as const),
  ];
}

function wholeOf(rm: RollingMaintenanceFacts | undefined) {
  return rm && { rollingMaintenance: { name: rm.name, phase: rm.status.phase, message: rm.status.message } };
}

function stepsOfWhole(rm: RollingMaintenanceFacts): readonly (readonly [string, string])[] {
  const report = [`lifeboat report rollm/${rm.name}`, MESSAGES.reports] as const;
  if (hasRollingEnded(rm)) return [report];
  return [
    ["lifeboat status", MESSAGES.shows],
    [`lifeboat pause rollm/${rm.name}`, MESSAGES.pauses],
    [`lifeboat cancel rollm/${rm.name}`, MESSAGES.cancels],
    report,
  ];
}
