/**
 * A node of a syntax tree, as far as mutations need to know it: any, with a type and a range. Types, imports and the names of properties do
 * not.
 */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value && "end" in value;
}

export function nodeAt(node: Node, key: string): Node | undefined {
  const value = node[key];
  return isNode(value) ? value : undefined;
}

export function listAt(node: Node, key: string): readonly Node[] {
  const value = node[key];
  return Array.isArray(value) ? value.filter((one) => isNode(one)) : [];
}

export function textAt(node: Node, key: string): string {
  const value = node[key];
  return typeof value === "string" ? value : "";
}

const LEFT_OUT = new Set(["ImportDeclaration", "ExportAllDeclaration", "ImportExpression", "TemplateElement"]);
const TYPED_EXPRESSIONS = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"]);

/** The parts of a node that run. */
export function childrenOf(node: Node): readonly Node[] {
  return Object.entries(node)
    .filter(([key]) => !(key === "key" && node["computed"] === false))
    .flatMap(([, value]): readonly unknown[] => (Array.isArray(value) ? value : [value]))
    .filter((value) => isNode(value))
    .filter(({ type }) => !LEFT_OUT.has(type) && (!type.startsWith("TS") || TYPED_EXPRESSIONS.has(type)));
}
