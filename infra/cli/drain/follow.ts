/** Follows NodeEvacuations until they end or are blocked, the time limit is reached, or the user presses Ctrl-C. */
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { ClusterError, isForbidden, isSilence } from "../../../shared/kube/failures.ts";
import { hasEnded, type NodeEvacuationFacts, type NodeEvacuationStatus } from "../../../shared/kube/node-evacuation.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import type { RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { hasStarted, isTimeReached } from "../../../shared/maintenance/world.ts";
import { EXIT, type ExitCode, type Form } from "../command.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import { durationText } from "../../../shared/settings/time.ts";
import { SILENT_SECONDS } from "../maintenance.ts";
import { CLI_MESSAGES } from "../messages.ts";
import type { Host } from "../host.ts";
import { printable } from "../print.ts";
import { listAll, notInList } from "../unread.ts";
import { DRAIN_MESSAGES as MESSAGES } from "./messages.ts";
import { printReport } from "./report.ts";

export interface Following {
  readonly connection: Connection;
  readonly host: Host;
  /** The time limit for following, in seconds. */
  readonly timeout: number;
  readonly waitForBlocked?: true | undefined;
  readonly at?: unknown;
  readonly output: Form;
  readonly rolling?: RollingMaintenanceFacts;
}

/** A NodeEvacuation and the Evacuations of its VMs. `evacuations` is empty if the person may not read them. */
export interface Followed {
  readonly ne: NodeEvacuationFacts;
  readonly evacuations: readonly EvacuationFacts[];
}

export const POLL_MS = 2000;
/**
 * The time limit for Lifeboat's reaction, in seconds. If no relay reports changes to Lifeboat, Lifeboat reads requests
 * only once a minute.
 */
export const TAKEN_UP_SECONDS = 90;

export async function follow(asked: readonly NodeEvacuationFacts[], following: Following): Promise<ExitCode> {
  const { host } = following;
  const began = host.now().getTime();
  const readSteadily = steadily(() => read(asked, following), following);
  const say = createNews(host);
  let seen: readonly Followed[] = asked.map((ne) => ({ ne, evacuations: [] }));
  for (;;) {
    seen = (await readSteadily()) ?? seen;
    const seconds = (host.now().getTime() - began) / 1000;
    say([
      ...seen.flatMap(linesOf),
      ...(isSilent(seen, seconds) && !isForLater(seen, following) ? [CLI_MESSAGES.waiting] : []),
    ]);
    const ended = codeOf(seen, seconds, following);
    if (ended !== undefined) return printReport(seen, ended, following);
    await host.wait(POLL_MS);
  }
}

function isSilent([first]: readonly Followed[], seconds: number): boolean {
  return first?.ne.status.phase === undefined && seconds > SILENT_SECONDS;
}

function isForLater(seen: readonly Followed[], { host }: Following): boolean {
  return seen.every(({ ne }) => !isTimeReached(ne, host.now()));
}

function codeOf(seen: readonly Followed[], seconds: number, following: Following): ExitCode | undefined {
  if (following.host.interrupted.aborted) return EXIT.interrupted;
  const code = endOf(seen, seconds, following);
  if (code !== undefined) return code;
  if (seconds >= following.timeout) {
    following.host.stderr.write(`${MESSAGES.notFollowed(durationText(seconds))}\n`);
    return EXIT.failed;
  }
  if (isSilent(seen, seconds) && seconds > TAKEN_UP_SECONDS)
    throw new Failed(CLI_MESSAGES.notReactedYet(TAKEN_UP_SECONDS));
  return undefined;
}

/**
 * Returns the exit code if the command can exit, otherwise undefined. With `--at`, the command does not wait for drains
 * that start in the future.
 */
function endOf(seen: readonly Followed[], seconds: number, following: Following): ExitCode | undefined {
  const { host, waitForBlocked, at } = following;
  const all = seen.map(({ ne }) => ne);
  if (all.some((ne) => hasEnded(ne) && ne.status.phase !== "Evacuated")) return EXIT.no;
  if (all.some(({ status }) => status.phase === "Blocked") && waitForBlocked !== true) return EXIT.no;
  const open = all.filter((ne) => !hasEnded(ne));
  const waiting = isSilent(seen, seconds) ? ["Scheduled", undefined] : ["Scheduled"];
  const isLater = (ne: NodeEvacuationFacts) => waiting.includes(ne.status.phase) && !isTimeReached(ne, host.now());
  return open.length === 0 || (at !== undefined && open.every(isLater)) ? EXIT.done : undefined;
}

export async function read(
  asked: readonly NodeEvacuationFacts[],
  { connection }: Following,
): Promise<readonly Followed[]> {
  const cluster = connection.cluster();
  const { items: all, unread } = await listAll(cluster, "nodeevacuations");
  return await Promise.all(
    asked.map(async ({ name, uid }) => {
      const ne = all.find((one) => one.uid === uid);
      if (ne === undefined) throw notInList("NodeEvacuation", name, unread);
      const fields = { "spec.nodeEvacuation.name": name };
      const evacuations = hasStarted(ne) ? await cluster.list("evacuations", { fields }).catch(unlessForbidden) : [];
      return { ne, evacuations: evacuations.filter(({ spec }) => spec.nodeEvacuation?.uid === uid) };
    }),
  );
}

function unlessForbidden(error: unknown): readonly EvacuationFacts[] {
  if (error instanceof ClusterError && isForbidden(error)) return [];
  throw error;
}

/** Wraps a read so that it returns undefined while the API server does not answer. */
export function steadily<T>(read: () => Promise<T>, { host }: Following): () => Promise<T | undefined> {
  let isSilent = false;
  return async () => {
    try {
      const found = await read();
      if (isSilent) host.stderr.write(`${MESSAGES.answersAgain}\n`);
      isSilent = false;
      return found;
    } catch (error) {
      if (host.interrupted.aborted) return undefined;
      if (!(error instanceof ClusterError) || !passes(error)) throw error;
      if (!isSilent) host.stderr.write(`${MESSAGES.noAnswer(error.message)}\n`);
      isSilent = true;
      return undefined;
    }
  };
}

function passes(error: ClusterError): boolean {
  const { failure } = error;
  return isSilence(error) || (failure.reason === "Refused" && (failure.code >= 500 || failure.code === 429));
}

export function createNews(host: Host): (lines: readonly string[]) => void {
  const said = new Set<string>();
  return (lines) => {
    for (const line of lines) {
      if (!said.has(line)) host.stderr.write(`${line}\n`);
      said.add(line);
    }
  };
}

/** Returns the lines to print: the outcomes of VMs, the blockers with their remedies, and the node's progress. */
export function linesOf({ ne: { spec, status }, evacuations }: Followed): readonly string[] {
  const ended = evacuations.filter((one) => one.status.completionTime !== undefined);
  return [
    ...ended.map(({ namespace, spec: of, status: is }) =>
      printable(MESSAGES.vm(`${namespace}/${of.vmiName}`, is.message ?? "")),
    ),
    ...status.blockers.map((one) => printable(MESSAGES.cannotLeave(keyOf(one), one.message, one.whoCanFix))),
    ...(status.phase === undefined ? [] : [printable(progressOf(`node/${spec.nodeName}`, status))]),
  ];
}

function progressOf(node: string, { phase, verdict, message = "" }: NodeEvacuationStatus): string {
  const forecast = phase === "Scheduled" ? verdict : undefined;
  return MESSAGES.progress(node, MESSAGES.withVerdict(phase ?? "", forecast), message);
}
