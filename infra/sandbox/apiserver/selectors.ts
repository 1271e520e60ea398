/** Parses the label and field selectors of a query. */
import type { LabelOperator, LabelRequirement } from "../labels.ts";
import { badRequest } from "./status.ts";
import { labelKeyProblems, labelValueProblems } from "./validation.ts";

export { type LabelRequirement, matchesLabels } from "../labels.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

type Tokens = string[];

const TOKEN = /!=|==|[=!<>(),]|[^\s=!<>(),]+/g;
const peek = (tokens: Tokens): string => tokens[0] ?? "";
const take = (tokens: Tokens): string => tokens.shift() ?? "";

export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const tokens: Tokens = text.match(TOKEN) ?? [];
  const requirements: LabelRequirement[] = [];
  while (peek(tokens) !== "" || requirements.length > 0) {
    const next = peek(tokens);
    const expected = requirements.length > 0 ? "identifier after ','" : "!, identifier, or 'end of string'";
    if (next !== "!" && !isIdentifier(next)) return unexpected(next, expected, "");
    requirements.push(requirement(tokens));
    const end = take(tokens);
    if (end === "") break;
    if (end !== ",") unexpected(end, "',' or 'end of string'", "");
  }
  return requirements;
}

const WHERE = "unable to parse requirement: ";

function unexpected(found: string, expected: string, where = WHERE): never {
  return badRequest(`${where}found '${found}', expected: ${expected}`);
}

function invalid(where: string, value: string, problems: readonly string[]): void {
  if (problems.length > 0) {
    badRequest(`${WHERE}${where}: Invalid value: ${JSON.stringify(value)}: ${problems.join("; ")}`);
  }
}

function isIdentifier(token: string): boolean {
  return /^[^=!<>(),]+$/.test(token);
}

function identifier(tokens: Tokens): string {
  const token = take(tokens);
  return isIdentifier(token) ? token : unexpected(token, "identifier");
}

function requirement(tokens: Tokens): LabelRequirement {
  const isNegated = peek(tokens) === "!" && take(tokens) === "!";
  const key = identifier(tokens);
  invalid("<nil>", key, labelKeyProblems(key));
  if (isNegated) return { key, operator: "DoesNotExist", values: [] };
  if (isEnd(peek(tokens))) return { key, operator: "Exists", values: [] };
  const sign = take(tokens);
  const operator = OPERATORS[sign] ?? unexpected(sign, "in, notin, =, ==, !=, gt, lt");
  const values = sign === "in" || sign === "notin" ? valueSet(tokens) : [exactValue(tokens)];
  for (const [index, value] of values.entries()) {
    if (/^[<>]$/.test(sign) && !INTEGER.test(value)) invalid(`values[${index}]`, value, [NO_INTEGER]);
    invalid(`values[${index}][${key}]`, value, labelValueProblems(value));
  }
  return { key, operator, values };
}

function isEnd(token: string): boolean {
  return token === "" || token === ",";
}

const INTEGER = /^[-+]?\d+$/;
const NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer";

const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  ">": "Gt",
  "<": "Lt",
};

/** Parses the value after `=`. The selector `a=` has the empty value. */
function exactValue(tokens: Tokens): string {
  return isEnd(peek(tokens)) ? "" : identifier(tokens);
}

/** Parses values such as `(a,b)`. The second value of `(a,)` is empty. */
function valueSet(tokens: Tokens): readonly string[] {
  const open = take(tokens);
  if (open !== "(") return badRequest(`${WHERE}found '${open}' expected: '('`);
  const values = new Set<string>();
  for (;;) {
    const isMissing = peek(tokens) === "," || peek(tokens) === ")";
    if (!isMissing && !isIdentifier(peek(tokens))) unexpected(peek(tokens), "',', ')' or identifier");
    values.add(isMissing ? "" : take(tokens));
    const next = take(tokens);
    if (next === ")") return [...values].toSorted();
    if (next !== ",") return unexpected(next, "',' or ')'");
  }
}

export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  const parts = text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? [];
  return parts.map((part) => {
    const match = /^(.*?)(==|!=|=)(.*)$/s.exec(part);
    if (match === null) return badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    const [, field = "", operator, value = ""] = match;
    return { field, operator: operator === "!=" ? "!=" : "=", value: value.replaceAll(/\\(.?)|=/gs, unescaped) };
  });
}

function unescaped(found: string, escaped: string | undefined): string {
  if (escaped === undefined) badRequest(`invalid field selector: unescaped character in value: ${found.charCodeAt(0)}`);
  if (escaped !== "" && ",=\\".includes(escaped)) return escaped;
  return badRequest(`invalid field selector: invalid escape sequence: ${found}`);
}

export function matchesFields(requirements: readonly FieldRequirement[], fieldOf: (field: string) => string): boolean {
  return requirements.every(({ field, operator, value }) => (fieldOf(field) === value) === (operator === "="));
}
