/** Finds what can be mutated in a TypeScript file. */
import { parseAst } from "vitest/node";
import { type Node, childrenOf, isNode, listAt, nodeAt, textAt } from "./node.ts";

export interface Place {
  readonly start: number;
  readonly end: number;
  readonly kind: Kind;
  /** The code that takes the place of what stands from start to end. A statement gives way to nothing. */
  readonly replacement: string;
  /** How the mutation reads in a report. */
  readonly before: string;
  readonly after: string;
}

export type Kind =
  "comparison" | "logic" | "negation" | "arithmetic" | "literal" | "text" | "condition" | "branches" | "statement" |
  "array" | "property" | "call"; // prettier-ignore

// prettier-ignore
const OPERATORS: Readonly<Record<string, readonly [Kind, string]>> = {
  "===": ["comparison", "!=="], "!==": ["comparison", "==="],
  "<": ["comparison", "<="], "<=": ["comparison", "<"], ">": ["comparison", ">="], ">=": ["comparison", ">"],
  "&&": ["logic", "||"], "||": ["logic", "&&"], "??": ["logic", "&&"],
  "-": ["arithmetic", "+"], "*": ["arithmetic", "/"], "/": ["arithmetic", "*"],
};

// prettier-ignore
const METHODS: Readonly<Record<string, string>> = {
  some: "every", every: "some", min: "max", max: "min", startsWith: "endsWith", endsWith: "startsWith",
};

/** Calls that can be left out: what they are called on takes their place. */
const OMITTED = new Set(["filter", "toSorted", "slice", "trim", "toLowerCase", "reverse", "toReversed"]);

export function placesIn(source: string): readonly Place[] {
  const places: Place[] = [];
  const siblings = new Map<number, string>();
  const visit = (node: Node): void => {
    noteSiblings(node, source, siblings);
    places.push(...(MUTATIONS[node.type]?.(node, source, siblings) ?? []));
    for (const child of childrenOf(node)) visit(child);
  };
  const program: unknown = parseAst(source, { lang: "ts" });
  if (isNode(program)) visit(program);
  return places;
}

type Find = (node: Node, source: string, siblings: ReadonlyMap<number, string>) => readonly Place[];

const MUTATIONS: Readonly<Record<string, Find>> = {
  BinaryExpression: operator,
  LogicalExpression: operator,
  UnaryExpression: (node, source) => {
    const argument = nodeAt(node, "argument");
    if (node["operator"] !== "!" || argument === undefined) return [];
    return [place(node, source, "negation", textOf(argument, source))];
  },
  Literal: literal,
  TemplateLiteral: (node, source) => [place(node, source, "text", '""')],
  IfStatement: (node, source) => condition(node, source, ["true", "false"]),
  WhileStatement: (node, source) => condition(node, source, ["false"]),
  ConditionalExpression: (node, source) => {
    const [test, yes, no] = ["test", "consequent", "alternate"].map((key) => inParentheses(nodeAt(node, key), source));
    return [place(node, source, "branches", `${test} ? ${no} : ${yes}`)];
  },
  ExpressionStatement: (node, source) => (typeof node["directive"] === "string" ? [] : [removed(node, source)]),
  ThrowStatement: (node, source) => [removed(node, source)],
  ContinueStatement: (node, source) => [removed(node, source)],
  BreakStatement: (node, source) => [removed(node, source)],
  ReturnStatement: (node, source) => (nodeAt(node, "argument") === undefined ? [removed(node, source)] : []),
  ArrayExpression: (node, source) =>
    listAt(node, "elements").length === 0 ? [] : [place(node, source, "array", "[]")],
  ObjectExpression: (node, source) => {
    const properties = listAt(node, "properties");
    return properties.map((gone) => ({
      ...place(node, source, "property", objectOf(properties, gone, source)),
      before: line(textOf(gone, source)),
      after: "(removed)",
    }));
  },
  CallExpression: call,
};

function operator(node: Node, source: string): readonly Place[] {
  const [kind, other] = OPERATORS[textAt(node, "operator")] ?? [];
  if (kind === undefined) return [];
  const [left, right] = [inParentheses(nodeAt(node, "left"), source), inParentheses(nodeAt(node, "right"), source)];
  return [place(node, source, kind, `${left} ${other} ${right}`)];
}

/** A text in a table becomes its neighbour's, which is what a slip of the pen would make of it. */
function literal(node: Node, source: string, siblings: ReadonlyMap<number, string>): readonly Place[] {
  const { value } = node;
  if (typeof value === "boolean") return [place(node, source, "literal", String(!value))];
  if (typeof value === "number") return [place(node, source, "literal", String(value + 1))];
  if (typeof value !== "string") return [];
  return [place(node, source, "text", siblings.get(node.start) ?? (value === "" ? '"mutated"' : '""'))];
}

function condition(node: Node, source: string, values: readonly string[]): readonly Place[] {
  const test = nodeAt(node, "test");
  return test === undefined ? [] : values.map((value) => place(test, source, "condition", value));
}

/** Not in an optional chain: what is left of it would no longer end where the chain does. */
function call(node: Node, source: string): readonly Place[] {
  const callee = nodeAt(node, "callee");
  const [object, method] = [callee && nodeAt(callee, "object"), callee && nodeAt(callee, "property")];
  if (object === undefined || method?.type !== "Identifier" || textOf(node, source).includes("?.")) return [];
  const [name, subject] = [textOf(method, source), textOf(object, source)];
  const other = METHODS[name];
  if (OMITTED.has(name)) return [place(node, source, "call", subject)];
  return other === undefined
    ? []
    : [place(node, source, "call", subject + "." + other + source.slice(method.end, node.end))];
}

function noteSiblings(node: Node, source: string, siblings: Map<number, string>): void {
  if (node.type !== "ObjectExpression" && node.type !== "ArrayExpression") return;
  const values = listAt(node, "properties").map((property) => nodeAt(property, "value"));
  const texts = [...values, ...listAt(node, "elements")].filter((value) => typeof value?.["value"] === "string");
  for (const [index, text] of texts.entries()) {
    const others = [...texts.slice(index + 1), ...texts.slice(0, index)];
    const other = others.find((one) => one?.["value"] !== text?.["value"]);
    if (text !== undefined && other !== undefined) siblings.set(text.start, textOf(other, source));
  }
}

function objectOf(properties: readonly Node[], gone: Node, source: string): string {
  const rest = properties.filter((property) => property !== gone);
  return `{ ${rest.map((property) => textOf(property, source)).join(", ")} }`;
}

function place(node: Node, source: string, kind: Kind, replacement: string): Place {
  const before = line(textOf(node, source));
  return { start: node.start, end: node.end, kind, replacement, before, after: line(replacement) };
}

function removed(node: Node, source: string): Place {
  return { ...place(node, source, "statement", ""), after: "(removed)" };
}

function inParentheses(node: Node | undefined, source: string): string {
  const text = node === undefined ? "" : textOf(node, source);
  return /^[\w.]+$/.test(text) ? text : `(${text})`;
}

function textOf(node: Node, source: string): string {
  return source.slice(node.start, node.end);
}

function line(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
