/** Facts about one cluster, for rules. A fact that has not been read yet is never taken for absent: asking for it ends the run of the rule. */
import type * as z from "zod/mini";
import type { NamespacedName } from "../kube/facts.ts";
import { ClusterError } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import type { FactsOf, Resource } from "../kube/resources.ts";
import { type Selection, selectorsOf } from "../kube/selection.ts";

/** Other facts of a resource's objects than those of the table of resources. The name tells two views of one resource apart. */
export interface View<T> {
  readonly resource: Resource;
  readonly name: string;
  /** Is called for each read: items of one list may share what they have in common. */
  readonly schema: () => z.ZodMiniType<T>;
}

export type Kind = Resource | View<unknown>;
export type Fact<K extends Kind> = K extends View<infer T> ? T : K extends Resource ? FactsOf<K> : never;

/** A list without the objects that cannot be understood, and how many these are. */
export interface Readable<T> {
  readonly items: readonly T[];
  readonly odd: number;
}

/** Each question has one answer within a decision. A read that failed throws its ClusterError where a rule asks for it. */
export interface Facts {
  /** Undefined: the object does not exist. */
  get<K extends Kind>(kind: K, key: NamespacedName): Fact<K> | undefined;
  /** Asks for all of them at once. Keys of objects that do not exist are missing. */
  getAll<K extends Kind>(kind: K, keys: readonly NamespacedName[]): ReadonlyMap<string, Fact<K>>;
  /** All of them: an object that cannot be understood is a failed read. */
  list<K extends Kind>(kind: K, selection?: Selection): readonly Fact<K>[];
  /** For a rule that takes nothing missing in the list for absent. */
  readable<K extends Kind>(kind: K, selection?: Selection): Readable<Fact<K>>;
}

export type Question = {
  readonly kind: Kind;
} & (
  { readonly key: NamespacedName; readonly selection?: never } | { readonly selection: Selection; readonly key?: never }
);

export interface Answer {
  /** An object, undefined if it does not exist, or the items of a list. */
  readonly value: unknown;
  /** Why items of a list are left out: for each item that cannot be understood. */
  readonly odd?: readonly string[];
  /** The answer may be old. */
  readonly isCached?: boolean;
}

/** Ends the run of a rule. Only the driver catches it: it reads the answers, and runs the rule again. */
export class NotYetRead extends Error {
  readonly questions: readonly Question[];

  constructor(questions: readonly Question[]) {
    super(`not read yet: ${questions.map(textOf).join("; ")}`);
    this.name = "NotYetRead";
    this.questions = questions;
  }
}

/** Tells one question from another, for people too: `nodes node01`, `pods as PreflightPod where spec.nodeName=node01`. */
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

/** Runs each, so that what they miss is read in one round. */
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

/** As `map`; what the rule misses for all items is read in one round. */
export function each<Item, T>(items: Iterable<Item>, rule: (item: Item) => T): readonly T[] {
  return together(...Array.from(items, (item) => () => rule(item)));
}

/** A failed read as a value, for rules that know what to do then. */
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
 * Takes places in the order of the items: a rule returns undefined for an item that takes none. Facts of several items are asked for in one
 * round: of as many as there are places left, or as have been passed over, so that many items that take no place are few rounds.
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

/** Facts as `ask` answers. It throws NotYetRead, or the ClusterError of a failed read. */
export function factsFrom(ask: (question: Question) => Answer): Facts {
  function get<K extends Kind>(kind: K, key: NamespacedName): Fact<K> | undefined;
  function get(kind: Kind, key: NamespacedName): unknown {
    return ask({ kind, key }).value;
  }

  return {
    get,
    getAll: (kind, keys) => {
      const found = each(keys, (key) => [keyOf(key), get(kind, key)] as const);
      return new Map(found.flatMap(([key, fact]) => (fact === undefined ? [] : [[key, fact] as const])));
    },
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
