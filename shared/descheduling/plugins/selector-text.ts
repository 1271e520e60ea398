/** Label selectors written as one text: `zone in (a,b),tier!=db,!spot`. */
import type { LabelSelector, LabelSelectorRequirement } from "../../policy/facts.ts";

const KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/;

export function isLabelKey(text: string): boolean {
  return KEY.test(text);
}

export function isLabelValue(text: string): boolean {
  return VALUE.test(text);
}

const TOKEN = /[!=]=|[=!(),<>]|[^\s=!(),<>]+/g;
const SYMBOL = /^[=!(),<>]/;

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ["in", "In"],
  ["notin", "NotIn"],
  ["=", "In"],
  ["==", "In"],
  ["!=", "NotIn"],
]);

/** What is still to be read, the next one last. */
type Tokens = string[];

/** Undefined for what is no selector; also for `<` and `>`, which compare numbers. An empty text selects everything. */
export function selectorOf(text: string): LabelSelector | undefined {
  const tokens: Tokens = [...text.matchAll(TOKEN)].map(([token]) => token).toReversed();
  const matchExpressions: LabelSelectorRequirement[] = [];
  while (tokens.length > 0) {
    const requirement = takeRequirement(tokens);
    if (requirement === undefined || !isValid(requirement)) return undefined;
    matchExpressions.push(requirement);
    // A comma promises another one.
    if (tokens.length > 0 && (tokens.pop() !== "," || tokens.length === 0)) return undefined;
  }
  return { matchLabels: {}, matchExpressions };
}

function isValid({ key, values }: LabelSelectorRequirement): boolean {
  return isLabelKey(key) && values.every(isLabelValue);
}

function takeRequirement(tokens: Tokens): LabelSelectorRequirement | undefined {
  const first = tokens.pop() ?? "";
  if (first === "!") return { key: tokens.pop() ?? "", operator: "DoesNotExist", values: [] };
  const next = tokens.at(-1);
  if (next === undefined || next === ",") return { key: first, operator: "Exists", values: [] };
  tokens.pop();
  const operator = OPERATORS.get(next);
  const values = SYMBOL.test(next) ? [takeWord(tokens)] : takeValues(tokens);
  return operator === undefined || values === undefined ? undefined : { key: first, operator, values };
}

/** A value, or nothing, which is the empty value. */
function takeWord(tokens: Tokens): string {
  const word = tokens.at(-1);
  return word === undefined || SYMBOL.test(word) ? "" : (tokens.pop() ?? "");
}

/** `(a,b)`; undefined if it is not that. */
function takeValues(tokens: Tokens): readonly string[] | undefined {
  if (tokens.pop() !== "(") return undefined;
  const values = [takeWord(tokens)];
  let end = tokens.pop();
  while (end === ",") {
    values.push(takeWord(tokens));
    end = tokens.pop();
  }
  return end === ")" ? values : undefined;
}
