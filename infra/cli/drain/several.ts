/** Drains several nodes with a new or an existing RollingMaintenance, and follows the drain. */
import { meaningOf, type NewObject } from "../../../shared/kube/client.ts";
import type { NodeEvacuationSpec } from "../../../shared/kube/node-evacuation.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { newRollingMaintenance } from "../../../shared/maintenance/api.ts";
import { durationText, secondsUntil } from "../../../shared/settings/time.ts";
import { EXIT, type ExitCode } from "../command.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import { SILENT_SECONDS } from "../maintenance.ts";
import { CLI_MESSAGES } from "../messages.ts";
import { printable } from "../print.ts";
import { listAll, notInList } from "../unread.ts";
import {
  createNews,
  type Following,
  linesOf,
  POLL_MS,
  read,
  type Followed,
  steadily,
  TAKEN_UP_SECONDS,
} from "./follow.ts";
import { DRAIN_MESSAGES as MESSAGES } from "./messages.ts";
import { type Options, unlikeInRolling } from "./options.ts";
import { printReport } from "./report.ts";

interface Joining extends Pick<Following, "connection" | "host"> {
  readonly options: Options;
}

/**
 * Finds the active RollingMaintenance of exactly these nodes. Throws if the RollingMaintenance differs from the
 * request.
 */
export async function joinedOf(
  nodes: readonly string[],
  asked: NodeEvacuationSpec,
  { connection, host, options }: Joining,
) {
  const all = await connection.cluster().list("rollingmaintenances");
  const wanted = nodes.toSorted().join();
  const found = all.find((one) => !hasRollingEnded(one) && one.spec.nodes.names?.toSorted().join() === wanted);
  const unlike = found === undefined ? [] : unlikeInRolling(found.spec, asked, options);
  if (found !== undefined && unlike.length > 0) throw new Failed(MESSAGES.otherRollingOptions(found.name, unlike));
  if (found !== undefined) host.stderr.write(`${MESSAGES.rollingMaintenance(found.name, false)}\n`);
  return found;
}

export async function createSeveral(
  nodes: readonly string[],
  spec: object,
  { connection, host }: Pick<Following, "connection" | "host">,
): Promise<RollingMaintenanceFacts> {
  const { name, manifest } = newRollingMaintenance(nodes, host.now(), spec);
  const created = await create(manifest, connection);
  host.stderr.write(`${MESSAGES.rollingMaintenance(name, true)}\n`);
  return created;
}

async function create(manifest: NewObject, connection: Connection): Promise<RollingMaintenanceFacts> {
  const answer = await connection.cluster().create("rollingmaintenances", manifest);
  meaningOf(answer, {});
  return answer.facts();
}

interface Whole {
  readonly rm: RollingMaintenanceFacts;
  readonly parts: readonly Followed[];
}

export async function followSeveral(asked: RollingMaintenanceFacts, following: Following): Promise<ExitCode> {
  const { host } = following;
  const began = host.now().getTime();
  const readSteadily = steadily(() => readWhole(asked, following), following);
  const say = createNews(host);
  let whole: Whole = { rm: asked, parts: [] };
  for (;;) {
    whole = (await readSteadily()) ?? whole;
    const seconds = (host.now().getTime() - began) / 1000;
    say([...whole.parts.flatMap(linesOf), ...wholeLines(whole, seconds)]);
    const ended = codeOf(whole, seconds, following);
    if (ended !== undefined) return printReport(whole.parts, ended, { ...following, rolling: whole.rm });
    await host.wait(POLL_MS);
  }
}

async function readWhole({ name, uid }: RollingMaintenanceFacts, following: Following): Promise<Whole> {
  const cluster = following.connection.cluster();
  const { items, unread } = await listAll(cluster, "rollingmaintenances");
  const rm = items.find((one) => one.uid === uid);
  if (rm === undefined) throw notInList("RollingMaintenance", name, unread);
  const own = (await cluster.list("nodeevacuations")).filter(({ owner }) => owner?.uid === uid);
  const order = new Map(rm.status.nodes.map((row, at) => [row.name, at]));
  const at = (node: string) => order.get(node) ?? order.size;
  const sorted = own.toSorted((a, b) => at(a.spec.nodeName) - at(b.spec.nodeName));
  return { rm, parts: await read(sorted, following) };
}

function wholeLines({ rm: { name, status } }: Whole, seconds: number): readonly string[] {
  const { phase, message = "" } = status;
  if (phase === undefined) return seconds > SILENT_SECONDS ? [CLI_MESSAGES.waiting] : [];
  return [printable(MESSAGES.progress(`rollm/${name}`, phase, message))];
}

function codeOf({ rm }: Whole, seconds: number, following: Following): ExitCode | undefined {
  const { host, timeout } = following;
  if (host.interrupted.aborted) return EXIT.interrupted;
  const code = endOf(rm, following);
  if (code !== undefined) return code;
  if (seconds >= timeout) {
    host.stderr.write(`${MESSAGES.notFollowed(durationText(seconds))}\n`);
    return EXIT.failed;
  }
  if (rm.status.phase === undefined && seconds > TAKEN_UP_SECONDS)
    throw new Failed(CLI_MESSAGES.notReactedYet(TAKEN_UP_SECONDS));
  return undefined;
}

function endOf(rm: RollingMaintenanceFacts, following: Following): ExitCode | undefined {
  const { phase, nodeCounts } = rm.status;
  if (hasRollingEnded(rm)) return phase === "Completed" && nodeCounts?.failed === 0 ? EXIT.done : EXIT.no;
  if (phase === "Blocked" && following.waitForBlocked !== true) return EXIT.no;
  return isForLater(rm, following) ? EXIT.done : undefined;
}

function isForLater({ spec, status }: RollingMaintenanceFacts, { host, at }: Following): boolean {
  return at !== undefined && status.phase === "Scheduled" && secondsUntil(spec.schedule.notBefore, host.now()) > 0;
}
