/** Emptying a cordoned node in rounds: read, evict, report, until nothing is left, or nothing more leaves without a person. */
import { ClusterError, isSilence } from "../../../shared/kube/failures.ts";
import { observePodsOf } from "../../../shared/preflight/observe.ts";
import { isBlocked, type Subject, subjectsOf } from "../../../shared/preflight/progress.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";
import { inParallel } from "../../tools/in-parallel.ts";
import type { Connection } from "../connection.ts";
import { troubleOf } from "../explain.ts";
import { Failed } from "../failed.ts";
import { paintFor, plain, quoted } from "../print.ts";
import type { Drain } from "./drain.ts";
import type { Ending, Report } from "./report.ts";
import { requestEviction } from "../../../shared/kube/requests.ts";
import { keyOf } from "../../../shared/kube/objects.ts";

const ROUND_MS = 2000;
/** While only a person can go on; and for a VM whose owner is to move it, so that the owner learns of it. */
const SELDOM_MS = 30_000;
/** How often an empty node is read for what has become of its VMs. */
const LAST_ROUNDS = 3;

interface Round {
  readonly left: readonly Subject[];
  readonly ending?: Ending;
  readonly isStuck?: boolean;
}

export async function emptyNode(drain: Drain, report: Report): Promise<Required<Pick<Round, "ending" | "left">>> {
  const { host, options, subjects } = drain;
  const deadline = host.now().getTime() + options.timeout * 1000;
  const nextRound = steadily(roundsOf(drain, report), drain);
  let left = subjects;
  for (;;) {
    const round = await nextRound();
    left = round?.left ?? left;
    if (round?.ending !== undefined) return { ending: round.ending, left };
    if (host.interrupted.aborted) return { ending: "Interrupted", left };
    if (host.now().getTime() >= deadline) return { ending: "TimedOut", left };
    await host.wait(round?.isStuck === true ? SELDOM_MS : ROUND_MS);
  }
}

/** One round after the other, also over a time in which the API server does not answer. Undefined: it did not. */
function steadily(nextRound: () => Promise<Round>, { host, say }: Drain): () => Promise<Round | undefined> {
  let isSilent = false;
  return async () => {
    try {
      const round = await nextRound();
      if (isSilent) say("the API server answers again");
      isSilent = false;
      return round;
    } catch (error) {
      if (host.interrupted.aborted) return undefined;
      if (!(error instanceof ClusterError) || !passes(error)) throw error;
      if (!isSilent) say(`${error.message}: trying again`);
      isSilent = true;
      return undefined;
    }
  };
}

function passes(error: ClusterError): boolean {
  const { failure } = error;
  return isSilence(error) || (failure.reason === "Refused" && (failure.code >= 500 || failure.code === 429));
}

function roundsOf(drain: Drain, report: Report): () => Promise<Round> {
  const { connection, host, say, options, subjects } = drain;
  const read = readerOf(drain);
  const blockers = createBlockers(subjects);
  const evict = createEvictions(connection);
  const paint = paintFor(host.stderr, host);
  const reported = new Set<string>();
  let emptyRounds = 0;
  return async () => {
    const left = await read();
    await report.update(left);
    if (left.length === 0) {
      emptyRounds += 1;
      return report.isComplete() || emptyRounds > LAST_ROUNDS ? { ending: "Drained", left } : { left };
    }
    const { settled, news } = blockers(left, host.now().getTime());
    for (const { verdict } of news) say(...troubleOf(verdict, paint));
    const isWaiting = (one: Subject) => settled.includes(one) || one.verdict.outcome === "Follows";
    const isStuck = left.every(isWaiting);
    if (isStuck && !options.waitForBlocked) return { ending: "Blocked", left };
    const refusals = [...(await evict(left, host.now()))].map(([key, text]) => `${key}: ${plain(text)}`);
    say(...refusals.filter((line) => !reported.has(line)));
    for (const line of refusals) reported.add(line);
    return { left, isStuck };
  };
}

/**
 * Room elsewhere is read once, before the drain: what was found of it stays. An ordinary pod that comes after the first round
 * tolerates the cordon, and would come again: as with kubectl, it is none of the drain's.
 */
function readerOf({ facts, connection, host }: Drain): () => Promise<readonly Subject[]> {
  let known: Set<string> | undefined;
  return async () => {
    const observer = { cluster: connection.cluster(), settings: await connection.settings(), now: host.now() };
    const found = subjectsOf({ ...facts, ...(await observePodsOf(facts.node.name, facts.flags, observer)) });
    const leaving = found.filter(({ pod, vmi }) => known === undefined || known.has(pod.uid) || vmi !== undefined);
    known ??= new Set();
    for (const { pod } of leaving) known.add(pod.uid);
    return leaving;
  };
}

/** Such a refusal ends by itself in most clusters: a replica becomes ready elsewhere, the VM's owner takes the VM up. */
const DEADLINE_MS: ReadonlyMap<string, number> = new Map([
  ["BudgetExhausted", 60_000],
  ["External", 60_000],
]);

/** Those that only a person can change, and those in trouble that have not been reported. The preflight has reported the first. */
function createBlockers(first: readonly Subject[]) {
  const since = new Map<string, number>();
  const reported = new Set(first.filter(({ verdict }) => isInTheWay(verdict)).map(nameOf));
  return (subjects: readonly Subject[], now: number) => {
    const blocked = subjects.filter(isBlocked);
    const names = new Set(blocked.map(nameOf));
    for (const name of since.keys()) if (!names.has(name)) since.delete(name);
    for (const name of names) if (!since.has(name)) since.set(name, now);
    const settled = blocked.filter((one) => {
      return now - (since.get(nameOf(one)) ?? now) >= (DEADLINE_MS.get(one.verdict.reason) ?? 0);
    });
    const stuck = subjects.filter(({ verdict }) => verdict.outcome === "Waits" && verdict.remedy !== undefined);
    const news = [...settled, ...stuck].filter((one) => !reported.has(nameOf(one)));
    for (const one of news) reported.add(nameOf(one));
    return { settled, news };
  };
}

function nameOf({ pod, verdict: { reason } }: Subject): string {
  return `${pod.uid} ${reason}`;
}

const AT_ONCE = 10;
const AGAIN_MS = 5000;
/** Whose eviction is refused for a while. */
const FORESEEN: ReadonlySet<string> = new Set(["Moves", "Waits", "Blocked"]);

/** Resolves to what a refusal said that the preflight had not foreseen, by the subject's key. */
export function createEvictions(connection: Connection) {
  const notBefore = new Map<string, number>();
  return async (subjects: readonly Subject[], now: Date): Promise<ReadonlyMap<string, string>> => {
    const refusals = new Map<string, string>();
    const time = now.getTime();
    const due = subjects.filter((subject) => isEvicted(subject) && (notBefore.get(subject.pod.uid) ?? 0) <= time);
    for (const subject of due) notBefore.set(subject.pod.uid, time + (isBlocked(subject) ? SELDOM_MS : AGAIN_MS));
    await inParallel(due, AT_ONCE, async ({ key, pod, verdict }) => {
      const { code, message: said } = await requestEviction(pod, {}, connection.cluster());
      const message = quoted(said);
      if (code < 300 || code === 404 || code === 409) return;
      if (isNotPermitted(code, message)) throw new Failed(`you are not allowed to evict pod ${keyOf(pod)}: ${message}`);
      if (FORESEEN.has(verdict.outcome)) return;
      refusals.set(key, message);
    });
    return refusals;
  };
}

/**
 * A pod that is refused until a person changes something is not evicted: the next round shows the change. So nothing that blocks is
 * lost if all webhooks are down.
 */
function isEvicted(subject: Subject): boolean {
  const { pod, verdict } = subject;
  if (pod.deleting || verdict.outcome === "Follows") return false;
  return !isBlocked(subject) || verdict.reason === "External";
}

/** A webhook may refuse with 403, too, and so does the API server in a namespace that is being deleted: both may end. */
function isNotPermitted(code: number, message: string): boolean {
  return code === 403 && message.includes("cannot create resource");
}
