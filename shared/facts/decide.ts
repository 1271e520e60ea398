/** Runs a rule repeatedly and reads the missing facts between two runs, until the rule has an answer. */
import { ClusterError } from "../kube/failures.ts";
import { type Answer, type Facts, factsFrom, NotYetRead, type Question, textOf } from "./facts.ts";

/** Answers one question: reads an object or a list. Rejects with a ClusterError if the read fails. */
export type Reads = (question: Question) => Promise<Answer>;

export interface RuleAnswer<T> {
  readonly answer: T;
  /** Whether the last run of the rule used facts that can be outdated. */
  readonly isCached: boolean;
  readonly reads: number;
  readonly rounds: number;
}

export interface Beforehand {
  /** Answers that the caller already has, so that Lifeboat does not read them again. */
  readonly known?: readonly (readonly [Question, Answer])[];
  readonly first?: readonly Question[];
}

/** The maximum number of rounds of reads. A fact that is missing after the last round is treated as a failed read. */
const MOST_ROUNDS = 64;

export async function decide<T>(
  rule: (facts: Facts) => T,
  reads: Reads,
  beforehand: Beforehand = {},
): Promise<RuleAnswer<T>> {
  const answers = new Map<string, Answer | ClusterError>();
  for (const [question, answer] of beforehand.known ?? []) answers.set(textOf(question), answer);
  let [count, missing] = [0, beforehand.first ?? []];
  for (let rounds = 0; ; rounds++) {
    const unread = new Map(missing.map((question) => [textOf(question), question]));
    for (const text of answers.keys()) unread.delete(text);
    count += unread.size;
    for (const [text, answer] of await readAll(unread, reads)) answers.set(text, answer);
    const run = runOf(answers, rounds === MOST_ROUNDS);
    try {
      return { answer: rule(run.facts), isCached: run.isCached(), reads: count, rounds };
    } catch (error) {
      if (!(error instanceof NotYetRead)) throw error;
      missing = error.questions;
    }
  }
}

/** A source of facts that can be outdated, with a check whether a decision on these facts is safe. */
export interface Source<T> {
  readonly reads: Reads;
  readonly isSafe: (answer: T) => boolean;
}

/**
 * Tries the sources in order until a decision is safe or uses no cached facts. If there is no such decision, decides on
 * facts that are read from the API server.
 */
export async function decideSafely<T>(
  rule: (facts: Facts) => T,
  sources: readonly Source<T>[],
  live: Reads,
  beforehand: Beforehand = {},
): Promise<RuleAnswer<T>> {
  let last: RuleAnswer<T> | undefined;
  for (const { reads, isSafe } of sources) {
    if (last !== undefined && !isSafe(last.answer)) continue;
    last = await decide(rule, reads, beforehand);
    if (!last.isCached || isSafe(last.answer)) return last;
  }
  return await decide(rule, live, beforehand);
}

async function readAll(unread: ReadonlyMap<string, Question>, reads: Reads) {
  return await Promise.all(
    [...unread].map(async ([text, question]) => [text, await reads(question).catch(failed)] as const),
  );
}

function failed(error: unknown): ClusterError {
  if (error instanceof ClusterError) return error;
  throw error;
}

/** Returns the facts for one run of a rule. If `isLast` is set, a missing fact is treated as a failed read. */
function runOf(answers: ReadonlyMap<string, Answer | ClusterError>, isLast: boolean) {
  let isCached = false;
  const facts = factsFrom((question) => {
    const answer = answers.get(textOf(question));
    if (answer instanceof ClusterError) throw answer;
    if (answer === undefined && isLast) throw new ClusterError({ reason: "NeverRead", request: textOf(question) });
    if (answer === undefined) throw new NotYetRead([question]);
    isCached ||= answer.isCached === true;
    return answer;
  });
  return { facts, isCached: () => isCached };
}
