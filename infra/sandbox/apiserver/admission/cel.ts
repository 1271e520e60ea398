/**
 * CEL expressions as admission configurations use them.
 * Owns: the variables they see, compiling them once. Does not own: the language (@marcbachmann/cel-js), what a result means
 * (match-conditions.ts).
 */
import { Environment } from "@marcbachmann/cel-js";
import { viewAs } from "../objects.ts";

export type Program = (variables: Readonly<Record<string, unknown>>) => unknown;

const environment = new Environment({ enableOptionalTypes: true })
  .registerVariable("object", "dyn")
  .registerVariable("oldObject", "dyn")
  .registerVariable("request", "dyn");

const programs = new Map<string, Program>();

/** Throws what is wrong with the expression. */
export function compile(expression: string): Program {
  let program = programs.get(expression);
  if (program === undefined) {
    program = viewAs<Program>(environment.parse(expression));
    programs.set(expression, program);
  }
  return program;
}

/** cel-go's words where they differ; without the picture of the source that the library adds. */
export function wordsOf(error: unknown): string {
  const [line = ""] = error instanceof Error ? error.message.split("\n") : [];
  return line.replace(/^No such key/, "no such key");
}

/** undefined: nothing is wrong. */
export function problemWith(expression: string): string | undefined {
  try {
    compile(expression);
    const { valid, error } = environment.check(expression);
    return valid ? undefined : wordsOf(error);
  } catch (error) {
    return wordsOf(error);
  }
}
