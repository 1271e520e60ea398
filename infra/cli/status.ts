/** `lifeboat status`: shows active maintenance, and what blocks it. */
import { hasEnded, type NodeEvacuationFacts } from "../../shared/kube/node-evacuation.ts";
import { keyOf } from "../../shared/kube/objects.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../shared/kube/rolling-maintenance.ts";
import { durationText, secondsSince } from "../../shared/settings/time.ts";
import { type Add, EXIT, output } from "./command.ts";
import type { Host } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { SELECTOR } from "./preflight.ts";
import { printable, printAs, printTable } from "./print.ts";
import { allTargets, type Targets, targetsOf, targetWords, WORDS } from "./targets.ts";
import type { UnreadObject } from "./unread.ts";

export const status: Add = (program, { host, connect, ends }) => {
  program
    .command("status")
    .description(
      `Shows scheduled and active maintenance of nodes, what blocks it, and since when. With names, the command shows
only the named maintenance, even if the maintenance has ended. For ended maintenance, SINCE is the time since its end.

Exit code: 3 a maintenance is Blocked (nothing moves until a person acts), 4 an object could not be read, otherwise 0.`,
    )
    .argument("[maintenance...]", WORDS, targetWords, [])
    .option(...SELECTOR)
    .addOption(output("wide: also the start times"))
    .action(
      ends(async (words, { selector, output: form }) => {
        const connection = connect();
        const isNamed = words.length > 0 || selector !== undefined;
        const targets = isNamed
          ? await targetsOf({ words, selector, isOver: true, isUnreadFound: true }, connection)
          : openOf(await allTargets(connection));
        const rows = rowsOf(targets, host);
        printAs(form, { data: { maintenance: rows }, table: (isWide) => print(rows, isWide, host) }, host);
        if (rows.some(({ phase }) => phase === "Blocked")) return EXIT.no;
        return targets.unread.length > 0 ? EXIT.unknown : EXIT.done;
      }),
    );
};

function openOf({ nodeEvacuations, rolling, unread }: Targets): Targets {
  return {
    unread,
    nodeEvacuations: nodeEvacuations.filter((one) => !hasEnded(one)),
    rolling: rolling.filter((one) => !hasRollingEnded(one)),
  };
}

interface Row {
  readonly object: string;
  readonly phase: string;
  readonly done: string;
  readonly startTime: string;
  readonly since: string;
  readonly message: string;
  readonly blockers: NodeEvacuationFacts["status"]["blockers"];
}

function rowsOf({ nodeEvacuations, rolling, unread }: Targets, host: Host): readonly Row[] {
  return [
    ...rolling.map((one) => rollingRow(one, host)),
    ...nodeEvacuations.map((one) => nodeRow(one, host)),
    ...unread.map(unreadRow),
  ];
}

/** Returns the row of an object that cannot be parsed. The object can be a maintenance in progress. */
function unreadRow(one: UnreadObject): Row {
  const message = MESSAGES.unread(one);
  return { object: one.object, phase: "Unknown", done: "", startTime: "", since: "", message, blockers: [] };
}

function rollingRow(rm: RollingMaintenanceFacts, host: Host): Row {
  const { name, status: is } = rm;
  const { evacuated = 0, total = 0 } = is.nodeCounts ?? {};
  const message = [messageOf(rm), is.forecast].filter((text) => text !== undefined).join("; ");
  const done = total === 0 ? "" : `${evacuated}/${total} nodes`;
  return {
    object: `rollm/${name}`,
    phase: is.phase ?? "Scheduled",
    done,
    startTime: is.startTime ?? "",
    since: ageOf(is.completionTime ?? is.startTime, host),
    message,
    blockers: [],
  };
}

function nodeRow(ne: NodeEvacuationFacts, host: Host): Row {
  const { name, spec, status: is } = ne;
  const { left = 0, total = 0 } = is.virtualMachines ?? {};
  const done = is.virtualMachines === undefined ? "" : `${total - left}/${total} VMs`;
  const object = `node/${spec.nodeName} (${name})`;
  return {
    object,
    phase: is.phase ?? "Scheduled",
    done,
    startTime: is.startTime ?? "",
    since: ageOf(is.completionTime ?? is.startTime, host),
    message: messageOf(ne),
    blockers: hasEnded({ status: is }) ? [] : is.blockers,
  };
}

/** Returns the message of a maintenance, including a pause that is not yet in the status. */
export function messageOf({ spec, status }: NodeEvacuationFacts | RollingMaintenanceFacts): string {
  const { phase, message = MESSAGES.notReadYet, completionTime } = status;
  const isPausedNow = spec.progress === "Paused" && phase !== "Paused" && completionTime === undefined;
  return isPausedNow ? MESSAGES.paused(message) : message;
}

function ageOf(time: string | undefined, host: Host): string {
  return time === undefined ? "" : durationText(secondsSince(time, host.now()));
}

function print(rows: readonly Row[], isWide: boolean, host: Host): void {
  if (rows.length === 0) {
    host.stdout.write(`${MESSAGES.noMaintenance}\n`);
    return;
  }
  const started = (time: string) => (isWide ? [time] : []);
  const cells = rows.map(({ object, phase, done, since, startTime, message }) => {
    return [object, phase, done, since, ...started(startTime), message];
  });
  printTable(["OBJECT", "PHASE", "DONE", "SINCE", ...started("STARTED"), "MESSAGE"], cells, host.stdout);
  for (const { object, blockers } of rows) {
    for (const one of blockers) {
      const since = one.since === undefined ? undefined : ageOf(one.since, host);
      const why = MESSAGES.withFix(one.message, one.whoCanFix);
      host.stdout.write(`× ${printable(MESSAGES.blocker(object, keyOf(one), since, why))}\n`);
    }
  }
}
