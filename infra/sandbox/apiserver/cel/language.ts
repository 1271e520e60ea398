/**
 * The Common Expression Language as the API server uses it.
 * Owns: what is wrong with an expression, in cel-go's words. Does not own: the language (@marcbachmann/cel-js), types
 * (types.ts), who uses expressions for what (schema/rules.ts, admission/).
 */
import { type ASTNode, Environment, type TypeCheckResult, serialize } from "@marcbachmann/cel-js";
import { isRecord, viewAs } from "../objects.ts";

export type Program = (variables: Readonly<Record<string, unknown>>) => unknown;

const BASE = new Environment({ enableOptionalTypes: true });

export function newEnvironment(): Environment {
  return BASE.clone();
}

/** Throws what is wrong with the expression. */
export function compile(environment: Environment, expression: string): Program {
  return viewAs<Program>(environment.parse(expression));
}

/** cel-go's words where they differ; without the picture of the source that the library adds. */
export function wordsOf(error: unknown): string {
  const [line = ""] = error instanceof Error ? error.message.split("\n") : [];
  return line.replace(/^No such key/, "no such key");
}

/** undefined: nothing is wrong, and its value is of one of these types; none: of any. */
export function problemIn(
  environment: Environment,
  expression: string,
  ...types: readonly string[]
): string | undefined {
  const result = environment.check(expression);
  const failure = result.valid ? undefinedField(environment, expression) : pictureOf(expression, result);
  if (failure !== undefined) return `compilation failed: ${failure}`;
  const { type = "dyn" } = result;
  return types.length === 0 || types.includes(type) ? undefined : `must evaluate to ${types[0]} but got ${type}`;
}

/** The library's words → cel-go's, and where its picture points relative to the library's. */
const WORDS: readonly (readonly [RegExp, string, number])[] = [
  [/^No such key: (.*)/, "undefined field '$1'", -1],
  [/^Unknown variable: (.*)/, "undeclared reference to '$1' (in container '')", 0],
  [/^no such overload: (.*) (\S+) (.*)/, "found no matching overload for '_$2_' applied to '($1, $3)'", 0],
  [/^found no matching overload for '(?:[^.(]*\.)?(\w+)\(.*/, "undeclared reference to '$1' (in container '')", 0],
  [/^Unexpected (.*)/, "Syntax error: unexpected $1", 0],
];

function pictureOf(expression: string, { error }: TypeCheckResult): string {
  const [words = ""] = error?.message.split("\n") ?? [];
  const [pattern, told, shift] = WORDS.find(([known]) => known.test(words)) ?? [/^/, "", 0];
  return picture(expression, (error?.range?.start ?? 0) + shift, words.replace(pattern, told));
}

function picture(expression: string, at: number, words: string): string {
  const before = expression.slice(0, at).split("\n");
  const column = before.at(-1)?.length ?? 0;
  const line = expression.split("\n")[before.length - 1] ?? "";
  return `ERROR: <input>:${before.length}:${column + 1}: ${words}\n | ${line}\n | ${".".repeat(column)}^`;
}

/** The library takes `has(a.b)` and `a.?b` of any field; cel-go only of those that there are. */
function undefinedField(environment: Environment, expression: string): string | undefined {
  for (const { op, args, range } of nodesIn(environment.parse(expression).ast)) {
    if (op !== ".?" && op !== ".") continue;
    const [receiver, field] = args;
    const { error } = environment.check(`${serialize(receiver)}.${field}`);
    if (!error?.message.startsWith(`No such key: ${field}\n`)) continue;
    return picture(expression, range.end - field.length - op.length, `undefined field '${field}'`);
  }
  return undefined;
}

export function usesVariable(environment: Environment, expression: string, name: string): boolean {
  const { valid } = environment.check(expression);
  return valid && nodesIn(environment.parse(expression).ast).some(({ op, args }) => op === "id" && args === name);
}

/** Every part of an expression. */
function nodesIn(node: unknown): readonly ASTNode[] {
  if (Array.isArray(node)) return node.flatMap(nodesIn);
  if (!isRecord(node) || !("op" in node)) return [];
  return [viewAs<ASTNode>(node), ...nodesIn(node.args)];
}
