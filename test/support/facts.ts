/** Answers questions about facts from a map. A test fails if it asks for a fact that is not in the map. */
import { type Answer, type Facts, factsFrom, type Question, textOf } from "../../shared/facts/facts.ts";
import { ClusterError } from "../../shared/kube/failures.ts";

/**
 * Facts keyed by the text of the question, for example `nodes node01`, `virtualmachines apps/web` or `evacuations in
 * apps where status.phase=Moved`. If the value is undefined, the object does not exist. If the value is a ClusterError,
 * the read fails.
 */
export type FactMap = Readonly<Record<string, unknown>>;

export function factsOf(map: FactMap): Facts {
  return factsFrom((question) => answerIn(map, question));
}

export function readsOf(map: FactMap, asked: string[] = []): (question: Question) => Promise<Answer> {
  return async (question) => {
    asked.push(textOf(question));
    return await Promise.resolve(answerIn(map, question));
  };
}

/** A list in which one item could not be parsed. `why` is the parse error. */
export class OddList {
  readonly value: readonly unknown[];
  readonly odd: readonly string[];

  constructor(value: readonly unknown[], why: string) {
    this.value = value;
    this.odd = [why];
  }
}

function answerIn(map: FactMap, question: Question): Answer {
  const text = textOf(question);
  if (!Object.hasOwn(map, text))
    throw new Error(`the rule asked for "${text}", which is not in this test's map of facts`);
  const value = map[text];
  if (value instanceof ClusterError) throw value;
  return value instanceof OddList ? value : { value };
}
