/** Provides the facts of a test from a map. A request for a fact that is not in the map fails the test. */
import { type Answer, type Facts, factsFrom, type Question, textOf } from "../../shared/facts/facts.ts";
import { ClusterError } from "../../shared/kube/failures.ts";

/**
 * Facts by the text of the question: `nodes node01`, `virtualmachines apps/web`,
 * `evacuations in apps where status.phase=Moved`. `undefined`: the object does not exist. A ClusterError: the read fails.
 */
export type FactMap = Readonly<Record<string, unknown>>;

export function factsOf(map: FactMap): Facts {
  return factsFrom((question) => answerIn(map, question));
}

/** Returns a source of facts for the driver. Adds each question to `asked`. */
export function readsOf(map: FactMap, asked: string[] = []): (question: Question) => Promise<Answer> {
  return async (question) => {
    asked.push(textOf(question));
    return await Promise.resolve(answerIn(map, question));
  };
}

/** A list without an item that Lifeboat cannot parse. `why`: the problem of that item. */
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
  if (!Object.hasOwn(map, text)) throw new Error(`the rule asked for "${text}", which this test does not know`);
  const value = map[text];
  if (value instanceof ClusterError) throw value;
  return value instanceof OddList ? value : { value };
}
