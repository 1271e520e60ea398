/** Reads facts from the API server, or from the watches of this process if they have the answer. */
import { shownList, shownObject, type Stores } from "../kube/cache.ts";
import type { Client } from "../kube/client.ts";
import { type Answer, type Question, textOf } from "./facts.ts";
import type { Reads } from "./decide.ts";

export function liveReads(cluster: Client): Reads {
  return async ({ kind, key, selection }) => {
    const [resource, as] = typeof kind === "string" ? [kind, undefined] : [kind.resource, kind.schema()];
    const how = as === undefined ? {} : { as };
    if (key !== undefined) return { value: await cluster.get(resource, key, how) };
    const odd: string[] = [];
    const onOdd = (issue: string) => void odd.push(issue);
    const value = await cluster.list(resource, { ...selection, ...how, onOdd });
    return odd.length === 0 ? { value } : { value, odd };
  };
}

export function watchedReads(stores: Stores, cluster: Client): Reads {
  const live = liveReads(cluster);
  return async (question) => shownBy(stores, question) ?? (await live(question));
}

function shownBy(stores: Stores, { kind, key, selection }: Question): Answer | undefined {
  // A watch stores only the fields in the table of resources, and a view can need other fields.
  if (typeof kind !== "string") return undefined;
  if (key !== undefined) {
    const shown = shownObject(stores, kind, key);
    return shown && { ...shown, isCached: true };
  }
  const items = shownList(stores, kind, selection);
  return items && { value: items, isCached: true };
}

/** Answers questions from the given answers, which can be outdated, and reads the answers to all other questions. */
export function givenReads(given: readonly (readonly [Question, Answer])[], otherwise: Reads): Reads {
  const answers = new Map(given.map(([question, answer]) => [textOf(question), { ...answer, isCached: true }]));
  return async (question) => answers.get(textOf(question)) ?? (await otherwise(question));
}
