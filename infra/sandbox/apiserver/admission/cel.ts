/**
 * CEL expressions as admission configurations use them.
 * Owns: the variables they see. Does not own: the language (cel/), what a result means (match-conditions.ts, policies.ts).
 */
import type { Environment } from "@marcbachmann/cel-js";
import { type Program, compile, newEnvironment, problemIn, wordsOf } from "../cel/language.ts";
import { type CelType, DYN, declareType } from "../cel/types.ts";
import { INT_OR_STRING, type Structural } from "../schema/structural.ts";
import type { AdmissionRequest } from "./review.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };
const map = (values: Structural): Structural => ({ type: "object", additionalProperties: values });
const struct = (properties: Structural): Structural => ({ type: "object", properties });
const kind = struct({ group: text, version: text, kind: text });
const resource = struct({ group: text, version: text, resource: text });

/** `object` and `oldObject` are variables of their own. */
// prettier-ignore
const REQUEST = struct({
  kind, requestKind: kind, resource, requestResource: resource, subResource: text, requestSubResource: text, name: text,
  namespace: text, operation: text, dryRun: { type: "boolean" }, options: { [INT_OR_STRING]: true },
  userInfo: struct({ username: text, uid: text, groups: texts, extra: map(texts) }),
});

const NAMESPACE = struct({
  metadata: struct({ name: text, labels: map(text), annotations: map(text), finalizers: texts }),
  status: struct({ phase: text }),
});

/** With a schema of the object its fields are known. */
export function environmentFor(object?: Structural): { environment: Environment; types: Record<string, CelType> } {
  const environment = newEnvironment();
  const typeOf = (schema: Structural | undefined): CelType => (schema && declareType(environment, schema)) ?? DYN;
  const ofObject = typeOf(object);
  const [request, namespaceObject] = [typeOf(REQUEST), typeOf(NAMESPACE)];
  const types = { object: ofObject, oldObject: ofObject, request, namespaceObject, variables: DYN };
  for (const [name, type] of Object.entries(types)) environment.registerVariable(name, type.name);
  return { environment, types };
}

const { environment, types } = environmentFor();
const programs = new Map<string, Program>();

export type Variables = Readonly<Record<string, unknown>>;

export function variablesOf(request: AdmissionRequest, namespaceObject: unknown = null): Variables {
  const values = { object: request.object, oldObject: request.oldObject, request, namespaceObject };
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    value === null ? null : types[name]?.valueOf(value),
  ]);
  return Object.fromEntries(shown);
}

/** Throws what went wrong, in the words of an admission error. */
export function evaluate(expression: string, variables: Variables): unknown {
  try {
    const program = programs.get(expression) ?? compile(environment, expression);
    programs.set(expression, program);
    return program(variables);
  } catch (error) {
    throw new Error(`expression '${expression}' resulted in error: ${wordsOf(error)}`, { cause: error });
  }
}

/** undefined: nothing is wrong. */
export function problemWith(expression: string, ...wanted: readonly string[]): string | undefined {
  return problemIn(environment, expression, ...wanted);
}
