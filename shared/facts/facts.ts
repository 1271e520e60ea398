/** Facts about one cluster, for rules. If a rule asks for an unread fact, the rule's run ends. */
import type * as z from "zod/mini";
import type { NamespacedName } from "../kube/facts.ts";
import { ClusterError } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import type { FactsOf, Resource } from "../kube/resources.ts";
import { type Selection, selectorsOf } from "../kube/selection.ts";

/**
 * Another form of the facts about a resource than the form in the table of resources. `name` distinguishes several
 * forms of a resource.
 */
export interface View<T> {
  readonly resource: Resource;
  readonly name: string;
  /**
   * Returns the schema of an object. Each read gets a new schema, because a schema may share equal values among the
   * items of one list.
   */
  readonly schema: () => z.ZodMiniType<T>;
}

export type Kind = Resource | View<unknown>;
export type Fact<K extends Kind> = K extends View<infer T> ? T : K extends Resource ? FactsOf<K> : never;

/** A list of the objects that Lifeboat can parse, and the number of unparsable objects. */
export interface Readable<T> {
  readonly items: readonly T[];
  readonly odd: number;
}

/** Facts of the cluster. Within a decision, the same call returns the same value. A call throws the ClusterError of its read. */
export interface Facts {
  /** Returns the object. Undefined: the object does not exist. */
  get<K extends Kind>(kind: K, key: NamespacedName): Fact<K> | undefined;
  /** Returns the whole list. An object that cannot be parsed makes the read fail. */
  list<K extends Kind>(kind: K, selection?: Selection): readonly Fact<K>[];
  /**
   * Returns the list without the objects that cannot be parsed. A rule must not conclude that an object missing from
   * this list does not exist.
   */
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
  /** The parse error of each list item that cannot be parsed. */
  readonly odd?: readonly string[];
  /** Whether the answer may be outdated. */
  readonly isCached?: boolean;
}

/**
 * Ends a rule's run because facts are missing. `decide` catches this error, reads the answers to its questions, and
 * runs the rule again.
 */
export class NotYetRead extends Error {
  readonly questions: readonly Question[];

  constructor(questions: readonly Question[]) {
    super(`not read yet: ${questions.map(textOf).join("; ")}`);
    this.name = "NotYetRead";
    this.questions = questions;
  }
}

/** Renders a question as text that identifies it: `nodes node01`, `pods as PreflightPod where spec.nodeName=node01`. */
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

/** Calls all functions, and collects their missing facts, so that one round reads all missing facts. */
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

/** Maps items by a rule, so that one round reads the missing facts of all items. */
export function each<Item, T>(items: Iterable<Item>, rule: (item: Item) => T): readonly T[] {
  return together(...Array.from(items, (item) => () => rule(item)));
}

/** Returns an alternative for a failed read, so that a rule can continue without the fact. */
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
 * Applies the rule to the items in order until all places are taken. An item with the result undefined takes no place.
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
 * Makes facts from a function that answers questions. For an unread fact, the function throws NotYetRead. For a failed
 * read, the function throws its ClusterError.
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
      return { items: itemsOf(kind, answer), odd: answer.odd?.length ?? 0 };
    },
  };
}

function itemsOf<K extends Kind>(kind: K, answer: Answer): readonly Fact<K>[];
function itemsOf(_: Kind, { value }: Answer): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
