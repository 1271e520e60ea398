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

/** One requirement and the comma after it: `!key`, `key`, `key=value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`. */
const REQUIREMENT =
  /(?:! ?(?<absent>[^ =!(),<>]+)|(?<key>[^ =!(),<>]+)(?: ?(?<sign>!=|==?) ?(?<value>[^ =!(),<>]*)| (?<set>in|notin) ?\((?<values>[^()]*)\))?) ?(?:, ?|$)/gy;

/** Undefined for what is no selector; also for `<` and `>`, which compare numbers. An empty text selects everything. */
export function selectorOf(text: string): LabelSelector | undefined {
  const written = text.trim().replaceAll(/\s+/g, " ");
  const found = [...written.matchAll(REQUIREMENT)];
  // A comma promises another one.
  if (found.map(([part]) => part).join("") !== written || written.endsWith(",")) return undefined;
  const matchExpressions = found.map(({ groups = {} }) => requirementOf(groups));
  return matchExpressions.every(isValid) ? { matchLabels: {}, matchExpressions } : undefined;
}

function requirementOf(groups: Readonly<Record<string, string | undefined>>): LabelSelectorRequirement {
  const { absent, key = "", sign, value = "", set, values = "" } = groups;
  if (absent !== undefined) return { key: absent, operator: "DoesNotExist", values: [] };
  if (sign !== undefined) return { key, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
  if (set === undefined) return { key, operator: "Exists", values: [] };
  return { key, operator: set === "in" ? "In" : "NotIn", values: values.split(",").map((one) => one.trim()) };
}

function isValid({ key, values }: LabelSelectorRequirement): boolean {
  return isLabelKey(key) && values.every(isLabelValue);
}
