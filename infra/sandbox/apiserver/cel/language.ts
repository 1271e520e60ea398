/** Evaluates expressions in the Common Expression Language (CEL). */
import { type ASTNode, Environment, type ParseResult, serialize } from "@marcbachmann/cel-js";
import { isRecord, viewAs } from "../objects.ts";
import type { Structural } from "../schema/structural.ts";
import { declareAuthorizer } from "./authorizer.ts";
import { type CelType, DYN, declareType } from "./types.ts";

export type Values = Readonly<Record<string, unknown>>;

const TIME = "google.protobuf.Timestamp";
/** Adds two standard functions that the CEL library lacks. */
const BASE = new Environment({ enableOptionalTypes: true })
  .registerFunction(`string(${TIME}): string`, (time: Date) => time.toISOString().replace(/\.000Z$/, "Z"))
  .registerFunction(`timestamp(${TIME}): ${TIME}`, (time: Date) => time);

export class Language {
  readonly #environment = BASE.clone();
  readonly #types = new Map<string, CelType>();
  readonly #programs = new Map<string, ParseResult>();

  /** Declares variables. Without a schema, a variable may have any type. */
  declare(schema: Structural | undefined, ...names: readonly string[]): this {
    const type = (schema && declareType(this.#environment, schema)) ?? DYN;
    for (const name of names) {
      const isOptional = name.endsWith("?");
      const plain = name.replace("?", "");
      this.#types.set(plain, type);
      this.#environment.registerVariable(plain, isOptional ? `optional<${type.name}>` : type.name);
    }
    return this;
  }

  declareAuthorizer(): this {
    this.#environment.registerVariable("authorizer", declareAuthorizer(this.#environment));
    return this;
  }

  valuesOf(json: Values): Values {
    const known = Object.entries(json).filter(([, value]) => value !== undefined);
    const valueOf = (name: string, value: unknown): unknown =>
      value === null ? null : this.#types.get(name)?.valueOf(value);
    return Object.fromEntries(known.map(([name, value]) => [name, valueOf(name, value)]));
  }

  run(expression: string, values: Values): unknown {
    const program = this.#programs.get(expression) ?? this.#environment.parse(expression);
    this.#programs.set(expression, program);
    return program(values);
  }

  /**
   * Returns the compile error of an expression. Returns undefined if the expression is valid. If `types` are given, the
   * expression must have one of these types.
   */
  problem(expression: string, ...types: readonly string[]): string | undefined {
    const { valid, error, type = "dyn" } = this.#environment.check(expression);
    const failure = valid ? this.#undefinedField(expression) : pictureOf(expression, error);
    if (failure !== undefined) return `compilation failed: ${failure}`;
    return types.length === 0 || types.includes(type) ? undefined : `must evaluate to ${types[0]}`;
  }

  uses(expression: string, variable: string): boolean {
    const isValid = this.#environment.check(expression).valid;
    return isValid && this.#nodesOf(expression).some(({ op, args }) => op === "id" && args === variable);
  }

  /**
   * Finds a field that the schema does not declare. The CEL library accepts any field in `has(a.b)` and `a.?b`, but
   * cel-go accepts only declared fields.
   */
  #undefinedField(expression: string): string | undefined {
    for (const { op, args, range } of this.#nodesOf(expression)) {
      if (op !== ".?" && op !== ".") continue;
      const [receiver, field] = args;
      const { error } = this.#environment.check(`${serialize(receiver)}.${field}`);
      const isUnknown = error?.message.startsWith(`No such key: ${field}\n`) === true;
      if (isUnknown) return picture(expression, range.end - field.length - op.length, `undefined field '${field}'`);
    }
    return undefined;
  }

  #nodesOf(expression: string): readonly ASTNode[] {
    return nodesIn(this.#environment.parse(expression).ast);
  }
}

function nodesIn(node: unknown): readonly ASTNode[] {
  if (Array.isArray(node)) return node.flatMap(nodesIn);
  return isRecord(node) && "op" in node ? [viewAs<ASTNode>(node), ...nodesIn(node.args)] : [];
}

/** Returns the CEL library's message without the quoted expression. */
export function wordsOf(error: unknown): string {
  const [line = ""] = error instanceof Error ? error.message.split("\n") : [];
  return line.replace(/^No such key/, "no such key");
}

interface Messages {
  readonly message?: string;
  readonly messageExpression?: string;
}

/** Returns the message of a failed rule. Returns an empty text if the rule has no message. */
export function messageOf({ message = "", messageExpression }: Messages, run: (expression: string) => unknown): string {
  try {
    const words = messageExpression === undefined ? "" : run(messageExpression);
    if (typeof words === "string" && words.trim() !== "" && !words.trim().includes("\n")) return words.trim();
  } catch {
    // If messageExpression fails, the plain message is used.
  }
  return message.trim();
}

/**
 * Translates the CEL library's error messages to cel-go's messages. The number in a row is added to the error's
 * position from the CEL library.
 */
// prettier-ignore
const WORDS: readonly (readonly [RegExp, string, number])[] = [
  [/^no such key: (.*)/, "undefined field '$1'", -1],
  [/^Unknown variable: (.*)/, "undeclared reference to '$1' (in container '')", 0],
  [/^no such overload: (.*) (\S+) (.*)/, "found no matching overload for '_$2_' applied to '($1, $3)'", 0],
  [/^found no matching overload for '(?:[^.(]*\.)?(\w+)\(.*/, "undeclared reference to '$1' (in container '')", 0],
  [/^Unexpected (.*)/, "Syntax error: unexpected $1", 0],
];

function pictureOf(expression: string, error: ReturnType<Environment["check"]>["error"]): string {
  const words = wordsOf(error);
  const [pattern, kubernetes, shift] = WORDS.find(([known]) => known.test(words)) ?? [/^/, "", 0];
  return picture(expression, (error?.range?.start ?? 0) + shift, words.replace(pattern, kubernetes));
}

function picture(expression: string, at: number, words: string): string {
  const before = expression.slice(0, at).split("\n");
  const column = before.at(-1)?.length ?? 0;
  const line = expression.split("\n")[before.length - 1] ?? "";
  return `ERROR: <input>:${before.length}:${column + 1}: ${words}\n | ${line}\n | ${".".repeat(column)}^`;
}
