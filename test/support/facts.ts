/** Facts of a test as a map. A rule that asks for anything else fails the test. */
import { type Answer, type Facts, factsFrom, type Question, textOf } from "../../shared/facts/facts.ts";
import { ClusterError } from "../../shared/kube/failures.ts";

/**
 * By the text of the question: `nodes node01`, `virtualmachines apps/web`, `evacuations in apps where status.phase=Moved`. `undefined`: there
 * is no such object. A ClusterError: the read fails.
 */
export type FactMap = Readonly<Record<string, unknown>>;

export function factsOf(map: FactMap): Facts {
  return factsFrom((question) => answerIn(map, question));
}

/** As a source of facts for the driver. Each question is noted when it is asked. */
export function readsOf(map: FactMap, asked: string[] = []): (question: Question) => Promise<Answer> {
  return async (question) => {
    asked.push(textOf(question));
    return await Promise.resolve(answerIn(map, question));
  };
}

/** A list without an item that cannot be understood, for the reason `why`. */
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
