/** Evaluates `x-kubernetes-validations`, the CEL rules in a CRD's schema. */
import { isDeepStrictEqual } from "node:util";
import { Optional } from "@marcbachmann/cel-js";
import { Language, messageOf, wordsOf } from "../cel/language.ts";
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
  readonly language: Language;
  readonly usesOldSelf: boolean;
}

const compiled = new WeakMap<Structural, readonly CompiledRule[]>();

export function rulesOf(schema: Structural): readonly CompiledRule[] {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const rules = viewAs<Rule[]>(recordsAt(schema, "x-kubernetes-validations")).map((rule) => {
    const language = new Language().declare(schema, "self", rule.optionalOldSelf === true ? "oldSelf?" : "oldSelf");
    return { ...rule, language, usesOldSelf: language.uses(rule.rule, "oldSelf") };
  });
  compiled.set(schema, rules);
  return rules;
}

function evaluate({ language, optionalOldSelf }: CompiledRule, expression: string, { value, old }: Node): unknown {
  const { self, oldSelf } = language.valuesOf({ self: value, oldSelf: old });
  const optional = oldSelf === undefined ? Optional.none() : Optional.of(oldSelf);
  return language.run(expression, { self, oldSelf: optionalOldSelf === true ? optional : oldSelf });
}

/** Evaluates the rules of a value. If the value has not changed, evaluates only rules that use oldSelf. */
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
    if (evaluate(rule, rule.rule, node) === true) return [];
  } catch (error) {
    const detail = `${wordsOf(error)} evaluating rule: ${(rule.message ?? rule.rule).trim()}`;
    return [invalidValue(keyed || "<nil>", textOf(schema.type), detail)];
  }
  const field = `${keyed}${rule.fieldPath ?? ""}`.replace(/^\./, "") || "<nil>";
  return [refusal(rule, field, node)];
}

function refusal(rule: CompiledRule, field: string, node: Node): FieldError {
  const message = messageOf(rule, (words) => evaluate(rule, words, node)) || `failed rule: ${rule.rule.trim()}`;
  const { value } = node;
  if (rule.reason === "FieldValueForbidden") return forbiddenValue(field, message);
  if (rule.reason === "FieldValueRequired") return requiredValue(field, message);
  if (rule.reason === "FieldValueDuplicate") return duplicateValue(field, value);
  const error = invalidValue(field, value, message);
  return typeof value === "object" ? { ...error, message: `Invalid value: ${message}` } : error;
}
