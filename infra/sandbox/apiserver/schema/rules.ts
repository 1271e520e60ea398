/**
 * `x-kubernetes-validations`: rules in CEL that a schema gives its values.
 * Owns: compiling and judging them. Does not own: the language (cel/), what else a schema asks (values.ts).
 */
import { isDeepStrictEqual } from "node:util";
import { Optional } from "@marcbachmann/cel-js";
import { type Program, compile, newEnvironment, problemIn, usesVariable, wordsOf } from "../cel/language.ts";
import { DYN, declareType } from "../cel/types.ts";
import { duplicateValue, forbiddenValue, invalidValue, requiredValue } from "../field-errors.ts";
import { recordsAt, textOf, viewAs } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { type Node, type Structural, childrenOf } from "./structural.ts";

export interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

export interface CompiledRule extends Rule {
  readonly usesOldSelf: boolean;
  /** What is wrong with an expression of the rule; undefined: nothing. */
  readonly problem: (expression: string, type: "bool" | "string") => string | undefined;
  readonly evaluate: (expression: string, node: Node) => unknown;
}

const compiled = new WeakMap<Structural, readonly CompiledRule[]>();

export function rulesOf(schema: Structural): readonly CompiledRule[] {
  let rules = compiled.get(schema);
  if (rules === undefined) {
    rules = viewAs<Rule[]>(recordsAt(schema, "x-kubernetes-validations")).map((rule) => compileRule(rule, schema));
    compiled.set(schema, rules);
  }
  return rules;
}

function compileRule(rule: Rule, schema: Structural): CompiledRule {
  const isOptional = rule.optionalOldSelf === true;
  const environment = newEnvironment();
  const { name, valueOf } = declareType(environment, schema) ?? DYN;
  environment.registerVariable("self", name).registerVariable("oldSelf", isOptional ? `optional<${name}>` : name);
  const programs = new Map<string, Program>();
  return {
    ...rule,
    usesOldSelf: usesVariable(environment, rule.rule, "oldSelf"),
    problem: (expression, type) => problemIn(environment, expression, type),
    evaluate: (expression, { value, old }) => {
      const program = programs.get(expression) ?? compile(environment, expression);
      programs.set(expression, program);
      const before = old === undefined ? undefined : valueOf(old);
      const optional = before === undefined ? Optional.none() : Optional.of(before);
      return program({ self: valueOf(value), oldSelf: isOptional ? optional : before });
    },
  };
}

/** A rule that only looks at the present is not asked of what has not changed. */
export function ruleErrors(node: Node, inUnchanged = false): readonly FieldError[] {
  const { value, schema, old } = node;
  if (value === null) return [];
  const isUnchanged = inUnchanged || (old !== undefined && isDeepStrictEqual(value, old));
  const errors = rulesOf(schema).flatMap((rule) => {
    const isMoot = rule.usesOldSelf ? old === undefined && rule.optionalOldSelf !== true : isUnchanged;
    return isMoot ? [] : judge(rule, node);
  });
  return [...errors, ...childrenOf(node).flatMap((child) => ruleErrors(child, isUnchanged))];
}

function judge(rule: CompiledRule, node: Node): readonly FieldError[] {
  const { keyed, schema } = node;
  try {
    if (rule.evaluate(rule.rule, node) === true) return [];
  } catch (error) {
    const detail = `${wordsOf(error)} evaluating rule: ${(rule.message ?? rule.rule).trim()}`;
    return [invalidValue(keyed || "<nil>", textOf(schema.type), detail)];
  }
  const field = `${keyed}${rule.fieldPath ?? ""}`.replace(/^\./, "") || "<nil>";
  return [refusal(rule, field, node)];
}

function refusal(rule: CompiledRule, field: string, node: Node): FieldError {
  const message = messageOf(rule, node);
  const { value } = node;
  if (rule.reason === "FieldValueForbidden") return forbiddenValue(field, message);
  if (rule.reason === "FieldValueRequired") return requiredValue(field, message);
  if (rule.reason === "FieldValueDuplicate") return duplicateValue(field, value);
  const error = invalidValue(field, value, message);
  return typeof value === "object" ? { ...error, message: `Invalid value: ${message}` } : error;
}

function messageOf(rule: CompiledRule, node: Node): string {
  try {
    const words = textOf(rule.messageExpression && rule.evaluate(rule.messageExpression, node)).trim();
    if (words !== "" && !words.includes("\n")) return words;
  } catch {
    // the plain message is said instead
  }
  return (rule.message ?? "").trim() || `failed rule: ${rule.rule.trim()}`;
}
