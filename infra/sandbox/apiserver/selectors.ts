/**
 * Label and field selectors, as text in a query and as LabelSelector objects.
 * Owns: their grammar, its errors, and matching. Does not own: which fields a kind can be selected by (kinds/).
 */
import { badRequest } from "./status.ts";

export type LabelOperator = "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?: readonly LabelRequirement[] | null;
}

export type Labels = Readonly<Record<string, string>>;

const TOKEN = /\s*(!=|==|=|!|<|>|\(|\)|,|[^\s=!<>(),]+)/y;

export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const tokens = tokenize(text);
  const requirements: LabelRequirement[] = [];
  while (tokens.peek() !== "") {
    requirements.push(requirement(tokens));
    const next = tokens.take();
    if (next === "") break;
    if (next !== ",") unparsable(next, "',' or 'end of string'");
    if (tokens.peek() === "") unparsable("", "identifier after ','");
  }
  return requirements;
}

interface Tokens {
  peek(): string;
  take(): string;
}

function tokenize(text: string): Tokens {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) tokens.push(match[1] ?? "");
  let position = 0;
  return { peek: () => tokens[position] ?? "", take: () => tokens[position++] ?? "" };
}

function unparsable(found: string, expected: string): never {
  return badRequest(`unable to parse requirement: found '${found}', expected: ${expected}`);
}

function identifier(tokens: Tokens): string {
  const token = tokens.take();
  return /^[^=!<>(),]+$/.test(token) ? token : unparsable(token, "identifier");
}

function requirement(tokens: Tokens): LabelRequirement {
  if (tokens.peek() === "!") {
    tokens.take();
    return { key: identifier(tokens), operator: "DoesNotExist", values: [] };
  }
  const key = identifier(tokens);
  const next = tokens.peek();
  if (next === "" || next === ",") return { key, operator: "Exists", values: [] };
  const operator = OPERATORS[tokens.take()];
  if (operator === undefined) return unparsable(next, "in, notin, =, ==, !=, gt, lt");
  return { key, operator, values: next === "in" || next === "notin" ? valueSet(tokens) : [exactValue(tokens)] };
}

const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  ">": "Gt",
  "<": "Lt",
};

/** `a=` selects the empty value. */
function exactValue(tokens: Tokens): string {
  return tokens.peek() === "" || tokens.peek() === "," ? "" : identifier(tokens);
}

function valueSet(tokens: Tokens): readonly string[] {
  const open = tokens.take();
  if (open !== "(") return unparsable(open, "'('");
  const values = new Set<string>();
  for (;;) {
    if (tokens.peek() === ")" && values.size > 0) break;
    values.add(tokens.peek() === "," || tokens.peek() === ")" ? "" : identifier(tokens));
    const next = tokens.take();
    if (next === ")") break;
    if (next !== ",") return unparsable(next, "',' or ')'");
  }
  return [...values].toSorted();
}

/** An absent selector selects nothing, an empty one everything (a caller that differs says so). */
export function requirementsOf(selector: LabelSelector): readonly LabelRequirement[] {
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]): LabelRequirement => ({
    key,
    operator: "In",
    values: [value],
  }));
  return [...equal, ...(selector.matchExpressions ?? [])];
}

export function matchesLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every((one) => matchesLabel(one, labels[one.key]));
}

function matchesLabel({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return Number(value) > Number(values[0]);
    case "Lt":
      return Number(value) < Number(values[0]);
  }
}

export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  return text
    .split(/(?<!\\),/)
    .filter((part) => part !== "")
    .map((part) => {
      const match = /^([^=!]*)(==|!=|=)(.*)$/s.exec(part);
      if (match === null) return badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
      const [, field = "", operator, value = ""] = match;
      return { field, operator: operator === "!=" ? "!=" : "=", value: value.replace(/\\([,=\\])/g, "$1") };
    });
}

export function matchesFields(requirements: readonly FieldRequirement[], fieldOf: (field: string) => string): boolean {
  return requirements.every(({ field, operator, value }) => (fieldOf(field) === value) === (operator === "="));
}
