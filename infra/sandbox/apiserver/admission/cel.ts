/** CEL expressions in admission policies and webhook configurations. */
import { decide } from "../authorization.ts";
import { Authorizer } from "../cel/authorizer.ts";
import { Language, type Values, wordsOf } from "../cel/language.ts";
import type { RequestContext } from "../context.ts";
import { INT_OR_STRING, type Structural } from "../schema/structural.ts";
import type { AdmissionRequest } from "./review.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };
const map = (values: Structural): Structural => ({ type: "object", additionalProperties: values });
const struct = (properties: Structural): Structural => ({ type: "object", properties });
const kind = struct({ group: text, version: text, kind: text });
const resource = struct({ group: text, version: text, resource: text });

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

/** Only policies with a `paramKind` have the variable `params`. */
export type Variables = "plain" | "withParams";

/** Returns the CEL language for admission expressions. If a schema is given, expressions may use only its fields. */
export function languageOf(object?: Structural, variables: Variables = "plain", params?: Structural): Language {
  const language = new Language().declare(object, "object", "oldObject").declare(undefined, "variables");
  if (variables === "withParams") language.declare(params, "params");
  return language.declare(REQUEST, "request").declare(NAMESPACE, "namespaceObject").declareAuthorizer();
}

const LANGUAGES = { plain: languageOf(), withParams: languageOf(undefined, "withParams") };

interface Given {
  readonly namespaceObject?: unknown;
  /**
   * The policy's parameter. It is null if the binding has no paramRef, and undefined if the policy has no paramKind.
   */
  readonly params?: unknown;
}

export function valuesOf(ctx: RequestContext, request: AdmissionRequest, given: Given = {}): Values {
  const { object, oldObject } = request;
  const { namespaceObject = null, params } = given;
  const authorizer = new Authorizer((asked) => decide(ctx.state, ctx.user, { isResource: true, ...asked }));
  const all = { object, oldObject, request, namespaceObject, params };
  return { ...LANGUAGES[variablesIn(all)].valuesOf(all), authorizer };
}

function variablesIn({ params }: Values): Variables {
  return params === undefined ? "plain" : "withParams";
}

/** Evaluates an expression. Throws the real server's error message if the evaluation fails. */
export function evaluate(expression: string, values: Values): unknown {
  try {
    return LANGUAGES[variablesIn(values)].run(expression, values);
  } catch (error) {
    throw new Error(`expression '${expression}' resulted in error: ${wordsOf(error)}`, { cause: error });
  }
}

interface Wanted {
  readonly types?: readonly string[];
  readonly variables?: Variables;
}

/** Returns the compile error of an expression. Returns undefined if the expression is valid. */
export function problemWith(expression: string, { types = [], variables = "plain" }: Wanted = {}): string | undefined {
  return LANGUAGES[variables].problem(expression, ...types);
}
