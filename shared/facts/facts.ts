/**
 * Provides facts about one cluster to rules. If a rule needs a fact that has not been read, the run of the rule stops.
 * The rule runs again after the fact has been read.
 */
import type * as z from "zod/mini";
import type { NamespacedName } from "../kube/facts.ts";
import { ClusterError } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import type { FactsOf, Resource } from "../kube/resources.ts";
import { type Selection, selectorsOf } from "../kube/selection.ts";

/**
 * A variant of a resource with other fields than those in the table of resources. `name` distinguishes the variants of
 * a resource.
 */
export interface View<T> {
  readonly resource: Resource;
  readonly name: string;
  /**
   * Returns the schema of an object. Each read uses a new schema, because a schema can share equal values among list
   * items.
   */
  readonly schema: () => z.ZodMiniType<T>;
}

export type Kind = Resource | View<unknown>;
export type Fact<K extends Kind> = K extends View<infer T> ? T : K extends Resource ? FactsOf<K> : never;

/**
 * A list of the objects that Lifeboat can parse, and a text for each other object: `namespace/name: what is wrong`, or
 * `name: what is wrong` for an object without a namespace.
 */
export interface Readable<T> {
  readonly items: readonly T[];
  readonly odd: readonly string[];
}

/**
 * Facts of the cluster. Within a decision, the same call returns the same value. Throws a ClusterError if the read
 * failed.
 */
export interface Facts {
  /** Returns the object, or undefined if it does not exist. */
  get<K extends Kind>(kind: K, key: NamespacedName): Fact<K> | undefined;
  /** Returns the whole list. Fails if an object cannot be parsed. */
  list<K extends Kind>(kind: K, selection?: Selection): readonly Fact<K>[];
  /** Returns the objects that can be parsed. An object that is missing from this list might still exist. */
  readable<K extends Kind>(kind: K, selection?: Selection): Readable<Fact<K>>;
}

export type Question = {
  readonly kind: Kind;
} & (
  { readonly key: NamespacedName; readonly selection?: never } | { readonly selection: Selection; readonly key?: never }
);

export interface Answer {
  /** The object or undefined, or the items of a list. */
  readonly value: unknown;
  readonly odd?: readonly string[];
  readonly isCached?: boolean;
}

/** Stops the run of a rule because facts are missing. `decide` reads the missing facts and runs the rule again. */
export class NotYetRead extends Error {
  readonly questions: readonly Question[];

  constructor(questions: readonly Question[]) {
    super(`not read yet: ${questions.map(textOf).join("; ")}`);
    this.name = "NotYetRead";
    this.questions = questions;
  }
}

/**
 * Returns a text that identifies the question, such as `nodes node01` or `pods as PreflightPod where
 * spec.nodeName=node01`.
 */
export function textOf({ kind, key, selection }: Question): string {
  const what = typeof kind === "string" ? kind : `${kind.resource} as ${kind.name}`;
  if (key !== undefined) return `${what} ${key.namespace === "" ? key.name : keyOf(key)}`;
  const { labelSelector, fieldSelector } = selectorsOf(selection);
  const where = [labelSelector, fieldSelector].filter((text) => text !== undefined).join(",");
  const { namespace, limit } = selection;
  return [
    what,
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
    ...(where === "" ? [] : [`where ${where}`]),
    ...(limit === undefined ? [] : [`at most ${limit}`]),
  ].join(" ");
}

/** Calls all functions and collects their missing facts, so that all missing facts are read in one round. */
export function together<T extends readonly (() => unknown)[]>(
  ...asks: T
): { readonly [I in keyof T]: ReturnType<T[I]> };
export function together(...asks: readonly (() => unknown)[]): readonly unknown[] {
  const missing: Question[] = [];
  const answers = asks.map((ask) => {
    try {
      return ask();
    } catch (error) {
      if (!(error instanceof NotYetRead)) throw error;
      missing.push(...error.questions);
      return undefined;
    }
  });
  if (missing.length > 0) throw new NotYetRead(missing);
  return answers;
}

/** Applies the rule to each item. The missing facts of all items are read in one round. */
export function each<Item, T>(items: Iterable<Item>, rule: (item: Item) => T): readonly T[] {
  return together(...Array.from(items, (item) => () => rule(item)));
}

/** Returns an alternative value if the read of the fact has failed. */
export function unlessFailed<T, Otherwise>(
  ask: () => T,
  otherwise: (failed: ClusterError) => Otherwise,
): T | Otherwise {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ClusterError) return otherwise(error);
    throw error;
  }
}

/**
 * Applies the rule to the items in order until the maximum number of results is reached. Items with the result
 * undefined are skipped.
 */
export function takeInOrder<Item, T>(
  items: Iterable<Item>,
  places: number,
  rule: (item: Item) => T | undefined,
): readonly T[] {
  const taken: T[] = [];
  const missing: NotYetRead[] = [];
  let passed = 0;
  for (const item of items) {
    if (taken.length >= places || missing.length >= Math.max(places - taken.length, passed)) break;
    try {
      const result = rule(item);
      if (result === undefined) passed += 1;
      else taken.push(result);
    } catch (error) {
      if (!(error instanceof NotYetRead)) throw error;
      missing.push(error);
    }
  }
  if (missing.length > 0) throw new NotYetRead(missing.flatMap(({ questions }) => questions));
  return taken;
}

/**
 * Makes facts from a function that answers questions. The function throws NotYetRead for an unread fact, and a
 * ClusterError for a failed read.
 */
export function factsFrom(ask: (question: Question) => Answer): Facts {
  function get<K extends Kind>(kind: K, key: NamespacedName): Fact<K> | undefined;
  function get(kind: Kind, key: NamespacedName): unknown {
    return ask({ kind, key }).value;
  }

  return {
    get,
    list: (kind, selection = {}) => {
      const answer = ask({ kind, selection });
      const [issue] = answer.odd ?? [];
      if (issue === undefined) return itemsOf(kind, answer);
      const request = `list of ${textOf({ kind, selection })}`;
      throw new ClusterError({ reason: "Unintelligible", request, issue, odd: true });
    },
    readable: (kind, selection = {}) => {
      const answer = ask({ kind, selection });
      return { items: itemsOf(kind, answer), odd: answer.odd ?? [] };
    },
  };
}

function itemsOf<K extends Kind>(kind: K, answer: Answer): readonly Fact<K>[];
function itemsOf(_: Kind, { value }: Answer): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
