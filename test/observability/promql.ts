/** PromQL, as far as the shipped rules go: what an expression names, and its value over recorded scrapes. */
import { parser } from "@prometheus-io/lezer-promql";
import type { Labels, Recording, Sample } from "./recording.ts";

type Node = ReturnType<typeof parser.parse>["topNode"];
type Value = number | readonly Sample[];

export interface Matcher {
  readonly label: string;
  readonly op: string;
  readonly value: string;
}

export interface Selector {
  readonly name: string;
  readonly matchers: readonly Matcher[];
}

interface Context {
  readonly text: string;
  readonly recording: Recording;
  /** Seconds since the epoch. */
  readonly at: number;
}

export function evaluate(text: string, recording: Recording, at: number): readonly Sample[] {
  return vector(valueOf(parsed(text), { text, recording, at }));
}

/** Every selector of an expression, and every label that it groups or matches by. */
export function namesIn(text: string): {
  readonly selectors: readonly Selector[];
  readonly grouping: readonly string[];
} {
  const all = descendants(parsed(text));
  const grouping = all.filter(({ name }) => name === "GroupingLabels").flatMap((node) => labelNames(node, text));
  return {
    selectors: all.filter(({ name }) => name === "VectorSelector").map((node) => selectorOf(node, text)),
    grouping,
  };
}

function parsed(text: string): Node {
  const { topNode } = parser.parse(text);
  const wrong = descendants(topNode).find(({ type }) => type.isError);
  if (wrong !== undefined) throw new Error(`no PromQL at ${wrong.from}: ${text}`);
  return topNode;
}

function children(node: Node): readonly Node[] {
  const found: Node[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) found.push(child);
  return found;
}

function descendants(node: Node): readonly Node[] {
  return [node, ...children(node).flatMap(descendants)];
}

function textOf(node: Node | null | undefined, text: string): string {
  return node ? text.slice(node.from, node.to) : "";
}

function labelNames(node: Node, text: string): readonly string[] {
  return node.getChildren("LabelName").map((label) => textOf(label, text));
}

function selectorOf(node: Node, text: string): Selector {
  const matchers = descendants(node)
    .filter(({ name }) => name === "UnquotedLabelMatcher")
    .map((matcher) => ({
      label: textOf(matcher.getChild("LabelName"), text),
      op: textOf(matcher.getChild("MatchOp"), text),
      value: textOf(matcher.getChild("StringLiteral"), text).slice(1, -1),
    }));
  return { name: textOf(node.getChild("Identifier"), text), matchers };
}

function valueOf(node: Node, c: Context): Value {
  switch (node.name) {
    case "PromQL":
    case "ParenExpr":
      return valueOf(only(children(node)), c);
    case "NumberDurationLiteral":
      return Number(textOf(node, c.text));
    case "VectorSelector":
      return c.recording.instant(isSelectedBy(selectorOf(node, c.text)), c.at);
    case "FunctionCall":
      return call(node, c);
    case "AggregateExpr":
      return aggregate(node, c);
    case "BinaryExpr":
      return binary(node, c);
    default:
      throw new Error(`${node.name} is not evaluated here: ${textOf(node, c.text)}`);
  }
}

function only<T>(items: readonly T[]): T {
  const [first] = items;
  if (first === undefined || items.length > 1) throw new Error(`expected one, found ${items.length}`);
  return first;
}

function vector(value: Value): readonly Sample[] {
  if (typeof value === "number") throw new Error("expected a vector");
  return value;
}

function isSelectedBy({ name, matchers }: Selector) {
  return (sample: Sample) => sample.name === name && matchers.every((matcher) => isMatch(sample.labels, matcher));
}

function isMatch(labels: Labels, { label, op, value }: Matcher): boolean {
  const found = labels[label] ?? "";
  const isEqual = op.endsWith("~") ? new RegExp(`^(?:${value})$`).test(found) : found === value;
  return op.startsWith("!") ? !isEqual : isEqual;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export function secondsOf(duration: string): number {
  const [, amount, unit = ""] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return Number(amount) * (UNIT_SECONDS[unit] ?? Number.NaN);
}

function call(node: Node, c: Context): Value {
  const args = children(node.getChild("FunctionCallBody") ?? node);
  switch (textOf(node.getChild("FunctionIdentifier"), c.text)) {
    case "time":
      return c.at;
    case "absent":
      return absent(only(args), c);
    case "increase":
      return overTime(only(args), c, increase);
    case "changes":
      return overTime(only(args), c, changes);
    default:
      throw new Error(`no such function here: ${textOf(node, c.text)}`);
  }
}

function absent(node: Node, c: Context): readonly Sample[] {
  if (vector(valueOf(node, c)).length > 0) return [];
  const told = selectorOf(node, c.text).matchers.filter(({ op }) => op === "=");
  return [{ name: "", labels: Object.fromEntries(told.map(({ label, value }) => [label, value])), value: 1 }];
}

function overTime(node: Node, c: Context, of: (values: readonly number[]) => number): readonly Sample[] {
  const selector = selectorOf(only(node.getChildren("VectorSelector")), c.text);
  const seconds = secondsOf(textOf(node.getChild("DurationExpr"), c.text));
  const series = c.recording.range(isSelectedBy(selector), c.at - seconds, c.at);
  return series
    .filter(({ values }) => values.length > 1)
    .map(({ labels, values }) => ({ name: "", labels, value: of(values) }));
}

/** Without Prometheus' extrapolation to the edges of the range. A counter that falls has begun anew. */
function increase(values: readonly number[]): number {
  return values
    .slice(1)
    .reduce((sum, value, i) => sum + (value < (values[i] ?? 0) ? value : value - (values[i] ?? 0)), 0);
}

function changes(values: readonly number[]): number {
  return values.slice(1).filter((value, i) => value !== values[i]).length;
}

function picked(labels: Labels, names: readonly string[]): Labels {
  return Object.fromEntries(names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])));
}

export function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** `max by (…)` and `min by (…)`. */
function aggregate(node: Node, c: Context): readonly Sample[] {
  const by = only(node.getChildren("AggregateModifier"));
  if (by.getChild("By") === null) throw new Error(`only \`by\`: ${textOf(node, c.text)}`);
  const names = labelNames(only(by.getChildren("GroupingLabels")), c.text);
  const of = { max: Math.max, min: Math.min }[textOf(node.getChild("AggregateOp"), c.text)];
  if (of === undefined) throw new Error(`only max and min: ${textOf(node, c.text)}`);
  const samples = vector(valueOf(only(children(only(node.getChildren("FunctionCallBody")))), c));
  const groups = Map.groupBy(samples, ({ labels }) => keyOf(picked(labels, names)));
  return [...groups.values()].map((group) => {
    return { name: "", labels: picked(group[0]?.labels ?? {}, names), value: of(...group.map(({ value }) => value)) };
  });
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
};
const COMPARISON: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  Eql: (a, b) => a === b,
  Gtr: (a, b) => a > b,
  Gte: (a, b) => a >= b,
  Lss: (a, b) => a < b,
};

function binary(node: Node, c: Context): Value {
  const [left, operator, ...rest] = children(node);
  const right = rest.at(-1);
  if (left === undefined || operator === undefined || right === undefined)
    throw new Error("a binary expression of two");
  const [a, b] = [valueOf(left, c), valueOf(right, c)];
  const compute = ARITHMETIC[operator.name];
  if (compute !== undefined) return computed(a, b, compute);
  const compare = COMPARISON[operator.name];
  if (compare !== undefined && typeof b === "number") return vector(a).filter(({ value }) => compare(value, b));
  return combined(operator.name, vector(a), vector(b), matchedBy(node, c.text));
}

function computed(a: Value, b: Value, of: (a: number, b: number) => number): Value {
  if (typeof a === "number" && typeof b === "number") return of(a, b);
  if (typeof a === "number") return vector(b).map((sample) => ({ ...sample, name: "", value: of(a, sample.value) }));
  if (typeof b === "number") return a.map((sample) => ({ ...sample, name: "", value: of(sample.value, b) }));
  throw new Error("no arithmetic of two vectors here");
}

/** What samples of both sides have in common: all labels, or those of `on (…)`. */
function matchedBy(node: Node, text: string): (labels: Labels) => string {
  const on = node.getChild("MatchingModifierClause")?.getChild("GroupingLabels");
  return on ? (labels) => keyOf(picked(labels, labelNames(on, text))) : keyOf;
}

function combined(
  operator: string,
  a: readonly Sample[],
  b: readonly Sample[],
  key: (labels: Labels) => string,
): readonly Sample[] {
  const keysOf = (samples: readonly Sample[]) => new Set(samples.map(({ labels }) => key(labels)));
  switch (operator) {
    case "Or":
      return [...a, ...b.filter(({ labels }) => !keysOf(a).has(key(labels)))];
    case "Unless":
      return a.filter(({ labels }) => !keysOf(b).has(key(labels)));
    default:
      throw new Error(`no operator ${operator} here`);
  }
}
